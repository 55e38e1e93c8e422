import Dispatch
import Foundation
import Glibc
import JobsAPI
import MediaCore
import Platform
import Synchronization

/// What a worker must not forget, as lines of JSON in a file. Each is on the disk before its `append` returns; a line
/// that was cut off by a crash is no line. May be used on any thread; the disk is waited for on a queue of its own.
final class Journal: Sendable {
  private let path: String
  private let queue = DispatchQueue(label: "recbot.journal")
  private let descriptor: Mutex<Int32>
  /// Where the last whole line ends.
  private let end: Mutex<Int64>

  /// Opens the journal, gives what is open in it, and begins it anew with only that.
  static func open(_ path: String) throws(WorkerError) -> (journal: Journal, open: [OpenJob]) {
    let open = OpenJob.fold(read(try contents(path)))
    // The new file takes the place of the old one as a whole.
    let fresh = path + ".new"
    let descriptor = try create(fresh)
    do throws(WorkerError) {
      for entry in open.flatMap(\.entries) { try write(line(entry), to: descriptor, path: fresh) }
      guard fdatasync(descriptor) == 0, rename(fresh, path) == 0 else { throw failure("cannot be written", path) }
      try syncFolder(of: path)
    } catch {
      close(descriptor)
      throw error
    }
    return (Journal(path: path, descriptor: descriptor), open)
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = Mutex(descriptor)
    end = Mutex(Self.size(descriptor))
  }

  deinit { close(descriptor.withLock { $0 }) }

  /// Adds a line. Throws when it is not safely on the disk.
  func append(_ entry: JournalEntry) async throws(WorkerError) {
    let result: Result<Void, WorkerError> = await withCheckedContinuation { continuation in
      queue.async { [self] in
        do throws(WorkerError) {
          try descriptor.withLock { descriptor throws(WorkerError) in
            try end.withLock { end throws(WorkerError) in
              // Half a line, left by a full disk, must not spoil the next one.
              if Self.size(descriptor) > end, ftruncate(descriptor, off_t(end)) != 0 {
                throw Self.failure("cannot be written", path)
              }
              try Self.write(Self.line(entry), to: descriptor, path: path)
              end = Self.size(descriptor)
              guard fdatasync(descriptor) == 0 else { throw Self.failure("cannot be written", path) }
            }
          }
          continuation.resume(returning: .success(()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    try result.get()
  }

  /// The entries of a journal's bytes. Total: what is no whole entry, as the tail that a crash leaves, is passed over.
  static func read(_ bytes: [UInt8]) -> [JournalEntry] {
    var entries: [JournalEntry] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 10) {
      let limits = JSONLimits(bytes: 16 << 20, values: 1_000_000)
      if let entry = try? BoundedJSON.decode(JournalEntry.self, from: Array(rest[..<end]), limits: limits) {
        entries.append(entry)
      }
      rest = rest[(end + 1)...]
    }
    return entries
  }

  /// An entry's line, with its end.
  static func line(_ entry: JournalEntry) throws(WorkerError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return Array(try encoder.encode(entry)) + [10]
    } catch {
      throw WorkerError("an entry of the journal cannot be written as JSON")
    }
  }

  private static func contents(_ path: String) throws(WorkerError) -> [UInt8] {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { return [] }
      throw failure("cannot be read", path)
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("cannot be read", path) }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }

  private static func create(_ path: String) throws(WorkerError) -> Int32 {
    unlink(path)
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure("cannot be made", path) }
    return descriptor
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(WorkerError) {
    if let number = bytes.withUnsafeBytes({ FileWriting.append($0, to: descriptor) }) {
      throw failure("cannot be written", path, number)
    }
  }

  private static func size(_ descriptor: Int32) -> Int64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }

  private static func syncFolder(of path: String) throws(WorkerError) {
    let folder = FileWriting.folder(of: path)
    let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot be opened", folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("cannot be written", folder) }
  }

  private static func failure(_ what: String, _ path: String, _ number: Int32 = errno) -> WorkerError {
    WorkerError("\(path) \(what): \(String(cString: strerror(number)))", isFolder: true)
  }
}
