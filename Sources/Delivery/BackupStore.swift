import Digests
import Foundation
import Glibc
import MediaCore
import Platform

/// A folder where files wait that could not be delivered, each with a note of where it belongs. Several processes may
/// use one folder.
public struct BackupStore: Sendable {
  /// Path of the folder that takes what could not be delivered.
  public let folder: String

  /// A file that waits.
  public struct Entry: Codable, Hashable, Sendable {
    /// Path of the file in the folder.
    public var file: String
    /// The name under which it is to be delivered.
    public var name: String
    /// The job that it belongs to.
    public var job: String
    /// Why it waits: the newest error.
    public var reason: String
    /// How often its delivery was tried from here.
    public var attempts: Int
    /// Since when it waits: seconds since 1970-01-01 UTC.
    public var since: Int64
    /// Where it is, once it has left the folder; only the note is here then, until `forget`.
    public var delivered: DeliveredFile?
  }

  /// Makes the folder, mode 0700, if it isn't there. Blocks for the disk. Throws `.file`.
  public init(folder: String) throws(DeliveryError) {
    self.folder = folder
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw SourceFile.failed(folder, "cannot be made") }
  }

  /// Takes a file into the folder (a second name of it, or a copy, when that is on another file system) and notes where it
  /// belongs; the caller's file stays. An upload that is under way for the file can go on from there. A file that was
  /// taken before under this name is the same. Throws `.file`, `.exists`.
  public func keep(
    file: String, name: String, job: String, reason: DeliveryError
  ) async throws(DeliveryError) -> Entry {
    try await BlockingWork.run { () throws(DeliveryError) in
      try KeyTemplate.checkForDelivery(name)
      let label = KeyTemplate.component("\(job)-\(name.split(separator: "/").last ?? "")")
      let path = "\(folder)/\(label)"
      let entry = Entry(
        file: path, name: name, job: job, reason: reason.description, attempts: 0,
        since: WallClock.seconds)
      let taken = DeliveryError(.exists, "\(path): another file of that name waits already")
      if access(path, F_OK) == 0 {
        guard let known = note(of: path), (known.name, known.job) == (name, job),
          FileManager.default.contentsEqual(atPath: file, andPath: path)
        else { throw taken }
        return known
      }
      // The note is first: a file without one would be forgotten, a note without a file is passed over.
      try write(entry)
      // A second name is never given to what has another file already, unlike a renaming.
      if link(file, path) != 0 {
        if errno == EEXIST { throw taken }
        let copy = LocalDelivery(root: folder, file: file, name: label, progress: { _ in })
        do throws(DeliveryError) {
          _ = try copy.run()
        } catch {
          unlink(path + ".json")
          throw error
        }
      }
      rename(UploadJournal.path(of: file), UploadJournal.path(of: path))
      return entry
    }
  }

  /// What waits, oldest first. Throws `.file`.
  public func entries() async throws(DeliveryError) -> [Entry] {
    try await notes { $0.delivered == nil && access($0.file, R_OK) == 0 }
  }

  /// What was delivered from here and not forgotten since, oldest first. Throws `.file`.
  public func departed() async throws(DeliveryError) -> [Entry] { try await notes { $0.delivered != nil } }

  /// Forgets what has left the folder: whoever asked for it knows where it is.
  public func forget(_ entry: Entry) async {
    await BlockingWork.run {
      // Another file may have come to its place meanwhile.
      guard let known = note(of: entry.file), known.delivered == entry.delivered, known.delivered != nil else { return }
      unlink(entry.file)
      unlink(entry.file + ".json")
    }
  }

  private func notes(_ isWanted: @escaping @Sendable (Entry) -> Bool) async throws(DeliveryError) -> [Entry] {
    try await BlockingWork.run { () throws(DeliveryError) in
      guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
        throw DeliveryError(.file, "\(folder): cannot be read")
      }
      var entries: [Entry] = []
      for name in names where name.hasSuffix(".json") {
        guard let entry = note(of: "\(folder)/\(name.dropLast(5))") else { continue }
        if isWanted(entry) { entries.append(entry) }
      }
      return entries.sorted { ($0.since, $0.file) < ($1.since, $1.file) }
    }
  }

  /// Tries to deliver a file; it leaves the folder once that is done, and its note says where it is until `forget`. An
  /// error is noted with the file, which stays.
  public func deliver(
    _ entry: Entry, by delivery: StoreDelivery, progress: @escaping @Sendable (DeliveryProgress) -> Void = { _ in }
  ) async throws(DeliveryError) -> DeliveredFile {
    let delivered: DeliveredFile
    do throws(DeliveryError) {
      delivered = try await delivery.deliver(file: entry.file, name: entry.name, progress: progress)
    } catch {
      var entry = entry
      entry.attempts += 1
      entry.reason = error.description
      let noted = entry
      _ = try? await BlockingWork.run { () throws(DeliveryError) in try write(noted) }
      throw error
    }
    var gone = entry
    gone.delivered = delivered
    let noted = gone
    try await BlockingWork.run { () throws(DeliveryError) in
      // The note is first: a file without one would be forgotten, and nobody told where it is.
      try write(noted)
      unlink(entry.file)
    }
    return delivered
  }

  /// Bytes of a file that waits, and their SHA-256 in hexadecimal. Throws `.file`.
  public func measure(_ entry: Entry) async throws(DeliveryError) -> (size: Int64, sha256: String) {
    let source = try await SourceFile.open(entry.file)
    let whole = WholeHash()
    let size = source.size
    var position: Int64 = 0
    while position < size {
      let end = min(size, position + (8 << 20))
      _ = try await source.part(position..<end, whole: whole)
      position = end
    }
    return (size, Hexadecimal.text(whole.value))
  }

  /// The note that belongs to a file of the folder. Blocks.
  private func note(of path: String) -> Entry? {
    guard let data = FileManager.default.contents(atPath: path + ".json"), data.count <= 1 << 16,
      var entry = try? BoundedJSON.decode(Entry.self, from: Array(data), limits: JSONLimits(bytes: 1 << 16))
    else { return nil }
    // Where the note is, there is the file: the folder may have been moved.
    entry.file = path
    return entry
  }

  private func write(_ entry: Entry) throws(DeliveryError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(entry) else { return }
    try AtomicFile.write(Array(data), to: entry.file + ".json")
  }
}
