import JobsAPI
import Worker

/// Follows a job to its end by what the backend tells of it. A backend that is away is waited for: the job goes on
/// without it.
struct JobWatch {
  let client: BackendClient
  let job: String
  /// Print events as JSON.
  let json: Bool

  /// How long the backend may hold a request while nothing happens, in seconds.
  private static let wait: Int64 = 25

  /// Prints what happens; throws when the job ended badly.
  func run() async throws {
    // Who is not allowed to see it is told so at once.
    var last = try await client.job(job)
    var after: Int64 = 0
    var pause = Duration.milliseconds(250)
    var isAway = false
    var told: String?
    while true {
      do throws(BackendError) {
        let page = try await client.events(of: job, after: after, wait: Self.wait)
        if isAway { Console.error("the backend is back") }
        (isAway, pause) = (false, .milliseconds(250))
        after = page.next
        for event in page.events {
          last = event.job
          if json {
            Console.print((try? JSONLine.of(event)) ?? "{}")
          } else if told != Self.line(event.job) {
            told = Self.line(event.job)
            Console.print("\(TimeText.short(event.at))  \(told ?? "")")
          }
        }
      } catch {
        guard error.isPassing else { throw error }
        if !isAway { Console.error("\(error); waiting for it") }
        isAway = true
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(5))
      }
      if last.state.isFinal { break }
    }
    if !json { for file in last.files { Console.print(RoomText.oneLine(file.location, limit: 2000)) } }
    guard let failure = Self.failure(of: last) else { return }
    throw failure
  }

  /// How a job stands. Why it ended so is told once, at the end.
  private static func line(_ job: JobsAPI.Job) -> String {
    job.state.isFinal ? job.isIncomplete ? "incomplete" : job.state.rawValue : JobText.state(job)
  }

  /// How a job that is over ends the command.
  static func failure(of job: JobsAPI.Job) -> Failure? {
    switch job.state {
    case .completed: job.isIncomplete ? incompleteness(of: job) : nil
    case .cancelled: Failure(.jobFailed, "the job \(job.id) was cancelled")
    default:
      Failure(
        job.error?.code.flatMap(Int32.init(exactly:)).flatMap { ExitCode.job($0) } ?? .jobFailed,
        "the job \(job.id) failed: \(RoomText.oneLine(job.error?.message ?? "no reason is known", limit: 300))")
    }
  }

  /// A file there is, but not all of it.
  private static func incompleteness(of job: JobsAPI.Job) -> Failure {
    let reason = RoomText.oneLine(job.error?.message ?? "no reason is known", limit: 300)
    return Failure(.incomplete, "the recording of the job \(job.id) is less than was asked for: \(reason)")
  }
}
