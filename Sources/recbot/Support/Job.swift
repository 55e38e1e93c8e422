import Glibc
import Logging
import Recording
import Rooms
import Session
import Synchronization
import Transport
import UnixSignals

/// One recording of one room, from the join to the finished file: what `join` and `demo` have in common.
struct Job {
  var room: String
  var options: RoomOptions
  var settings: RecordingSettings
  var progress: ProgressMode
  var commands: JobCommands
  var logger: Logger

  /// Whether the room client has said its last word.
  private final class Ending: Sendable {
    private let state = Mutex(false)
    func finish() { state.withLock { $0 = true } }
    var isOver: Bool { state.withLock { $0 } }
  }

  /// Joins, records until something ends it, and finishes the file. SIGINT and SIGTERM end it; a second one gives up.
  func run() async throws -> RecordingSummary {
    let relay = EventRelay()
    let recording = Recording(settings: settings, logger: logger) { relay.tell($0) }
    let loop = MediaLoop(name: "room")
    let ending = Ending()
    let client = options.makeClient(loop: loop, sink: recording.sequencer, logger: logger) { _, _ in ending.finish() }
    let stoppedAt = Mutex<ContinuousClock.Instant?>(nil)
    let stop: @Sendable () -> Void = {
      stoppedAt.withLock { $0 = $0 ?? .now }
      // The end goes into the stream first, so that nothing of the leaving is recorded.
      if recording.progress.phase != .waiting { recording.sequencer.put(.room(.ended(.stopped))) }
      client.leave()
    }
    let control = JobControl(
      recording: recording, room: room, output: settings.output, commands: commands, stop: stop)
    let server = try commands.address?.open(logger: logger) { control.answer($0, job: $1) }
    relay.server = server
    defer { server?.close() }
    let signals = Task {
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        let first = stoppedAt.withLock { $0 }
        if let first {
          // Wrappers such as timeout(1) send one signal twice; a person needs longer.
          if ContinuousClock.now - first < .milliseconds(500) { continue }
          Console.error("\nrecbot: stopped by a second signal; what was recorded so far is kept and plays")
          exit(ExitCode.forced.rawValue)
        }
        stop()
      }
    }
    defer { signals.cancel() }
    let (mode, room) = (progress, room)
    let reporting = Task {
      var reporter = ProgressReporter(mode: mode, room: room)
      while !Task.isCancelled {
        reporter.report(recording.progress)
        try? await Task.sleep(for: reporter.interval)
      }
      return reporter
    }
    defer { reporting.cancel() }
    recording.start(control: client)
    do {
      try await client.join()
    } catch {
      recording.cancel()
      if stoppedAt.withLock({ $0 != nil }) {
        throw Failure(.forced, "stopped before the recording began; no file was written")
      }
      throw Failure(error)
    }
    let result: Result<RecordingSummary, RecordingError>
    do {
      result = .success(try await recording.wait())
    } catch {
      result = .failure(error)
    }
    reporting.cancel()
    var reporter = await reporting.value
    // The server learns that the bot left, instead of waiting for it.
    client.leave()
    for _ in 0..<40 where !ending.isOver { try? await Task.sleep(for: .milliseconds(50)) }
    loop.stop()
    switch result {
    case .success(let summary):
      reporter.finish(summary)
      return summary
    case .failure(let error): throw Failure(error)
    }
  }
}
