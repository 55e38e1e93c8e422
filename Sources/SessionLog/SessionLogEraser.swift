import Glibc
import MediaCore
import Platform
import Session

/// Takes people out of a log for good: each of its files is written anew without them, and put in the place of the old one.
/// What happens in the middle leaves a whole log, some of whose files are done; doing it again does the rest.
public struct SessionLogEraser {
  /// What came of it.
  public struct Summary: Sendable, Hashable {
    /// Records that were taken out or changed.
    public var records = 0
    /// Bytes by which the log is shorter.
    public var bytes: Int64 = 0
    /// Bytes that were no whole record, or records of a later version: nobody can say whose they are, so they went too.
    public var unreadable: Int64 = 0
  }

  /// Erases people, of whom all must be in the log. Throws `.open`, `.notALog`, `.newer`, `.busy`, `.read` or `.write`.
  /// Blocks for the disk.
  public static func erase(
    _ people: Set<ParticipantIdentity>, from path: String, layouts: @escaping LayoutTextReader
  ) throws(LogError) -> Summary {
    guard let lock = try LogLock(path) else {
      throw LogError(.busy, "\(path): is being written; erase people when the recording is over")
    }
    defer { withExtendedLifetime(lock) {} }
    // A log that cannot be read is not written either.
    let reader = try SessionLogReader(path: path, layouts: layouts)
    var known: Set<ParticipantIdentity> = []
    var exclusion = Exclusion(people)
    while let entry = try reader.next() {
      if case .event(let event) = entry, case .room(.participant(let participant)) = event.payload {
        known.insert(participant.identity)
        // A rule at the beginning may name somebody by a name that they only take later.
        exclusion.learn(participant)
      }
    }
    if let stranger = people.subtracting(known).sorted().first {
      let list = known.sorted().map { PeerText.line($0.rawValue, limit: 80) }.joined(separator: ", ")
      throw LogError(
        .notALog, "\(path): nobody in this log has the identity '\(stranger)'; there are: \(list.isEmpty ? "-" : list)")
    }
    var summary = Summary()
    for name in try LogFolder.files(in: path) {
      try rewrite("\(path)/\(name)", &exclusion, &summary, layouts)
    }
    return summary
  }

  private static func rewrite(
    _ file: String, _ exclusion: inout Exclusion, _ summary: inout Summary, _ layouts: LayoutTextReader
  ) throws(LogError) {
    let reader = try RecordReader(path: file)
    let copy = file + ".new"
    unlink(copy)
    let output = try AppendOnlyFile(creating: copy)
    var isDone = false
    defer { if !isDone { unlink(copy) } }
    var batch: [UInt8] = []
    while let body = try reader.next() {
      summary.unreadable += reader.damage?.bytes ?? 0
      guard let record = WireRecord.read(body) else {
        summary.unreadable += Int64(body.count)
        continue
      }
      if let kept = try left(of: record, body, &exclusion, &summary, layouts) { RecordFraming.append(kept, to: &batch) }
      if batch.count >= 1 << 18 {
        try output.append(batch)
        batch.removeAll(keepingCapacity: true)
      }
    }
    summary.unreadable += reader.damage?.bytes ?? 0
    try output.append(batch)
    try output.sync()
    guard rename(copy, file) == 0 else { throw LogError(.write, file, cannot: "replace it", number: errno) }
    isDone = true
    summary.bytes += reader.size - output.size
  }

  /// The body of what is left of a record; nil when nothing is.
  private static func left(
    of record: WireRecord, _ body: [UInt8], _ exclusion: inout Exclusion, _ summary: inout Summary,
    _ layouts: LayoutTextReader
  ) throws(LogError) -> [UInt8]? {
    switch record.content {
    case .beginning(var beginning):
      let rules = beginning.processors.filter { PersonSelector($0.selector).map { !exclusion.isOut($0) } ?? false }
      guard rules.count != beginning.processors.count else { return body }
      summary.records += 1
      beginning.processors = rules
      return try? WireRecord.with { $0.beginning = beginning }.serializedBytes()
    case .gap, .end: return body
    case .event, .frame, nil: break
    }
    guard let entry = try record.entry(layouts), case .event(let event) = entry else {
      summary.unreadable += Int64(body.count)
      return nil
    }
    guard let left = exclusion.admit(event) else {
      summary.records += 1
      return nil
    }
    guard case .room(let old) = event.payload, case .room(let new) = left.payload, old != new else { return body }
    summary.records += 1
    return try? WireRecord(left).serializedBytes()
  }
}

/// A new file that is only appended to. Confined to one thread.
private final class AppendOnlyFile {
  private let path: String
  private let descriptor: Int32
  private(set) var size: Int64 = 0

  init(creating path: String) throws(LogError) {
    self.path = path
    descriptor = open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw LogError(.open, path, cannot: "make it", number: errno) }
  }

  deinit { close(descriptor) }

  func append(_ bytes: [UInt8]) throws(LogError) {
    if let number = bytes.withUnsafeBytes({ FileWriting.append($0, to: descriptor) }) {
      throw LogError(.write, path, cannot: "write it", number: number)
    }
    size += Int64(bytes.count)
  }

  func sync() throws(LogError) {
    guard fsync(descriptor) == 0 else { throw LogError(.write, path, cannot: "make it durable", number: errno) }
  }
}
