import MediaCore

/// A view of one RTP packet: the buffer that holds it and the offsets found by the parser (RFC 3550 section 5.1).
/// Everything handed out as `UnsafeRawBufferPointer` lies in `buffer`, so keep the packet while you use it.
public struct RTPPacket: Sendable {
  /// The whole packet. Must not be changed by others while views of it are in use.
  public let buffer: MediaBuffer
  /// The marker bit: end of a video frame, begin of a talkspurt.
  public let marker: Bool
  /// What the payload is, as the descriptions agreed (RFC 3550 section 5.1).
  public let payloadType: PayloadType
  /// The sequence number as it stands on the wire.
  public let sequenceNumber: UInt16
  /// The RTP timestamp as it stands on the wire, in ticks of the payload's clock rate.
  public let timestamp: UInt32
  /// The synchronization source.
  public let ssrc: SSRC
  /// Number of contributing sources, 0...15.
  public let csrcCount: Int
  /// Padding bytes at the end of the packet, including the one that holds their number.
  public let paddingCount: Int
  /// Where the payload begins in `buffer`.
  public let payloadOffset: Int
  /// Bytes of payload, without padding. Zero for padding-only packets, which still consume a sequence number.
  public let payloadCount: Int
  /// Where the header extension's elements begin, and how many bytes they have (RFC 8285 section 4).
  let elementsOffset: Int
  let elementsCount: Int
  let elementsForm: ElementsForm

  enum ElementsForm: UInt8, Sendable { case none, oneByte, twoByte }

  /// Parses a packet. Nil when it is not a complete RTP version 2 packet, when its CSRC list or header extension is
  /// longer than it, or when its padding count is zero or longer than its payload.
  public init?(_ buffer: MediaBuffer) {
    let bytes = buffer.bytes
    guard bytes.count >= RTPHeader.fixedCount, let first = bytes.byte(0), first >> 6 == 2,
      let second = bytes.byte(1), let sequence = bytes.uint16(2), let time = bytes.uint32(4),
      let source = bytes.uint32(8)
    else { return nil }
    var offset = RTPHeader.fixedCount + 4 * Int(first & 0x0f)
    guard offset <= bytes.count else { return nil }
    var form = ElementsForm.none
    var elements = 0
    var elementsCount = 0
    if first & 0x10 != 0 {
      guard let profile = bytes.uint16(offset), let words = bytes.uint16(offset + 2),
        bytes.has(offset + 4, 4 * Int(words))
      else { return nil }
      elements = offset + 4
      elementsCount = 4 * Int(words)
      if profile == 0xbede { form = .oneByte }
      if profile & 0xfff0 == 0x1000 { form = .twoByte }
      offset = elements + elementsCount
    }
    var padding = 0
    if first & 0x20 != 0 {
      guard let last = bytes.byte(bytes.count - 1), last > 0, Int(last) <= bytes.count - offset else { return nil }
      padding = Int(last)
    }
    self.buffer = buffer
    marker = second & 0x80 != 0
    payloadType = PayloadType(second)
    sequenceNumber = sequence
    timestamp = time
    ssrc = SSRC(source)
    csrcCount = Int(first & 0x0f)
    paddingCount = padding
    payloadOffset = offset
    payloadCount = bytes.count - offset - padding
    elementsOffset = elements
    self.elementsCount = elementsCount
    elementsForm = form
  }

  /// The payload without padding.
  public var payload: UnsafeRawBufferPointer {
    buffer.bytes.part(payloadOffset, payloadCount) ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// True for packets that carry nothing: they are sent to probe the path or to keep it open.
  public var isPaddingOnly: Bool { payloadCount == 0 }

  /// True when the packet has a header extension of the form that RFC 8285 defines.
  public var hasHeaderExtensions: Bool { elementsForm != .none }

  /// The data of the header extension element with a local identifier; nil when it is not there (RFC 8285
  /// sections 4.2 and 4.3). An element that runs beyond the extension ends the search.
  public func headerExtension(_ id: UInt8) -> UnsafeRawBufferPointer? {
    guard let range = elementRange(id) else { return nil }
    return buffer.bytes.part(range.lowerBound, range.count)
  }

  /// Overwrites the data of a header extension element that is already there with as many bytes. Returns false, and
  /// changes nothing, when it is absent or has another length. Only for the buffer's owner.
  @discardableResult
  public func overwriteHeaderExtension(_ id: UInt8, with bytes: UnsafeRawBufferPointer) -> Bool {
    guard let range = elementRange(id), range.count == bytes.count, let source = bytes.baseAddress else {
      return false
    }
    (buffer.base + range.lowerBound).copyMemory(from: source, byteCount: bytes.count)
    return true
  }

  private func elementRange(_ id: UInt8) -> Range<Int>? {
    guard elementsForm != .none, id != 0 else { return nil }
    let bytes = buffer.bytes
    let end = elementsOffset + elementsCount
    var offset = elementsOffset
    while offset < end, let head = bytes.byte(offset) {
      if head == 0 {
        offset += 1
        continue
      }
      let element: UInt8
      let length: Int
      switch elementsForm {
      case .none: return nil
      case .oneByte:
        element = head >> 4
        length = Int(head & 0x0f) + 1
        offset += 1
        // 0 with a length is invalid and 15 is reserved: both end the processing (RFC 8285 section 4.2).
        if element == 0 || element == 15 { return nil }
      case .twoByte:
        guard offset + 1 < end, let size = bytes.byte(offset + 1) else { return nil }
        element = head
        length = Int(size)
        offset += 2
      }
      guard offset + length <= end else { return nil }
      if element == id { return offset..<(offset + length) }
      offset += length
    }
    return nil
  }

  /// Writes a packet into `buffer`, replacing its content. False when it does not fit; the buffer is then empty.
  @discardableResult
  public static func write(
    into buffer: MediaBuffer, marker: Bool, payloadType: PayloadType, sequenceNumber: UInt16, timestamp: UInt32,
    ssrc: SSRC, extensions: RTPHeaderExtensionWriter? = nil, payload: UnsafeRawBufferPointer
  ) -> Bool {
    let header = RTPHeader(
      marker: marker, payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: ssrc)
    guard header.write(into: buffer, extensions: extensions), buffer.append(payload) else {
      buffer.setCount(0)
      return false
    }
    return true
  }

  /// True when a datagram that arrived on an rtcp-mux transport is RTCP rather than RTP (RFC 5761 section 4).
  public static func looksLikeRTCP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.byte(0), first >> 6 == 2, let type = bytes.byte(1) else { return false }
    return (192...223).contains(type)
  }
}
