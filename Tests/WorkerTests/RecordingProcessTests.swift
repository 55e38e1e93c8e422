import Glibc
import JobsAPI
import Testing

@testable import Worker

/// A recording's process as its worker sees it, with programs of the system in its place.
@Suite struct RecordingProcessTests {
  private static let order = RecordingOrder(
    job: "job_1", attempt: 1, request: JobRequest(room: "r"),
    ticket: RoomTicket(url: "ws://127.0.0.1:1", token: "t", until: Timestamp(seconds: 1_700_000_000)),
    output: "/nowhere/1-0.webm")

  /// As the program does: a process may be gone while something is written to it.
  init() { signal(SIGPIPE, SIG_IGN) }

  @Test func aProcessThatTakesNothingIsEndedWhenTooMuchWaits() async {
    let process = RecordingProcess(RecordingLaunch(executable: "/bin/sleep", arguments: ["600"]), order: Self.order)
    // More than a pipe and the queue before it take.
    let argument = String(repeating: "a", count: 4096)
    for number in 1...400 as ClosedRange<Int64> {
      process.send(.command(JobCommand(sequence: number, verb: .marker, argument: argument)))
    }
    #expect(await process.exit() == .signaled(9))
  }

  @Test func whatIsTakenNeverFillsTheQueue() async {
    let launch = RecordingLaunch(executable: "/bin/sh", arguments: ["-c", "head -n 101 > /dev/null; exit 7"])
    let process = RecordingProcess(launch, order: Self.order)
    for number in 1...100 as ClosedRange<Int64> {
      process.send(.command(JobCommand(sequence: number, verb: .marker, argument: "a")))
    }
    #expect(await process.exit() == .exited(7))
  }
}
