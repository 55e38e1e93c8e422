import MediaCore

// Total readers: every access is checked, because the bytes come from the network.
extension UnsafeRawBufferPointer {
  @inline(__always)
  func has(_ offset: Int, _ length: Int) -> Bool { offset >= 0 && length >= 0 && offset <= count - length }

  @inline(__always)
  func byte(_ offset: Int) -> UInt8? {
    guard has(offset, 1) else { return nil }
    return self[offset]
  }

  @inline(__always)
  func uint16(_ offset: Int) -> UInt16? {
    guard has(offset, 2) else { return nil }
    return UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inline(__always)
  func uint24(_ offset: Int) -> UInt32? {
    guard has(offset, 3) else { return nil }
    return UInt32(self[offset]) << 16 | UInt32(self[offset + 1]) << 8 | UInt32(self[offset + 2])
  }

  @inline(__always)
  func uint32(_ offset: Int) -> UInt32? {
    guard has(offset, 4) else { return nil }
    return UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inline(__always)
  func uint64(_ offset: Int) -> UInt64? {
    guard has(offset, 8) else { return nil }
    return UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// `length` bytes from `offset`, or nil when they are not all there.
  @inline(__always)
  func part(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer? {
    guard has(offset, length) else { return nil }
    return UnsafeRawBufferPointer(rebasing: self[offset..<(offset + length)])
  }

  /// Everything from `offset`; empty when `offset` lies at or behind the end.
  @inline(__always)
  func rest(_ offset: Int) -> UnsafeRawBufferPointer {
    part(offset, Swift.max(0, count - Swift.max(0, offset))) ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }
}

/// Writes big-endian fields into a buffer of fixed size and remembers whether they all fitted.
struct ByteCursor {
  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  private(set) var offset: Int
  private(set) var overflowed = false

  init(_ buffer: MediaBuffer, offset: Int) {
    base = buffer.base
    capacity = buffer.capacity
    self.offset = Swift.max(0, offset)
  }

  @inline(__always)
  private mutating func reserve(_ length: Int) -> UnsafeMutableRawPointer? {
    guard !overflowed, length <= capacity - offset else {
      overflowed = true
      return nil
    }
    defer { offset += length }
    return base + offset
  }

  mutating func put8(_ value: UInt8) { reserve(1)?.storeBytes(of: value, as: UInt8.self) }
  mutating func put16(_ value: UInt16) { reserve(2)?.storeBytes(of: value.bigEndian, as: UInt16.self) }
  mutating func put32(_ value: UInt32) { reserve(4)?.storeBytes(of: value.bigEndian, as: UInt32.self) }

  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    reserve(bytes.count)?.copyMemory(from: source, byteCount: bytes.count)
  }
}

extension [UInt8] {
  mutating func put16(_ value: UInt16) {
    append(UInt8(truncatingIfNeeded: value >> 8))
    append(UInt8(truncatingIfNeeded: value))
  }

  mutating func put24(_ value: UInt32) {
    append(UInt8(truncatingIfNeeded: value >> 16))
    put16(UInt16(truncatingIfNeeded: value))
  }

  mutating func put32(_ value: UInt32) {
    put16(UInt16(truncatingIfNeeded: value >> 16))
    put16(UInt16(truncatingIfNeeded: value))
  }

  mutating func put64(_ value: UInt64) {
    put32(UInt32(truncatingIfNeeded: value >> 32))
    put32(UInt32(truncatingIfNeeded: value))
  }

  /// Overwrites two bytes; does nothing when they are not there.
  mutating func set16(_ value: UInt16, at offset: Int) {
    guard offset >= 0, offset <= count - 2 else { return }
    self[offset] = UInt8(truncatingIfNeeded: value >> 8)
    self[offset + 1] = UInt8(truncatingIfNeeded: value)
  }
}
