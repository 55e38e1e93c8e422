import MediaCore

/// The fields of an RTP header that a sender chooses (RFC 3550 section 5.1).
public struct RTPHeader: Hashable, Sendable {
  /// Bytes of a header without CSRC list and header extension.
  public static let fixedCount = 12

  /// The marker bit: end of a video frame, begin of a talkspurt.
  public var marker: Bool
  /// What the payload is, as the descriptions agreed (RFC 3550 section 5.1).
  public var payloadType: PayloadType
  /// The sequence number.
  public var sequenceNumber: UInt16
  /// The timestamp in ticks of the payload's clock rate.
  public var timestamp: UInt32
  /// The synchronization source.
  public var ssrc: SSRC

  /// Makes a header; see the properties.
  public init(marker: Bool, payloadType: PayloadType, sequenceNumber: UInt16, timestamp: UInt32, ssrc: SSRC) {
    self.marker = marker
    self.payloadType = payloadType
    self.sequenceNumber = sequenceNumber
    self.timestamp = timestamp
    self.ssrc = ssrc
  }

  /// The header of a packet.
  public init(_ packet: RTPPacket) {
    self.init(
      marker: packet.marker, payloadType: packet.payloadType, sequenceNumber: packet.sequenceNumber,
      timestamp: packet.timestamp, ssrc: packet.ssrc)
  }

  /// Replaces the content of `buffer` by this header and the extension elements; append the payload afterwards.
  /// False when it does not fit; the buffer is then empty.
  @discardableResult
  public func write(into buffer: MediaBuffer, extensions: RTPHeaderExtensionWriter? = nil) -> Bool {
    var cursor = ByteCursor(buffer, offset: 0)
    let hasElements = extensions.map { !$0.isEmpty } ?? false
    cursor.put8(hasElements ? 0x90 : 0x80)
    cursor.put8((marker ? 0x80 : 0) | payloadType.rawValue)
    cursor.put16(sequenceNumber)
    cursor.put32(timestamp)
    cursor.put32(ssrc.rawValue)
    if hasElements, let extensions { extensions.write(to: &cursor) }
    buffer.setCount(cursor.overflowed ? 0 : cursor.offset)
    return !cursor.overflowed
  }

  /// Copies `packet`, with its CSRC list, header extensions and padding, into `buffer` under this header.
  /// False when it does not fit; the buffer is then empty.
  @discardableResult
  public func copy(_ packet: RTPPacket, into buffer: MediaBuffer) -> Bool {
    buffer.setCount(0)
    guard buffer.append(packet.buffer.bytes) else { return false }
    overwrite(buffer)
    return true
  }

  /// Overwrites the fixed header fields of the packet in `buffer`, leaving its flags and all that follows as they
  /// are. Only for the buffer's owner; does nothing when the buffer holds less than a header.
  public func overwrite(_ buffer: MediaBuffer) {
    guard buffer.count >= RTPHeader.fixedCount else { return }
    var cursor = ByteCursor(buffer, offset: 1)
    cursor.put8((marker ? 0x80 : 0) | payloadType.rawValue)
    cursor.put16(sequenceNumber)
    cursor.put32(timestamp)
    cursor.put32(ssrc.rawValue)
  }
}

/// Collects header extension elements for `RTPHeader.write`; takes the one-byte form when all elements fit it and
/// the two-byte form otherwise (RFC 8285). Reuse one writer for many packets: it then allocates nothing.
public struct RTPHeaderExtensionWriter: Sendable {
  // (id, length, data...) one after the other: the two-byte form.
  private var elements: [UInt8] = []
  private var fitsOneByteForm = true
  private var count = 0

  /// An empty collection.
  public init() { elements.reserveCapacity(64) }

  /// True when nothing has been appended.
  public var isEmpty: Bool { count == 0 }

  /// Starts again for the next packet.
  public mutating func removeAll() {
    elements.removeAll(keepingCapacity: true)
    fitsOneByteForm = true
    count = 0
  }

  /// Appends an element. False, and nothing is appended, when the identifier is 0 or the data is longer than 255
  /// bytes. Identifiers above 14 and data of 0 or more than 16 bytes lead to the two-byte form.
  @discardableResult
  public mutating func append(id: UInt8, bytes: UnsafeRawBufferPointer) -> Bool {
    guard id != 0, let length = UInt8(exactly: bytes.count) else { return false }
    if id > 14 || length == 0 || length > 16 { fitsOneByteForm = false }
    elements.append(id)
    elements.append(length)
    elements.append(contentsOf: bytes)
    count += 1
    return true
  }

  /// Appends an element whose data is the low `length` bytes (1...8) of `value`, big-endian.
  @discardableResult
  public mutating func append(id: UInt8, value: UInt64, length: Int) -> Bool {
    guard (1...8).contains(length) else { return false }
    return withUnsafeBytes(of: value.bigEndian) { append(id: id, bytes: $0.rest(8 - length)) }
  }

  /// Appends an element with the UTF-8 bytes of a text of at most 255 bytes.
  @discardableResult
  public mutating func append(id: UInt8, text: String) -> Bool {
    var text = text
    return text.withUTF8 { append(id: id, bytes: UnsafeRawBufferPointer($0)) }
  }

  func write(to cursor: inout ByteCursor) {
    let size = fitsOneByteForm ? elements.count - count : elements.count
    let words = (size + 3) / 4
    cursor.put16(fitsOneByteForm ? 0xbede : 0x1000)
    cursor.put16(UInt16(truncatingIfNeeded: words))
    elements.withUnsafeBytes { bytes in
      var offset = 0
      while let id = bytes.byte(offset), let length = bytes.byte(offset + 1) {
        if fitsOneByteForm {
          cursor.put8(id << 4 | (length &- 1) & 0x0f)
        } else {
          cursor.put8(id)
          cursor.put8(length)
        }
        if let data = bytes.part(offset + 2, Int(length)) { cursor.put(data) }
        offset += 2 + Int(length)
      }
    }
    for _ in size..<(4 * words) { cursor.put8(0) }
  }
}
