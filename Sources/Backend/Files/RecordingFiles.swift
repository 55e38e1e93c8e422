import Hummingbird
import Jobs
import JobsAPI
import Logging
import MediaCore
import NIOCore

/// Where finished files are, and how their bytes come from there: the backend's own folder, a worker's, or a store.
struct RecordingFiles: Sendable {
  /// A file that can be read now.
  enum Source: Sendable {
    /// In a folder of this machine.
    case kept(any OpenRecording)
    /// At a worker, which has begun to send what was asked for.
    case worker(WorkerTransfer)
    /// In a store: the address to fetch it from.
    case store(String)
  }

  /// Bytes that are read at once, and held in memory for each reader.
  private static let chunk: Int64 = 128 << 10
  /// How long a signed address of the store is good: a download begins at once.
  private static let redirectLifetime: Int64 = 300
  /// How long a request to a worker is good.
  private static let requestLifetime: Int64 = 60

  let core: BackendCore
  let workers: WorkerStore

  /// Opens a file to be read from `range`. Throws `Refusal`.
  func open(_ file: JobFile, _ range: Range<Int64>, isHead: Bool, now: Timestamp) async throws -> Source {
    if file.location.hasPrefix("s3://") {
      let store = try store(of: file)
      return .store(
        try await Self.refusing {
          try await store.address(
            of: file.location, isHead: isHead, disposition: Self.disposition(file), seconds: Self.redirectLifetime)
        })
    }
    if let kept = try await own(file) { return .kept(kept) }
    let part = isHead ? range.lowerBound..<range.lowerBound : range
    return .worker(try await ask(.read(part), file, now: now))
  }

  /// Removes a file, after what is beside it. One that is gone is no error. Throws `Refusal`.
  func remove(_ file: JobFile, now: Timestamp) async throws {
    for side in file.beside ?? [] { try await removeOne(Self.file(side, beside: file), now: now) }
    try await removeOne(file, now: now)
  }

  /// What is beside a file, as a file of its own: what is done with one is done with the other.
  static func file(_ side: JobSideFile, beside file: JobFile) -> JobFile {
    // What a backup folder kept while the recording got through is where it says.
    let isStored = side.location.hasPrefix("s3://")
    return JobFile(
      location: side.location, size: side.size, duration: 0, sha256: side.sha256,
      dataFolder: isStored ? nil : file.dataFolder)
  }

  private func removeOne(_ file: JobFile, now: Timestamp) async throws {
    if file.location.hasPrefix("s3://") {
      let store = try store(of: file)
      return try await Self.refusing { try await store.remove(file.location) }
    }
    if let kept = core.configuration.keptFiles, isOwn(file, kept) {
      let isRemoved = try await Self.refusing { try await kept.remove(file.location) }
      if isRemoved || file.dataFolder == kept.folderID { return }
    }
    do {
      _ = try await ask(.remove, file, now: now)
    } catch let refusal as Refusal where refusal.status == .gone {
      return
    }
  }

  /// Sends the bytes of a range.
  func send(_ source: Source, _ range: Range<Int64>, to writer: inout any ResponseBodyWriter) async throws {
    switch source {
    case .kept(let file):
      var offset = range.lowerBound
      while offset < range.upperBound {
        // Whoever downloads goes on with the next backend, from where it was.
        if core.changes.isClosed { throw CancellationError() }
        let end = min(range.upperBound, offset + Self.chunk)
        try await writer.write(try await file.read(offset..<end))
        offset = end
      }
    case .worker(let transfer):
      var rest = Int64(range.count)
      for try await bytes in transfer.bytes {
        if core.changes.isClosed { throw CancellationError() }
        rest -= Int64(bytes.readableBytes)
        // A head has told the length: what differs from it can only be broken off.
        guard rest >= 0 else { throw CancellationError() }
        try await writer.write(bytes)
      }
      guard rest == 0 else { throw CancellationError() }
    case .store: break
    }
    try await writer.finish(nil)
  }

  /// `Content-Disposition` (RFC 6266): the file's own name, in ASCII and as it is.
  static func disposition(_ file: JobFile) -> String {
    let plain = file.name.unicodeScalars.map { scalar in
      let isPlain =
        scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789._- ".unicodeScalars.contains(scalar))
      return isPlain ? String(scalar) : "_"
    }.joined()
    return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(PercentCoding.encode(file.name))"
  }

  // MARK: Places

  private func isOwn(_ file: JobFile, _ kept: any RecordingFolder) -> Bool {
    file.dataFolder.map { $0 == kept.folderID } ?? true
  }

  /// The file in a folder of this machine; nil when it is another's.
  private func own(_ file: JobFile) async throws -> (any OpenRecording)? {
    guard let kept = core.configuration.keptFiles, isOwn(file, kept) else { return nil }
    let found: (any OpenRecording)?
    do {
      found = try await kept.open(file.location)
    } catch {
      // A worker under another user may be allowed to.
      core.logger.notice("a file cannot be read here", metadata: ["reason": "\(error)"])
      return nil
    }
    guard let found else {
      if file.dataFolder == nil { return nil }
      throw Self.gone
    }
    guard found.size == file.size else { throw Self.changed }
    return found
  }

  private func store(of file: JobFile) throws -> any RecordingBucket {
    guard let store = core.configuration.store else {
      throw Self.outOfReach(
        "\(file.location): the backend knows no store; set RECBOT_S3_BUCKET and the rest for it, too")
    }
    guard store.has(file.location) else {
      throw Self.outOfReach("\(file.location): the backend's store is another one; RECBOT_S3_BUCKET and prefix name it")
    }
    return store
  }

  /// Asks the workers of the file's folder, until one of them answers.
  private func ask(_ verb: FileRequest.Verb, _ file: JobFile, now: Timestamp) async throws -> WorkerTransfer {
    guard let folder = file.dataFolder else { throw Self.gone }
    let workers = try await self.workers.list(seenWithin: QueueMetrics.workerAge).filter {
      $0.status.dataFolder == folder
    }
    let urls = Set(workers.compactMap(\.status.filesURL)).sorted()
    guard let secret = core.configuration.workerSecret, !urls.isEmpty else {
      throw Self.outOfReach(
        workers.isEmpty
          ? "the file lies in the data folder of a worker that does not run now: \(file.location)"
          : "the file lies at the worker \(workers[0].id), which has no address for the backend: set RECBOT_WORKER_FILES_URL"
      )
    }
    let request = FileRequest(
      verb: verb, folderID: folder, location: file.location, size: file.size,
      until: now.seconds + Self.requestLifetime)
    let key = FileRequest.key(from: secret)
    var reasons: [String] = []
    for url in urls {
      do {
        let transfer = try await WorkerTransfer(request, at: url, key: key)
        switch transfer.status {
        case 200, 204: return transfer
        case 404: throw Self.gone
        case 409: throw Self.changed
        default: reasons.append("\(url) answers \(transfer.status)")
        }
      } catch let refusal as Refusal {
        throw refusal
      } catch {
        reasons.append("\(url) cannot be reached")
        core.logger.notice("a worker gives no file", metadata: ["url": "\(url)", "reason": "\(error)"])
      }
    }
    throw Self.outOfReach("no worker gives the file: \(reasons.joined(separator: ", "))")
  }

  // MARK: Refusals

  private static var gone: Refusal {
    Refusal(.gone, "file_gone", "the file is not where it was put: somebody removed it")
  }
  private static var changed: Refusal {
    Refusal(.conflict, "file_changed", "the file is not the one that was recorded: its size is another")
  }

  private static func outOfReach(_ message: String) -> Refusal {
    var refusal = Refusal(.serviceUnavailable, "out_of_reach", message)
    refusal.headers[.retryAfter] = "30"
    return refusal
  }

  /// Does something with a file in its place; what fails there is a refusal.
  private static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch { throw outOfReach("\(error)") }
  }
}
