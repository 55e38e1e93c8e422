import Glibc

/// Reads the records of one file, and finds the next whole one after what is damaged. Takes memory for one record.
/// Confined to one thread; blocks for the disk.
final class RecordReader {
  /// Bytes that are no record.
  struct Damage: Sendable, Hashable {
    /// Where they begin.
    var offset: Int64
    /// How many.
    var bytes: Int64
    /// True when the file ends with them: most likely the end of a process.
    var isTail: Bool
  }

  /// The file's name, for messages.
  let path: String
  /// Bytes of the file when it was opened.
  let size: Int64
  /// The place of the record that `next` gave last.
  private(set) var offset: Int64 = 0
  /// The damage directly before that record, or at the end of the file.
  private(set) var damage: Damage?

  private let descriptor: Int32
  private var buffer: [UInt8] = []
  /// What is read at a time.
  private var piece = [UInt8](repeating: 0, count: 1 << 16)
  /// Where in the buffer the next record begins.
  private var head = 0
  /// Where in the file the buffer begins.
  private var base: Int64 = 0
  private var isAtEnd = false
  /// Bytes that may still be summed up in search of records: what a file can cost is bounded, whatever is in it.
  private var effort: Int64

  init(path: String) throws(LogError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw LogError(.open, path, cannot: "open it", number: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw LogError(.notALog, "\(path): not a regular file")
    }
    size = Int64(status.st_size)
    effort = 4 * size + (64 << 20)
  }

  deinit { close(descriptor) }

  /// The body of the next whole record; nil at the end of the file. Then, and after each call, `damage` says whether there
  /// was any before.
  func next() throws(LogError) -> [UInt8]? {
    damage = nil
    let from = base + Int64(head)
    while true {
      switch try find() {
      case .record(let body):
        offset = base + Int64(head)
        if offset > from { damage = Damage(offset: from, bytes: offset - from, isTail: false) }
        let begin = head + RecordFraming.headSize
        head = begin + body
        return Array(buffer[begin..<head])
      case .damage, .incomplete:
        guard effort > 0, try searchMarker() else {
          head = buffer.count
          let end = base + Int64(buffer.count)
          if end > from { damage = Damage(offset: from, bytes: end - from, isTail: true) }
          return nil
        }
      }
    }
  }

  /// What stands at `head`, after reading as much as that takes. `.incomplete` when the file ends before.
  private func find() throws(LogError) -> RecordFraming.Finding {
    try ensure(RecordFraming.headSize)
    while true {
      let finding = buffer.withUnsafeBytes { RecordFraming.find(in: UnsafeRawBufferPointer(rebasing: $0[head...])) }
      switch finding {
      case .incomplete(let needs):
        if buffer.count - head >= needs || isAtEnd { return finding }
        try ensure(needs)
      case .damage:
        effort -= Int64(buffer.count - head)
        return finding
      case .record: return finding
      }
    }
  }

  /// Moves `head` to the next marker. False when there is none.
  private func searchMarker() throws(LogError) -> Bool {
    head = min(head + 1, buffer.count)
    while true {
      let marker = RecordFraming.marker
      let found = buffer.withUnsafeBytes { bytes in
        var index = head
        while index < bytes.count {
          if bytes[index] == marker[0], zip(bytes[index...], marker).allSatisfy({ $0 == $1 }) { return index }
          index += 1
        }
        return bytes.count
      }
      head = found
      // A marker that the buffer cuts off is one all the same: what is missing of it is read, and looked at.
      if head < buffer.count { return true }
      guard !isAtEnd else { return false }
      try ensure(1)
      if head == buffer.count { return false }
    }
  }

  /// Reads until so many bytes stand from `head` on, or the file ends.
  private func ensure(_ count: Int) throws(LogError) {
    guard buffer.count - head < count, !isAtEnd else { return }
    base += Int64(head)
    buffer.removeSubrange(..<head)
    head = 0
    while buffer.count < count, !isAtEnd {
      var read = 0
      repeat {
        read = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      } while read < 0 && errno == EINTR
      guard read >= 0 else {
        throw LogError(.read, path, cannot: "read byte \(base + Int64(buffer.count))", number: errno)
      }
      buffer.append(contentsOf: piece[..<read])
      isAtEnd = read == 0
    }
  }
}
