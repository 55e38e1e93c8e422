import Glibc
import JobsAPI
import MediaCore
import Platform
import Recording

/// Reads, on a thread of its own, what a worker says on standard input: a line of JSON each time.
final class OrderInput: Sendable {
  /// Longer lines are no worker's.
  private static let longest = 1 << 20
  private let lines: Lines

  init() { lines = Lines() }

  /// The first line's order; nil when there is none.
  func order() async -> RecordingOrder? {
    let lines = lines
    return await withCheckedContinuation { continuation in
      DetachedThread.start(name: "order") {
        guard let line = lines.next(), case .order(let order) = Self.read(line) else {
          return continuation.resume(returning: nil)
        }
        continuation.resume(returning: order)
      }
    }
  }

  /// Reads everything that follows; `onEnd` is called when the input has ended.
  func start(_ take: @escaping @Sendable (RecordingInput) -> Void, onEnd: @escaping @Sendable () -> Void) {
    let lines = lines
    DetachedThread.start(name: "orders") {
      // A line that is not understood is of a newer worker: what is not known can't be carried out.
      while let line = lines.next() {
        if let message = Self.read(line) { take(message) }
      }
      onEnd()
    }
  }

  private static func read(_ line: [UInt8]) -> RecordingInput? {
    try? BoundedJSON.decode(RecordingInput.self, from: line, limits: JSONLimits(bytes: longest))
  }

  /// `@unchecked`: used by one thread after the other, never by two at once.
  private final class Lines: @unchecked Sendable {
    private var buffer: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 65_536)

    /// The next line, without its end; nil at the end of the input.
    func next() -> [UInt8]? {
      while true {
        if let end = buffer.firstIndex(of: 10) {
          let line = Array(buffer[..<end])
          buffer.removeFirst(end + 1)
          return line
        }
        guard buffer.count <= OrderInput.longest else { return nil }
        let count = Glibc.read(STDIN_FILENO, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return nil }
        buffer.append(contentsOf: chunk[..<count])
      }
    }
  }
}
