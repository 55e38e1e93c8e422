import MediaCore

/// How NAL units travel in the payload of one packet; H.264 (RFC 6184) and H.265 (RFC 7798) differ in numbers only.
enum NALPacket: Hashable {
  /// The header that a fragmented unit has: its first byte, and the second of H.265.
  struct Header: Hashable {
    var first: UInt8
    var second: UInt8?
    var count: Int { second == nil ? 1 : 2 }
  }

  /// One whole unit.
  case unit
  /// Several units, each behind its size in two bytes; the first size is so many bytes in.
  case aggregate(from: Int)
  /// A piece of a unit, which begins so many bytes in.
  case fragment(Header, isFirst: Bool, isLast: Bool, from: Int)

  /// Calls `body` with every unit of an aggregate; false when there is none, or when the sizes don't add up.
  static func eachUnit(
    _ payload: UnsafeRawBufferPointer, from start: Int, _ body: (UnsafeRawBufferPointer) -> Void
  ) -> Bool {
    var offset = start
    while offset < payload.count {
      guard let size = payload.uint16(offset), size > 0, let unit = payload.part(offset + 2, Int(size)) else {
        return false
      }
      body(unit)
      offset += 2 + Int(size)
    }
    return offset > start
  }
}

/// Reads the payload format of a codec that is made of NAL units.
protocol NALDepacketizer {
  /// How units travel in a payload; nil when it is cut short, or of a kind that isn't taken.
  static func packet(_ payload: UnsafeRawBufferPointer) -> NALPacket?
  /// The kind that the first byte of a unit's header names.
  static func kind(_ header: UInt8) -> NALUnit.Kind
  /// Notes what a unit says. Its header bytes are not looked at; `kind` stands for them.
  static func look(at unit: UnsafeRawBufferPointer, _ kind: NALUnit.Kind, _ result: inout VideoPayload)
}

extension NALDepacketizer {
  /// What a packet's payload says; nil when it is cut short, its sizes lie, or it is of another kind.
  static func payload(_ payload: UnsafeRawBufferPointer) -> VideoPayload? {
    guard let packet = packet(payload) else { return nil }
    var result = VideoPayload(headerCount: 0)
    switch packet {
    case .unit: look(at: payload, kind(payload[0]), &result)
    case .aggregate(let from):
      var isFirst = true
      let isWhole = NALPacket.eachUnit(payload, from: from) { unit in
        var part = VideoPayload(headerCount: 0)
        look(at: unit, kind(unit[0]), &part)
        if isFirst { result.start = part.start }
        isFirst = false
        result.isKeyframe = result.isKeyframe || part.isKeyframe
        if part.width > 0 { (result.width, result.height) = (part.width, part.height) }
      }
      guard isWhole else { return nil }
    case .fragment(let header, let isFirst, _, let from):
      guard isFirst else {
        result.isKeyframe = kind(header.first) == .keySlice
        return result
      }
      // As many bytes as the unit's own header has stand before the rest of it.
      look(at: payload.rest(from - header.count), kind(header.first), &result)
    }
    return result
  }
}
