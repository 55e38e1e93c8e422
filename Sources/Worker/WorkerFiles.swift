import Delivery
import Glibc
import Hummingbird
import JobsAPI
import NIOCore
import Synchronization

/// Gives the backend the finished files of this worker's data folder, and removes them when it says so: what its signed
/// requests name, and nothing else. Any thread.
final class WorkerFiles: Sendable {
  /// What a request is answered with before any byte of a file.
  enum Answer: Sendable {
    case refused(HTTPResponse.Status, String)
    case removed
    case bytes(KeptFile, Range<Int64>)
  }

  /// Files that are sent at once.
  private static let most = 16
  /// Bytes that are read at once.
  fileprivate static let chunk: Int64 = 128 << 10

  private let kept: KeptFiles
  private let key: [UInt8]
  fileprivate let sending = Mutex(0)

  /// The files of a data folder; `secret` is the workers'.
  init(_ kept: KeptFiles, secret: String) {
    self.kept = kept
    key = FileRequest.key(from: secret)
  }

  /// Judges a request, and carries a removal out. `now`: seconds since 1970.
  func answer(_ method: HTTPRequest.Method, _ target: Substring, now: Int64) async -> Answer {
    guard let request = FileRequest(target: target, isRemoval: method == .delete, key: key, now: now) else {
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

  /// One of the places for files that are sent; nil when all are taken. Whoever lets go of it gives it back.
  func place() -> Place? {
    let isFree = sending.withLock { count in
      guard count < Self.most else { return false }
      count += 1
      return true
    }
    return isFree ? Place(of: self) : nil
  }

  /// See `place()`.
  final class Place: Sendable {
    private let files: WorkerFiles

    fileprivate init(of files: WorkerFiles) { self.files = files }
    deinit { files.sending.withLock { $0 -= 1 } }

    /// Sends bytes as fast as they are taken. Throws when they are not, or the file can't be read: the connection is closed
    /// then, and its other side sees that something is missing.
    func send(_ file: KeptFile, _ range: Range<Int64>, to writer: inout any ResponseBodyWriter) async throws {
      var offset = range.lowerBound
      while offset < range.upperBound {
        let end = min(range.upperBound, offset + WorkerFiles.chunk)
        try await writer.write(try await file.read(offset..<end))
        offset = end
      }
    }
  }
}
