import Glibc
import Logging
import MediaCore
import Platform
import Session
import SessionLog
import Synchronization

/// Writes the session log of a recording on a thread of its own, so that a slow disk never holds the recording up. What
/// waits is bounded: frames that find no room become a gap of the log, which is counted; events always find room. A log
/// that cannot be written any more ends, and says so; the recording goes on.
final class LogThread: Sendable {
  private struct State {
    var waiting: [LogEntry] = []
    /// Bytes of the frames among them.
    var bytes = 0
    /// Frames that found no room, since the last that did.
    var gap: LogGap?
    /// Tracks of which frames are missing.
    var interrupted: Set<TrackID> = []
    var redaction = Redaction()
    var end: LogEnd?
    var isOver = false
    var progress = LogProgress()
  }

  private let state = Mutex(State())
  private let limit: Int
  private let logger: Logger
  /// How often what waits is written.
  private static let interval: UInt32 = 100_000
  /// After so many of them what is written is made durable.
  private static let syncInterval = 10

  /// Makes the log's folder, which must be empty if it is there, and starts the thread. At most `limit` bytes wait.
  init(
    path: String, beginning: LogBeginning, limit: Int = 64 << 20, logger: Logger
  ) throws(RecordingError) {
    self.limit = limit
    self.logger = logger
    let writer: SessionLogWriter
    do {
      writer = try SessionLogWriter(path: path, beginning: beginning)
    } catch {
      throw RecordingError.output(error.description)
    }
    // The writer is the thread's from here on.
    nonisolated(unsafe) let owned = writer
    DetachedThread.start(name: "session log") { [self] in run(owned) }
  }

  /// How the log stands; may be called on any thread.
  var progress: LogProgress { state.withLock { $0.progress } }

  /// Takes an event, if it may be logged. Quick; may be called on any thread.
  func put(_ event: SessionEvent) {
    state.withLock { state in
      guard !state.isOver, state.redaction.admits(event) else { return }
      guard case .frame(var frame, let track) = event.payload else { return state.waiting.append(.event(event)) }
      let size = frame.payload.count + 64
      guard state.bytes + size <= limit else {
        state.gap =
          LogGap(from: state.gap?.from ?? event.arrived, until: event.arrived, frames: (state.gap?.frames ?? 0) + 1)
        state.progress.missingFrames += 1
        state.interrupted.insert(track)
        return
      }
      if let gap = state.gap {
        state.waiting.append(.gap(gap))
        state.gap = nil
      }
      var event = event
      if !state.interrupted.isEmpty, state.interrupted.remove(track) != nil {
        frame.followsLoss = true
        event.payload = .frame(frame, of: track)
      }
      state.waiting.append(.event(event))
      state.bytes += size
    }
  }

  /// Ends the log, and waits until it is written: for at most a few seconds, since a disk may hang.
  func finish(_ end: LogEnd) {
    state.withLock { $0.end = end }
    for _ in 0..<250 where !state.withLock({ $0.isOver }) { usleep(20_000) }
  }

  private func run(_ writer: SessionLogWriter) {
    var entries: [LogEntry] = []
    var rounds = 0
    do throws(LogError) {
      while true {
        usleep(Self.interval)
        let end = state.withLock { state -> LogEnd? in
          if let gap = state.gap, state.end != nil { state.waiting.append(.gap(gap)) }
          swap(&state.waiting, &entries)
          state.bytes = 0
          return state.end
        }
        for entry in entries { try writer.append(entry) }
        entries.removeAll(keepingCapacity: true)
        try writer.flush()
        rounds += 1
        if rounds % Self.syncInterval == 0 { try writer.sync() }
        if let end { try writer.finish(end) }
        state.withLock { state in
          state.progress.bytes = UInt64(clamping: writer.size)
          state.isOver = end != nil
        }
        if end != nil { return }
      }
    } catch {
      state.withLock { state in
        state.isOver = true
        state.waiting = []
        state.progress.failure = error.description
      }
      logger.error("the session log has ended; the recording goes on without it", metadata: ["reason": "\(error)"])
    }
  }
}

/// How the session log of a recording stands.
public struct LogProgress: Sendable, Hashable {
  /// Bytes written.
  public var bytes: UInt64 = 0
  /// Frames that the log lacks, since the disk was too slow.
  public var missingFrames: UInt64 = 0
  /// Why nothing more is written; nil: it is.
  public var failure: String?
}
