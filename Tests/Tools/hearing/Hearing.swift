import ArgumentParser

/// `hearing`: plays publishers' sound and pictures on their whole way in manual time, and judges what a recording would have
/// of them. A program and no unit test, since optimized it takes a tenth of the time.
@main struct Hearing: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hearing",
    abstract: "Plays publishers whose clocks and networks fail, and judges what is heard and seen of them.",
    discussion: """
      One line for each kind of trouble, and what was wrong in it; each run is repeated by its seed. The exit code is 1 when \
      sound is lost, doubled, torn or at a wrong time, or pictures are not with it.
      """)

  @Option(help: "How many times as many seeds of each trouble to play.") var times: UInt64 = 1
  @Option(help: "How many minutes clocks that run wrong go on.") var minutes: Int64 = 60

  func validate() throws {
    guard (1...1_000).contains(times) else { throw ValidationError("--times: 1 to 1000") }
    guard (2...10_000).contains(minutes) else { throw ValidationError("--minutes: 2 to 10000") }
  }

  func run() async throws {
    let trials = Trial.troubles(times: times) + Trial.drifts(minutes: minutes)
    let failed = await withTaskGroup(of: (trial: Trial, faults: [String], figures: String).self) { group in
      for trial in trials {
        group.addTask {
          let (faults, figures) = trial.judge()
          return (trial, faults, figures)
        }
      }
      var failed = 0
      for await (trial, faults, figures) in group {
        print("\(faults.isEmpty ? "pass" : "FAIL")  \(trial.name): \(figures)")
        for fault in faults.prefix(5) { print("      \(fault)") }
        if !faults.isEmpty { failed += 1 }
      }
      return failed
    }
    print("\(trials.count - failed) passed, \(failed) failed")
    if failed > 0 { throw ExitCode.failure }
  }
}

/// Something that goes wrong, and how what comes of it is judged.
struct Trial: Sendable {
  var name: String
  /// Plays it; gives what is wrong, and a line of figures.
  var judge: @Sendable () -> (faults: [String], figures: String)
}
