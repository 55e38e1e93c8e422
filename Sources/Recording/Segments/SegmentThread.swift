import Glibc
import MediaCore
import Platform
import Synchronization
import WebM

/// Writes the segments of a recording on a thread of its own, so that a slow disk never holds the recording up. What waits is
/// bounded. Segments that cannot be written any more end, and say so; the recording goes on.
final class SegmentThread: Sendable {
  private enum Work: Sendable {
    case frame(CodedFrame)
    case title(String)
    case room(String)
  }

  private struct State {
    var waiting: [Work] = []
    /// Their bytes.
    var bytes = 0
    var isEnding = false
    var isOver = false
    var progress: SegmentProgress
  }

  private let state: Mutex<State>
  private let limit: Int
  /// How often what waits is written, microseconds.
  private static let interval: UInt32 = 100_000

  /// Makes the segments' folder, which must be empty if it is there, and starts the thread. At most `limit` bytes wait.
  init(
    _ settings: SegmentSettings, _ configuration: WebMConfiguration, program: String = "", limit: Int = 64 << 20
  ) throws(RecordingError) {
    self.limit = limit
    state = Mutex(State(progress: SegmentProgress(folder: settings.folder)))
    // The writer is the thread's from here on.
    nonisolated(unsafe) let writer = try SegmentWriter(settings, configuration, program: program)
    guard DetachedThread.isStarted(name: "segments", { [self] in run(writer) }) else {
      throw .output("there is no thread for the segments")
    }
  }

  /// How the segments stand; may be called on any thread.
  var progress: SegmentProgress { state.withLock { $0.progress } }

  /// Takes the next frame of the recording's file. Quick.
  func put(_ frame: CodedFrame) { put(.frame(frame), bytes: frame.payload.count) }

  /// Changes the title.
  func setTitle(_ title: String) { put(.title(title), bytes: title.utf8.count) }

  /// Says where it was recorded.
  func setRoom(_ room: String) { put(.room(room), bytes: room.utf8.count) }

  private func put(_ work: Work, bytes: Int) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.bytes += bytes
      guard state.bytes <= limit else {
        return Self.end(&state, "the disk does not take them as fast as they come")
      }
      state.waiting.append(work)
    }
  }

  /// Closes the last segment, and waits until that is done: for a few seconds at most, since a disk may hang.
  func finish() {
    state.withLock { $0.isEnding = true }
    for _ in 0..<250 where !state.withLock({ $0.isOver }) { usleep(20_000) }
    state.withLock { if !$0.isOver { Self.end(&$0, "the last one cannot be closed in time") } }
  }

  /// Ends them as they are, should they go on.
  func abandon() { state.withLock { if !$0.isOver { Self.end(&$0, "the recording broke off") } } }

  private static func end(_ state: inout State, _ failure: String?) {
    state.isOver = true
    state.waiting = []
    state.progress.failure = failure
  }

  private func run(_ writer: SegmentWriter) {
    var work: [Work] = []
    var isEnding = false
    do throws(RecordingError) {
      while !isEnding, !state.withLock({ $0.isOver }) {
        usleep(Self.interval)
        isEnding = state.withLock { state in
          swap(&state.waiting, &work)
          state.bytes = 0
          return state.isEnding
        }
        for item in work {
          switch item {
          case .frame(let frame): try writer.take(frame)
          case .title(let title): writer.setTitle(title)
          case .room(let room): writer.setRoom(room)
          }
        }
        work.removeAll(keepingCapacity: true)
        if isEnding { try writer.finish() }
        state.withLock { state in
          guard !state.isOver else { return }
          state.progress = writer.progress
          state.isOver = isEnding
        }
      }
    } catch {
      state.withLock { state in
        guard !state.isOver else { return }
        state.progress = writer.progress
        Self.end(&state, "\(error)")
      }
    }
  }
}
