import MediaCore

/// Reads the AV1 payload format (RTP Payload Format For AV1, section 4): the aggregation header and the units, whole or in
/// parts, behind it. The frame of this file is a temporal unit with all its layers.
public enum AV1Depacketizer {
  /// What a packet's payload says; nil when it is cut short or its sizes lie.
  public static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPayload? {
    guard let header = payload.byte(0), payload.count > 1 else { return nil }
    let continues = header & 0x80 != 0
    let beginsSequence = header & 0x08 != 0
    guard !(continues && beginsSequence) else { return nil }
    var result = VideoPayload(headerCount: 1)
    var isFirst = true
    let isWhole = eachElement(payload) { element in
      if isFirst, beginsSequence, let unit = AV1OBU(element), unit.kind == .sequenceHeader,
        let sequence = AV1SequenceHeader(unit.payload)
      {
        result.isKeyframe = true
        (result.width, result.height) = (sequence.width, sequence.height)
      }
      isFirst = false
    }
    guard isWhole, !isFirst else { return nil }
    if !continues { result.start = result.isKeyframe ? .always : .afterAnother }
    return result
  }

  /// Calls `body` with every element of a payload (section 4.4); false when the sizes don't add up.
  static func eachElement(_ payload: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    guard let header = payload.byte(0) else { return false }
    let count = Int(header >> 4 & 3)
    var offset = 1
    var number = 0
    while offset < payload.count {
      number += 1
      if count > 0, number == count {
        body(payload.rest(offset))
        return true
      }
      guard let (size, length) = LEB128.read(payload.rest(offset)),
        let element = payload.part(offset + length, size), size > 0
      else { return false }
      body(element)
      offset += length + size
    }
    return count == 0
  }
}
