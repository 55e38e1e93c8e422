import CWebMParser
import Glibc

/// The bytes that are examined: a file, or memory. Read in small pieces, never as a whole. Confined to one thread.
final class ByteSource {
  /// The file's name, for messages.
  let path: String
  /// Bytes of all.
  let size: Int64

  private let descriptor: Int32
  private let memory: UnsafeRawBufferPointer

  /// A file as long as it is now. The descriptor stays the caller's.
  init(descriptor: Int32, path: String) throws(WebMError) {
    self.descriptor = descriptor
    self.path = path
    memory = UnsafeRawBufferPointer(start: nil, count: 0)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw WebMError(code: .read, number: errno, operation: "look at it", path: path)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw WebMError(code: .notWebM, operation: "it is not a regular file", path: path)
    }
    // Positions and sizes (less than 2^56) can then be added without a check.
    size = min(Int64(status.st_size), 1 << 62)
  }

  /// Bytes in memory, which must stay there.
  init(_ bytes: UnsafeRawBufferPointer, path: String) {
    descriptor = -1
    self.path = path
    memory = bytes
    size = Int64(bytes.count)
  }

  /// Fills the buffer with what is at a position; gives how many bytes there were before the end.
  func read(into buffer: inout [UInt8], at position: Int64) throws(WebMError) -> Int {
    guard position >= 0, position < size else { return 0 }
    let wanted = Int(min(Int64(buffer.count), size - position))
    guard descriptor >= 0 else {
      let part = UnsafeRawBufferPointer(rebasing: memory[Int(position)..<Int(position) + wanted])
      buffer.withUnsafeMutableBytes { $0.copyMemory(from: part) }
      return wanted
    }
    var done = 0
    while done < wanted {
      let count = buffer.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress.map { $0 + done }, wanted - done, off_t(position) + off_t(done))
      }
      if count > 0 {
        done += count
      } else if count == 0 {
        throw WebMError(code: .invalid, operation: "became shorter while it was read; try again", path: path)
      } else if errno != EINTR {
        let place = position + Int64(done)
        throw WebMError(code: .read, number: errno, operation: "read at byte \(place)", path: path)
      }
    }
    return done
  }

  /// How many of so many bytes are zero. Reads them all.
  func zeros(from position: Int64, count: Int64) throws(WebMError) -> Int64 {
    var buffer = [UInt8](repeating: 0, count: Int(min(1 << 16, max(0, count))))
    var zeros: Int64 = 0
    var done: Int64 = 0
    while done < count {
      let read = min(try self.read(into: &buffer, at: position + done), Int(clamping: count - done))
      guard read > 0 else { break }
      buffer.withUnsafeBytes { for byte in $0.prefix(read) where byte == 0 { zeros += 1 } }
      done += Int64(read)
    }
    return zeros
  }

  /// Gives them to libwebm's parser.
  func parse(events: ParserEvents) -> cwebm_result {
    guard descriptor >= 0 else { return WebMReader.parse(memory, events: events, wholeFrames: false) }
    return events.withCallbacks { cwebm_parse_descriptor(descriptor, 0, &$0) }
  }
}

/// The head of an element: its ID and its size (RFC 8794 sections 5 and 6).
struct ElementHead: Sendable, Hashable {
  /// With its marker bits.
  var id: UInt32
  /// Where it begins in the file.
  var position: Int64
  /// Bytes of the ID.
  var idLength: Int
  /// Bytes of the size.
  var sizeLength: Int
  /// Bytes of the content; nil: not known.
  var size: Int64?

  /// Where its content begins.
  var dataStart: Int64 { position + Int64(idLength + sizeLength) }
  /// Where it ends, by what it says; nil: not known.
  var end: Int64? { size.map { dataStart + $0 } }
}

/// A window that moves over the bytes. Everything is found at any position; what lies behind the end is nil.
/// Confined to one thread.
final class ByteWindow {
  /// Where the bytes come from.
  let source: ByteSource
  private var bytes: [UInt8]
  private var start: Int64 = 0
  private var count = 0

  /// A window of so many bytes, at least 64.
  init(_ source: ByteSource, size: Int) {
    self.source = source
    bytes = [UInt8](repeating: 0, count: max(64, size))
  }

  /// Moves the window, if needed, so that up to `wanted` bytes from a position are in it; gives how many there are.
  private func load(_ position: Int64, _ wanted: Int) throws(WebMError) -> Int {
    guard position >= 0, position < source.size else { return 0 }
    let there = Int(min(Int64(wanted), source.size - position))
    if position < start || position + Int64(there) > start + Int64(count) {
      count = 0
      start = position
      count = try source.read(into: &bytes, at: position)
    }
    return there
  }

  /// One byte.
  func byte(at position: Int64) throws(WebMError) -> UInt8? {
    try load(position, 1) == 1 ? bytes[Int(position - start)] : nil
  }

  /// An unsigned number of 0 to 8 bytes (RFC 8794 section 7.2).
  func number(at position: Int64, length: Int) throws(WebMError) -> UInt64? {
    guard (0...8).contains(length), try load(position, length) == length else { return nil }
    var value: UInt64 = 0
    for index in 0..<length { value = value << 8 | UInt64(bytes[Int(position - start) + index]) }
    return value
  }

  /// Up to 64 bytes; fewer at the end.
  func some(at position: Int64, count: Int) throws(WebMError) -> [UInt8] {
    let there = try load(position, min(64, count))
    return there > 0 ? Array(bytes[Int(position - start)..<Int(position - start) + there]) : []
  }

  /// The number with a length marker that begins there (RFC 8794 section 4), and its bytes; all ones are nil.
  func marked(at position: Int64) throws(WebMError) -> (value: UInt64?, length: Int)? {
    guard let first = try byte(at: position) else { return nil }
    let length = first.leadingZeroBitCount + 1
    guard length <= 8, let raw = try number(at: position, length: length) else { return nil }
    let ones = UInt64(1) << UInt64(7 * length) - 1
    return (raw & ones == ones ? nil : raw & ones, length)
  }

  /// The head of the element that begins there; nil when no element can begin like that.
  func head(at position: Int64) throws(WebMError) -> ElementHead? {
    guard try load(position, 12) >= 2, let first = try byte(at: position) else { return nil }
    let idLength = first.leadingZeroBitCount + 1
    guard idLength <= 4, let id = try number(at: position, length: idLength),
      let size = try marked(at: position + Int64(idLength))
    else { return nil }
    return ElementHead(
      id: UInt32(truncatingIfNeeded: id), position: position, idLength: idLength, sizeLength: size.length,
      size: size.value.map { Int64($0) })
  }

  /// The first position from one on at which a byte stands that is marked in a table of 256.
  func firstByte(in table: [Bool], from position: Int64) throws(WebMError) -> Int64? {
    var position = position
    while try load(position, 1) == 1 {
      let from = Int(position - start)
      let found = bytes.withUnsafeBufferPointer { bytes in
        table.withUnsafeBufferPointer { table in (from..<count).first { table[Int(bytes[$0])] } }
      }
      if let found { return start + Int64(found) }
      position = start + Int64(count)
    }
    return nil
  }

  /// Calls `body` with the head of each child of a master element; false when they don't fill it exactly, or when
  /// `body` says so.
  func children(
    of master: ElementHead, _ body: (ElementHead) throws(WebMError) -> Bool
  ) throws(WebMError) -> Bool {
    guard let end = master.end, end <= source.size else { return false }
    var position = master.dataStart
    while position < end {
      guard let child = try head(at: position), let childEnd = child.end, childEnd <= end else { return false }
      guard try body(child) else { return false }
      position = childEnd
    }
    return true
  }
}
