import Glibc
import MediaCore
import Platform
import Session

/// Writes a session log, so that what was appended and flushed is there whatever happens to the process, and what was synced
/// also when the machine goes. Each batch takes effect wholly or not at all. Confined to one thread; blocks for the disk.
public final class SessionLogWriter {
  /// Path of the log's folder.
  public let path: String
  /// Bytes written so far.
  public private(set) var size: Int64 = 0

  private let beginning: LogBeginning
  private let fileSize: Int64
  private var lock: LogLock?
  private var descriptor: Int32 = -1
  private var number: UInt32 = 0
  /// Bytes of the file that is being written.
  private var end: Int64 = 0
  /// What has been appended and not flushed.
  private var batch: [UInt8] = []
  /// So much goes to the file at once.
  private static let batchSize = 1 << 18
  /// The beginning is told again after so many bytes: a log whose first page is damaged can be read then.
  private static let beginningInterval: Int64 = 4 << 20
  private var beginningAt: Int64 = 0
  private var isSynced = true
  /// For tests: is told the length of each write before it is made, and may make it fail, by an error number.
  var observer: ((Int) -> Int32)?

  /// Makes the folder, which must be empty if it is there, and the first file in it. Throws `.exists`, `.open` or `.write`.
  public convenience init(path: String, beginning: LogBeginning) throws(LogError) {
    try self.init(path: path, beginning: beginning, fileSize: LogFolder.fileSize)
  }

  init(path: String, beginning: LogBeginning, fileSize: Int64) throws(LogError) {
    self.path = path
    self.beginning = beginning
    self.fileSize = fileSize
    try LogFolder.make(path)
    lock = try LogLock(path)
    guard lock != nil else { throw LogError(.exists, "\(path): another recording writes its log there") }
    try openFile()
    try flush()
  }

  deinit { close() }

  /// Takes an entry. It is in the file after the next flush; so it is by itself when there is much.
  public func append(_ entry: LogEntry) throws(LogError) {
    append(WireRecord(entry))
    if batch.count >= Self.batchSize { try flush() }
  }

  private func append(_ record: WireRecord) {
    // It can't fail: no field is required, and nothing in it is longer than two GiB.
    guard let body: [UInt8] = try? record.serializedBytes(), body.count <= RecordFraming.maximumBody else { return }
    RecordFraming.append(body, to: &batch)
  }

  /// Writes what was appended. After an error the file ends with the batch before, and nothing more can be written.
  public func flush() throws(LogError) {
    guard descriptor >= 0, !batch.isEmpty else { return }
    if end - beginningAt >= Self.beginningInterval {
      beginningAt = end
      append(WireRecord(beginning, file: number))
    }
    do throws(LogError) {
      try write()
    } catch {
      // What is half written goes again; when that fails too, readers find a torn tail.
      _ = ftruncate(descriptor, off_t(end))
      close()
      throw error
    }
    end += Int64(batch.count)
    size += Int64(batch.count)
    batch.removeAll(keepingCapacity: true)
    isSynced = false
    guard end >= fileSize else { return }
    try sync()
    close()
    try openFile()
  }

  /// Makes what was flushed durable.
  public func sync() throws(LogError) {
    guard descriptor >= 0, !isSynced else { return }
    guard fdatasync(descriptor) == 0 else {
      throw LogError(.write, file, cannot: "make it durable", number: errno)
    }
    isSynced = true
  }

  /// Ends the log: says how the recording ended, and makes everything durable.
  public func finish(_ ending: LogEnd) throws(LogError) {
    append(WireRecord(beginning, file: number))
    append(WireRecord(.end(ending)))
    try flush()
    try sync()
    close()
    lock = nil
  }

  private var file: String { "\(path)/\(LogFolder.name(number))" }

  private func openFile() throws(LogError) {
    number += 1
    descriptor = open(file, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw LogError(.open, file, cannot: "make it", number: errno) }
    (end, beginningAt) = (0, 0)
    append(WireRecord(beginning, file: number))
  }

  private func write() throws(LogError) {
    if let number = observer?(batch.count), number != 0 {
      throw LogError(.write, file, cannot: "write at byte \(end)", number: number)
    }
    if let number = batch.withUnsafeBytes({ FileWriting.put($0, at: end, to: descriptor) }) {
      throw LogError(.write, file, cannot: "write at byte \(end)", number: number)
    }
  }

  private func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}
