import MediaCore
import RTP
import SDP

/// What the negotiation machine accepts and offers; the same for its whole life.
struct NegotiationPolicy: Hashable, Sendable {
  /// Accepted codecs, in order of preference for offers.
  var codecs: [Codec] = [.vp8, .opus]
  /// Whether RTX (RFC 4588) is accepted and offered.
  var usesRetransmission = true
  /// Whether transport-wide feedback is accepted and offered.
  var usesTransportFeedback = false
  /// Whether REMB is accepted and offered.
  var usesMaximumBitrate = false
  /// What an answer says to `actpass`.
  var answererSetup = SetupRole.active
  /// Whether new tracks take over the sections of removed ones.
  var reusesSections = true
  /// `a=max-message-size` in bytes.
  var maximumMessageSize: UInt64 = 262_144
  /// `a=sctp-port`; both sides use the same one inside of DTLS.
  static let sctpPort: UInt16 = 5000

  /// The extensions that are accepted and offered for a kind, in the order in which an offer numbers them.
  func extensions(for kind: MediaKind) -> [HeaderExtension] {
    var list: [HeaderExtension] = [.mid]
    if kind == .audio { list.append(.audioLevel) }
    if usesTransportFeedback { list.append(.transportSequence) }
    if usesMaximumBitrate || usesTransportFeedback { list.append(.absSendTime) }
    list.append(.absCaptureTime)
    if kind == .video { list += [.rid, .repairedRid, .videoOrientation, .playoutDelay] }
    return list
  }

  /// The feedback that is accepted and offered for a codec, in order.
  func feedback(for codec: Codec) -> [String] {
    var list: [String] = []
    if usesTransportFeedback { list.append("transport-cc") }
    if codec.kind == .video && usesMaximumBitrate { list.append("goog-remb") }
    list.append("nack")
    if codec.kind == .video { list += ["nack pli", "ccm fir"] }
    return list
  }

  /// Whether an offered form of a codec can be received. A codec that can't be decoded is received, too: a LiveKit
  /// server takes what one subscriber refuses away from all.
  static func accepts(_ codec: Codec, _ parameters: FormatParameters?) -> Bool {
    // RFC 6184 section 6.4: interleaved.
    codec != .h264 || parameters?.value(of: "packetization-mode") != "2"
  }
}

extension Codec {
  /// The `a=rtpmap` line of the codec under a payload type (RFC 7587 section 7, RFC 7741 section 6.2).
  func rtpMap(_ type: PayloadType) -> RTPMap {
    RTPMap(
      payloadType: type, name: rawValue, clockRate: Int(clockRate.hertz),
      channels: CodecTable.row(of: self).flatMap { $0.channels > 1 ? $0.channels : nil })
  }

  /// The codec that an `a=rtpmap` line names.
  init?(_ map: RTPMap) {
    guard let codec = Codec.allCases.first(where: { map.isEncoding($0.rawValue, clockRate: Int($0.clockRate.hertz)) })
    else { return nil }
    // RFC 7587 section 7: always written as two channels.
    if codec == .opus, map.channels != 2 { return nil }
    if let row = CodecTable.row(of: codec), row.channels == 1, map.channels ?? 1 != 1 { return nil }
    self = codec
  }
}
