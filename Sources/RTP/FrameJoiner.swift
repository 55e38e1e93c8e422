import MediaCore

extension Codec {
  /// What the payload of a packet says, by the codec's depacketizer; nil when it makes no sense, or when frames of the
  /// codec can't be made.
  public func depacketize(_ payload: UnsafeRawBufferPointer) -> VideoPayload? {
    switch self {
    case .vp8: VP8Depacketizer.parse(payload)
    case .vp9: VP9Depacketizer.parse(payload)
    case .h264: H264Depacketizer.parse(payload)
    case .av1: AV1Depacketizer.parse(payload)
    case .h265: H265Depacketizer.parse(payload)
    case .opus, .g722, .pcmu, .pcma: nil
    }
  }
}

/// Joins the payloads of one frame's packets to what a decoder takes: a VP8 frame, a VP9 frame or superframe, an access
/// unit of H.264 or H.265 with start codes, a temporal unit of AV1.
struct FrameJoiner: Sendable {
  private let codec: Codec
  /// What has come of the frame.
  private(set) var bytes: [UInt8] = []
  /// Where the spatial layers of a VP9 picture begin.
  private var layers: [Int] = []
  /// Spatial layers in the frame; 1 for what has none.
  var layerCount: Int { max(1, layers.count) }
  /// The header of the unit of H.264 or H.265 that goes on in the next packet; nil: none does.
  private var openUnit: NALPacket.Header?
  /// The part of a unit of AV1 that goes on in the next packet; nil: none does.
  private var fragment: [UInt8]?

  init(codec: Codec) { self.codec = codec }

  /// Begins a frame.
  mutating func begin(with prefix: [UInt8] = []) {
    bytes.removeAll(keepingCapacity: true)
    layers.removeAll(keepingCapacity: true)
    openUnit = nil
    fragment = nil
    bytes += prefix
    // Decoders of AV1 tell temporal units apart by a delimiter, which isn't sent.
    if codec == .av1 { bytes += [0x12, 0] }
  }

  /// Takes the next packet's payload, which `parsed` was made of. False when it doesn't go on where the one before ended.
  mutating func add(_ payload: UnsafeRawBufferPointer, _ parsed: VideoPayload) -> Bool {
    switch codec {
    case .vp9:
      if parsed.startsPart { layers.append(bytes.count) }
      bytes.append(contentsOf: payload.rest(parsed.headerCount))
      return !layers.isEmpty && layers.count <= VP9Superframe.maximumFrames
    case .h264: return addUnits(payload, H264Depacketizer.packet(payload))
    case .h265: return addUnits(payload, H265Depacketizer.packet(payload))
    case .av1: return addElements(payload)
    default:
      bytes.append(contentsOf: payload.rest(parsed.headerCount))
      return true
    }
  }

  /// Completes the frame; false when a part of it is missing.
  mutating func finish() -> Bool {
    guard fragment == nil, openUnit == nil else { return false }
    if layers.count > 1 {
      let ends = layers.dropFirst() + [bytes.count]
      bytes += VP9Superframe.index(zip(layers, ends).map { $1 - $0 })
    }
    return !bytes.isEmpty
  }

  private mutating func addUnits(_ payload: UnsafeRawBufferPointer, _ packet: NALPacket?) -> Bool {
    switch packet {
    case nil: return false
    case .unit:
      // A fragmented unit that never ended.
      guard openUnit == nil else { return false }
      bytes += NALUnit.startCode
      bytes.append(contentsOf: payload)
      return true
    case .aggregate(let from):
      guard openUnit == nil else { return false }
      return NALPacket.eachUnit(payload, from: from) { unit in
        bytes += NALUnit.startCode
        bytes.append(contentsOf: unit)
      }
    case .fragment(let header, let isFirst, let isLast, let from):
      if isFirst {
        guard openUnit == nil else { return false }
        bytes += NALUnit.startCode
        bytes.append(header.first)
        if let second = header.second { bytes.append(second) }
      } else if openUnit != header {
        return false
      }
      bytes.append(contentsOf: payload.rest(from))
      openUnit = isLast ? nil : header
      return true
    }
  }

  private mutating func addElements(_ payload: UnsafeRawBufferPointer) -> Bool {
    guard let header = payload.byte(0) else { return false }
    var continues = header & 0x80 != 0
    guard continues == (fragment != nil) else { return false }
    let goesOn = header & 0x40 != 0
    var isAudio = true
    let isWhole = AV1Depacketizer.eachElement(payload) { element in
      if continues {
        fragment?.append(contentsOf: element)
      } else {
        isAudio = endUnit() && isAudio
        fragment = Array(element)
      }
      continues = false
    }
    guard isWhole, isAudio else { return false }
    return goesOn || endUnit()
  }

  private mutating func endUnit() -> Bool {
    guard let unit = fragment else { return true }
    fragment = nil
    return unit.withUnsafeBytes { unit in
      guard let unit = AV1OBU(unit) else { return false }
      switch unit.kind {
      case .temporalDelimiter, .unwanted: break
      case .sequenceHeader, .other: unit.append(to: &bytes)
      }
      return true
    }
  }
}
