import Delivery
import Glibc
import HTTPGuard
import JobsAPI
import NIOCore
import NIOHTTP1
import Synchronization

/// Gives the backend the finished files of this worker's data folder, and removes them when it says so: what its signed
/// requests name, and nothing else. Any thread.
final class WorkerFiles: Sendable {
  /// What a request is answered with before any byte of a file.
  enum Answer: Sendable {
    case refused(HTTPResponseStatus, String)
    case removed
    case bytes(KeptFile, Range<Int64>)
  }

  /// Files that are sent at once.
  private static let most = 16
  /// Bytes that are read at once.
  private static let chunk: Int64 = 128 << 10
  /// A reader that takes none of these for so long is left.
  private static let patience = TimeAmount.seconds(30)

  private let kept: KeptFiles
  private let key: [UInt8]
  private let sending = Mutex(0)

  /// The files of a data folder; `secret` is the workers'.
  init(_ kept: KeptFiles, secret: String) {
    self.kept = kept
    key = FileRequest.key(from: secret)
  }

  /// Judges a request, and carries a removal out. `now`: seconds since 1970.
  func answer(_ method: HTTPMethod, _ target: Substring, now: Int64) async -> Answer {
    guard let request = FileRequest(target: target, isRemoval: method == .DELETE, key: key, now: now) else {
      return .refused(.unauthorized, "the request is not signed, or not any more")
    }
    guard request.folderID == kept.folderID else { return .refused(.misdirectedRequest, "another data folder") }
    do {
      let found = try await kept.open(request.location)
      guard let found else { return .refused(.notFound, "there is no such file") }
      guard found.size == request.size else { return .refused(.conflict, "the file has another size") }
      guard case .read(let range) = request.verb else {
        _ = try await kept.remove(request.location)
        return .removed
      }
      return .bytes(found, range)
    } catch {
      return .refused(.internalServerError, "\(error)")
    }
  }

  /// Takes one of the places for files that are sent; false when there is none.
  func begin() -> Bool {
    sending.withLock { count in
      guard count < Self.most else { return false }
      count += 1
      return true
    }
  }

  /// Gives the place back.
  func end() { sending.withLock { $0 -= 1 } }

  /// Sends bytes as fast as they are taken. Throws when they are not, or the file can't be read: the connection is closed
  /// then, and its other side sees that something is missing.
  static func send(_ file: KeptFile, _ range: Range<Int64>, on channel: any Channel) async throws {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let end = min(range.upperBound, offset + chunk)
      let bytes = try await file.read(offset..<end)
      let timer = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
      defer { timer.cancel() }
      try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(bytes))).get()
      offset = end
    }
  }
}
