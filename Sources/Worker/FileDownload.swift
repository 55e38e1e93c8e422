import AsyncHTTPClient
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
  private let path: String

  /// Makes a download; nothing is asked yet.
  public init(_ entry: RecordingPage.Entry, to path: String, client: BackendClient) {
    self.client = client
    self.entry = entry
    self.path = path
  }

  /// Where the file is until all of it is there: the name tells its content, so that what is found there belongs to it.
  public var partialPath: String {
    "\(path).\(entry.file.sha256.map { String($0.prefix(12)) } ?? "\(entry.job)-\(entry.number)").part"
  }

  /// Downloads the file. `progress` is told the bytes that are here, from any thread, at each piece.
  public func run(progress: @escaping @Sendable (Int64) -> Void = { _ in }) async throws(DownloadError) {
    guard access(path, F_OK) != 0 else { throw .exists(path) }
    let sink = try await Self.apart { () throws(DownloadError) in try PartialFile(partialPath, size: entry.file.size) }
    var failures = 0
    while sink.count < entry.file.size {
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
    if let expected = entry.file.sha256, sink.sha256 != expected {
      await BlockingWork.run { sink.discard() }
      throw .damaged("what arrived of \(path) is not what was recorded (SHA-256); it was removed, try again")
    }
    let path = path
    try await Self.apart { () throws(DownloadError) in try sink.finish(as: path) }
  }

  private func fetch(into sink: PartialFile, _ progress: @Sendable (Int64) -> Void) async throws(BackendError) {
    try await client.readFile(of: entry, from: sink.count) { start, bytes in
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
