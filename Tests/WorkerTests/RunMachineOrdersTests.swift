import Testing

@testable import Worker

/// A run's machine through thousands of seeded orders of events. A failing seed is printed with what went wrong.
@Suite struct RunMachineOrdersTests {
  private func run(_ seeds: ClosedRange<UInt64>, _ weather: RunWorld.Weather) throws -> Set<String> {
    var story: Set<String> = []
    for seed in seeds {
      let world = try RunWorld(seed: seed, weather)
      world.run()
      #expect(world.problems.isEmpty, "seed \(seed): \(world.problems.prefix(3))")
      #expect(world.isOver || !world.problems.isEmpty, "seed \(seed)")
      story.formUnion(world.story)
      if !world.problems.isEmpty { break }
    }
    return story
  }

  @Test func allIsWell() throws {
    let story = try run(1...1000, RunWorld.Weather(outages: false, crashes: false, orders: false))
    #expect(story == ["completed"], "\(story)")
  }

  @Test func peopleTellItWhatToDo() throws {
    let story = try run(1...2000, RunWorld.Weather(outages: false, crashes: false, orders: true))
    #expect(story.isSuperset(of: ["completed", "handed_over"]), "\(story)")
  }

  @Test func processesBreakOffAndStepsFail() throws {
    let story = try run(1...2000, RunWorld.Weather(outages: false, crashes: true, orders: true))
    #expect(story.isSuperset(of: ["completed", "incomplete", "failed", "handed_over", "silent"]), "\(story)")
  }

  @Test func theBackendGoesAwayAndOthersGetTheJob() throws {
    let story = try run(1...3000, RunWorld.Weather())
    let expected: Set = [
      "completed", "incomplete", "failed", "handed_over", "lost", "renewed", "claimed by the same",
      "claimed by another", "completed twice",
    ]
    #expect(story.isSuperset(of: expected), "\(expected.subtracting(story)) is not reached")
  }
}
