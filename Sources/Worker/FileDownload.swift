import Digests
import Glibc
import JobsAPI
import Platform

/// Why a file did not arrive.
public enum DownloadError: Error, Hashable, Sendable {
  /// Something has that name already; it is never overwritten.
  case exists(String)
  /// The file cannot be written here; one line.
  case disk(String)
  /// The backend, or the store that it names, did not give the file.
  case backend(BackendError)
  /// What arrives is not what was recorded; one line.
  case damaged(String)
}

/// A finished file on its way from a backend to a path of this machine. What has arrived stands beside it under another
/// name: when it breaks off, the next download goes on from there. Its own name it gets when all of it is there and right.
public struct FileDownload: Sendable {
  /// Attempts in a row that bring nothing.
  private static let attempts = 5

  private let client: BackendClient
  private let entry: RecordingPage.Entry
  private let side: JobSideFile?
  private let path: String
  private let size: Int64
  private let sha256: String?

  /// Makes a download of a file, or of one that is beside it; nothing is asked yet.
  public init(_ entry: RecordingPage.Entry, beside side: JobSideFile? = nil, to path: String, client: BackendClient) {
    self.client = client
    self.entry = entry
    self.side = side
    self.path = path
    size = side?.size ?? entry.file.size
    sha256 = side.map(\.sha256) ?? entry.file.sha256
  }

  /// Where the file is until all of it is there: the name tells its content, so that what is found there belongs to it.
  public var partialPath: String {
    "\(path).\(sha256.map { String($0.prefix(12)) } ?? "\(entry.job)-\(entry.number)").part"
  }

  /// True when the file is there already under its name, byte for byte: an earlier download brought it. False also when
  /// that can't be known.
  public func isHere() async -> Bool {
    guard let sha256 else { return false }
    let (path, size) = (path, size)
    return await BlockingWork.run { PartialFile.digest(of: path, size: size) == sha256 }
  }

  /// Downloads the file. `progress` is told the bytes that are here, from any thread, at each piece.
  public func run(progress: @escaping @Sendable (Int64) -> Void = { _ in }) async throws(DownloadError) {
    guard access(path, F_OK) != 0 else { throw .exists(path) }
    let sink = try await Self.apart { () throws(DownloadError) in try PartialFile(partialPath, size: size) }
    var failures = 0
    while sink.count < size {
      let before = sink.count
      do throws(BackendError) {
        try await fetch(into: sink, progress)
      } catch {
        failures = sink.count > before ? 1 : failures + 1
        guard error.isPassing, failures < Self.attempts else { throw .backend(error) }
        try? await Task.sleep(for: .milliseconds(250 << failures))
      }
      if let problem = sink.problem { throw .disk(problem) }
    }
    if let sha256, sink.sha256 != sha256 {
      await BlockingWork.run { sink.discard() }
      throw .damaged("what arrived of \(path) is not what was recorded (SHA-256); it was removed, try again")
    }
    let path = path
    try await Self.apart { () throws(DownloadError) in try sink.finish(as: path) }
  }

  private func fetch(into sink: PartialFile, _ progress: @Sendable (Int64) -> Void) async throws(BackendError) {
    try await client.readFile(of: entry, beside: side, from: sink.count) { start, bytes in
      if start != sink.count { sink.restart(at: start) }
      let isKept = await BlockingWork.run { sink.append(bytes) }
      progress(sink.count)
      return isKept
    }
  }

  private static func apart<Value: Sendable>(
    _ body: @escaping @Sendable () throws(DownloadError) -> Value
  ) async throws(DownloadError) -> Value {
    let result: Result<Value, DownloadError> = await BlockingWork.run {
      do throws(DownloadError) { return .success(try body()) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
