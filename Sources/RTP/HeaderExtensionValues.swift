import MediaCore

/// Loudness of the sound in one packet (RFC 6464 section 3).
public struct AudioLevelExtension: Hashable, Sendable {
  /// The sender believes that the packet holds speech.
  public var voiceActivity: Bool
  /// Level in -dBov: 0 is the loudest, 127 is silence.
  public var level: UInt8
  /// Makes a level; values above 127 become 127.
  public init(voiceActivity: Bool, level: UInt8) {
    self.voiceActivity = voiceActivity
    self.level = min(127, level)
  }
  /// Parses an element's data; the two-byte form's second byte is padding.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 1 || bytes.count == 2, let byte = bytes.byte(0) else { return nil }
    self.init(voiceActivity: byte & 0x80 != 0, level: byte & 0x7f)
  }
  /// The element's data.
  public var encoded: UInt8 { (voiceActivity ? 0x80 : 0) | level }
}

/// Time of sending as 6.18 fixed point seconds, which wraps each 64 s.
public struct AbsoluteSendTime: Hashable, Sendable {
  /// The 24 bits of the wire.
  public var rawValue: UInt32
  /// Keeps the low 24 bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue & 0xff_ffff }
  /// From any clock that runs evenly, in nanoseconds.
  public init(nanoseconds: Int64) {
    let wrapped = UInt64(bitPattern: nanoseconds) % 64_000_000_000
    self.init(rawValue: UInt32(truncatingIfNeeded: (wrapped << 18) / 1_000_000_000))
  }
  /// Parses an element's data.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 3, let value = bytes.uint24(0) else { return nil }
    self.init(rawValue: value)
  }
  /// Nanoseconds from `earlier` to this one, at most 32 s in either direction.
  public func nanoseconds(since earlier: AbsoluteSendTime) -> Int64 {
    let ticks = Int32(bitPattern: (rawValue &- earlier.rawValue) << 8) >> 8
    return (Int64(ticks) * 1_000_000_000) >> 18
  }
}

/// Time of capture on the capturer's clock, and that clock's offset from the sender's as far as it is known.
public struct AbsoluteCaptureTime: Hashable, Sendable {
  /// When the first sample or the picture of the packet was captured.
  public var timestamp: NTPTime
  /// Capturer's clock minus sender's clock in units of 2^-32 s; nil when the element doesn't say.
  public var estimatedClockOffset: Int64?
  /// Makes a value; see the properties.
  public init(timestamp: NTPTime, estimatedClockOffset: Int64? = nil) {
    self.timestamp = timestamp
    self.estimatedClockOffset = estimatedClockOffset
  }
  /// Parses an element's data of 8 or 16 bytes.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 8 || bytes.count == 16, let time = bytes.uint64(0) else { return nil }
    self.init(timestamp: NTPTime(time), estimatedClockOffset: bytes.uint64(8).map { Int64(bitPattern: $0) })
  }
}

/// Limits of the delay that the sender wishes between capture and display, in units of 10 ms, 0...4095.
public struct PlayoutDelay: Hashable, Sendable {
  /// The least delay, in units of 10 ms.
  public var minimum: UInt16
  /// The largest delay, in units of 10 ms.
  public var maximum: UInt16
  /// Makes a value; only the low 12 bits of each are kept.
  public init(minimum: UInt16, maximum: UInt16) {
    self.minimum = minimum & 0xfff
    self.maximum = maximum & 0xfff
  }
  /// Parses an element's data.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 3, let value = bytes.uint24(0) else { return nil }
    self.init(
      minimum: UInt16(truncatingIfNeeded: value >> 12), maximum: UInt16(truncatingIfNeeded: value & 0xfff))
  }
  /// The element's data as 24 bits.
  public var encoded: UInt32 { UInt32(minimum) << 12 | UInt32(maximum) }
}

/// How a picture must be turned for display (3GPP TS 26.114 section 7.4.5).
public struct VideoOrientation: Hashable, Sendable {
  /// Clockwise degrees by which the receiver must turn the picture: 0, 90, 180 or 270.
  public var rotation: Int
  /// The picture is mirrored.
  public var isFlipped: Bool
  /// It comes from a camera on the back of the device.
  public var isBackCamera: Bool
  /// Makes a value; rotations are rounded down to a multiple of 90 and brought into 0...270.
  public init(rotation: Int, isFlipped: Bool = false, isBackCamera: Bool = false) {
    self.rotation = ((rotation % 360 + 360) % 360) / 90 * 90
    self.isFlipped = isFlipped
    self.isBackCamera = isBackCamera
  }
  /// Parses an element's data.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 1, let byte = bytes.byte(0) else { return nil }
    self.init(rotation: Int(byte & 3) * 90, isFlipped: byte & 4 != 0, isBackCamera: byte & 8 != 0)
  }
  /// The element's data.
  public var encoded: UInt8 {
    UInt8(truncatingIfNeeded: rotation / 90) & 3 | (isFlipped ? 4 : 0) | (isBackCamera ? 8 : 0)
  }
}

extension RTPPacket {
  private func element(_ name: HeaderExtension, _ map: HeaderExtensionMap) -> UnsafeRawBufferPointer? {
    guard let id = map.id(of: name) else { return nil }
    return headerExtension(id)
  }

  private func text(_ name: HeaderExtension, _ map: HeaderExtensionMap) -> String? {
    guard let bytes = element(name, map), !bytes.isEmpty else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The m-line's identification.
  public func mid(_ map: HeaderExtensionMap) -> MID? { text(.mid, map).map { MID($0) } }
  /// The simulcast layer.
  public func rid(_ map: HeaderExtensionMap) -> RID? { text(.rid, map).map { RID($0) } }
  /// The simulcast layer that this retransmission repairs.
  public func repairedRid(_ map: HeaderExtensionMap) -> RID? { text(.repairedRid, map).map { RID($0) } }
  /// Loudness of the sound.
  public func audioLevel(_ map: HeaderExtensionMap) -> AudioLevelExtension? {
    element(.audioLevel, map).flatMap { AudioLevelExtension($0) }
  }
  /// Time of sending.
  public func absoluteSendTime(_ map: HeaderExtensionMap) -> AbsoluteSendTime? {
    element(.absSendTime, map).flatMap { AbsoluteSendTime($0) }
  }
  /// Transport-wide sequence number.
  public func transportSequence(_ map: HeaderExtensionMap) -> UInt16? {
    element(.transportSequence, map).flatMap { $0.count == 2 ? $0.uint16(0) : nil }
  }
  /// Time of capture.
  public func absoluteCaptureTime(_ map: HeaderExtensionMap) -> AbsoluteCaptureTime? {
    element(.absCaptureTime, map).flatMap { AbsoluteCaptureTime($0) }
  }
  /// Wished limits of the delay.
  public func playoutDelay(_ map: HeaderExtensionMap) -> PlayoutDelay? {
    element(.playoutDelay, map).flatMap { PlayoutDelay($0) }
  }
  /// How the picture must be turned.
  public func videoOrientation(_ map: HeaderExtensionMap) -> VideoOrientation? {
    element(.videoOrientation, map).flatMap { VideoOrientation($0) }
  }

  /// Sets the transport-wide sequence number of a packet that has the element already. Only for the buffer's owner.
  @discardableResult
  public func overwriteTransportSequence(_ value: UInt16, _ map: HeaderExtensionMap) -> Bool {
    guard let id = map.id(of: .transportSequence) else { return false }
    return withUnsafeBytes(of: value.bigEndian) { overwriteHeaderExtension(id, with: $0) }
  }

  /// Sets the time of sending of a packet that has the element already. Only for the buffer's owner.
  @discardableResult
  public func overwriteAbsoluteSendTime(_ value: AbsoluteSendTime, _ map: HeaderExtensionMap) -> Bool {
    guard let id = map.id(of: .absSendTime) else { return false }
    return withUnsafeBytes(of: value.rawValue.bigEndian) { overwriteHeaderExtension(id, with: $0.rest(1)) }
  }
}

extension RTPHeaderExtensionWriter {
  /// Appends the m-line's identification, when negotiated. All these return false when nothing was appended.
  @discardableResult
  public mutating func append(mid: MID, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .mid).map { append(id: $0, text: mid.rawValue) } ?? false
  }
  /// Appends the simulcast layer, when negotiated.
  @discardableResult
  public mutating func append(rid: RID, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .rid).map { append(id: $0, text: rid.rawValue) } ?? false
  }
  /// Appends the simulcast layer that a retransmission repairs, when negotiated.
  @discardableResult
  public mutating func append(repairedRid: RID, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .repairedRid).map { append(id: $0, text: repairedRid.rawValue) } ?? false
  }
  /// Appends the loudness, when negotiated.
  @discardableResult
  public mutating func append(audioLevel: AudioLevelExtension, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .audioLevel).map { append(id: $0, value: UInt64(audioLevel.encoded), length: 1) } ?? false
  }
  /// Appends the time of sending, when negotiated.
  @discardableResult
  public mutating func append(absoluteSendTime: AbsoluteSendTime, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .absSendTime).map { append(id: $0, value: UInt64(absoluteSendTime.rawValue), length: 3) } ?? false
  }
  /// Appends the transport-wide sequence number, when negotiated.
  @discardableResult
  public mutating func append(transportSequence: UInt16, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .transportSequence).map { append(id: $0, value: UInt64(transportSequence), length: 2) } ?? false
  }
  /// Appends the time of capture, when negotiated.
  @discardableResult
  public mutating func append(absoluteCaptureTime time: AbsoluteCaptureTime, _ map: HeaderExtensionMap) -> Bool {
    guard let id = map.id(of: .absCaptureTime) else { return false }
    guard let offset = time.estimatedClockOffset else {
      return append(id: id, value: time.timestamp.rawValue, length: 8)
    }
    return withUnsafeBytes(of: (time.timestamp.rawValue.bigEndian, offset.bigEndian)) { append(id: id, bytes: $0) }
  }
  /// Appends limits of the delay, when negotiated.
  @discardableResult
  public mutating func append(playoutDelay: PlayoutDelay, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .playoutDelay).map { append(id: $0, value: UInt64(playoutDelay.encoded), length: 3) } ?? false
  }
  /// Appends the orientation, when negotiated.
  @discardableResult
  public mutating func append(videoOrientation: VideoOrientation, _ map: HeaderExtensionMap) -> Bool {
    map.id(of: .videoOrientation).map { append(id: $0, value: UInt64(videoOrientation.encoded), length: 1) } ?? false
  }
}
