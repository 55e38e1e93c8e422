/// Bytes of EBML elements being put together (RFC 8794). Keeps its storage when emptied, so that a buffer that is
/// used again does not allocate.
struct EBMLBuffer {
  /// What has been put together so far.
  private(set) var bytes: [UInt8] = []

  /// Room for so many bytes before storage has to grow.
  init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  /// Bytes put together so far.
  var count: Int { bytes.count }

  /// Forgets the content and keeps the storage.
  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Bytes of an element ID: the marker bits are part of the constant (RFC 8794 section 5).
  static func idLength(_ id: UInt32) -> Int { id > 0xff_ffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1 }

  /// The fewest bytes in which a size can be written. All ones are kept free: they mean "unknown"
  /// (RFC 8794 section 6.2).
  static func sizeLength(_ size: Int) -> Int {
    var length = 1
    while length < 8, size >= (1 << (7 * length)) - 1 { length += 1 }
    return length
  }

  /// Appends an element ID.
  mutating func putID(_ id: UInt32) { putBigEndian(UInt64(id), length: Self.idLength(id)) }

  /// Appends a data size in exactly `length` bytes, or in as few as possible.
  mutating func putSize(_ size: Int, length: Int? = nil) {
    let length = length ?? Self.sizeLength(size)
    putBigEndian(UInt64(truncatingIfNeeded: size) | (1 << UInt64(7 * length)), length: length)
  }

  /// Appends the unknown data size in eight bytes, to be overwritten later by a known one.
  mutating func putUnknownSize() { putBigEndian(0x01ff_ffff_ffff_ffff, length: 8) }

  /// Appends the low `length` bytes of a number, the highest first.
  mutating func putBigEndian(_ value: UInt64, length: Int) {
    var shift = 8 * (length - 1)
    while shift >= 0 {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
      shift -= 8
    }
  }

  /// Appends bytes as they are.
  mutating func put(_ content: UnsafeRawBufferPointer) { bytes.append(contentsOf: content) }

  /// Appends bytes as they are.
  mutating func put(_ content: [UInt8]) { bytes.append(contentsOf: content) }

  /// Appends zeros.
  mutating func putZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: max(0, count))) }

  /// Appends an unsigned integer element in as few bytes as possible (RFC 8794 section 7.2).
  mutating func putUnsigned(_ id: UInt32, _ value: UInt64) {
    let length = max(1, (71 - value.leadingZeroBitCount) / 8)
    putID(id)
    putSize(length)
    putBigEndian(value, length: length)
  }

  /// Appends a signed integer element in eight bytes; also the form of a date (RFC 8794 sections 7.1 and 7.6).
  mutating func putSigned(_ id: UInt32, _ value: Int64) {
    putID(id)
    putSize(8)
    putBigEndian(UInt64(bitPattern: value), length: 8)
  }

  /// Appends a float element in eight bytes (RFC 8794 section 7.3).
  mutating func putFloat(_ id: UInt32, _ value: Double) {
    putID(id)
    putSize(8)
    putBigEndian(value.bitPattern, length: 8)
  }

  /// Appends a string element (RFC 8794 sections 7.4 and 7.5).
  mutating func putString(_ id: UInt32, _ value: String) { putBinary(id, Array(value.utf8)) }

  /// Appends a binary element (RFC 8794 section 7.7).
  mutating func putBinary(_ id: UInt32, _ value: [UInt8]) {
    putID(id)
    putSize(value.count)
    put(value)
  }

  /// Appends a master element with the children that `body` appends (RFC 8794 section 7.8).
  mutating func putMaster(_ id: UInt32, _ body: (inout EBMLBuffer) -> Void) {
    var children = EBMLBuffer()
    body(&children)
    putBinary(id, children.bytes)
  }

  /// Appends a Void element of exactly `total` bytes (at least 2), header included (RFC 8794 section 11.3.2).
  mutating func putVoid(total: Int) {
    guard total >= 2 else { return }
    // A size field of 8 bytes fits whatever it says; shorter ones only where one more byte would change its length.
    let length = total < 10 ? 1 : 8
    putID(ElementID.void)
    putSize(total - 1 - length, length: length)
    putZeros(total - 1 - length)
  }

  /// Overwrites bytes that were put before; the range must be inside.
  mutating func replace(at offset: Int, with content: [UInt8]) {
    guard offset >= 0, offset + content.count <= bytes.count else { return }
    bytes.replaceSubrange(offset..<offset + content.count, with: content)
  }
}
