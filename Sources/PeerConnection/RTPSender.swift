import MediaCore
import Platform
import RTP

// Sendable by confinement: made by its connection and used on that connection's loop only.
/// One outgoing track, of one stream or several simulcast layers. Confined to the loop.
public final class RTPSender: @unchecked Sendable {
  /// Codec that is sent.
  public let codec: Codec
  /// `a=msid` stream.
  public let streamID: String
  /// `a=msid` track.
  public let trackID: String
  /// Simulcast layers; empty for a single stream.
  public let layers: [RID]
  /// Section; nil until an exchange gave it one.
  public private(set) var mid: MID?
  /// What is done to each encoded frame before it is cut into packets (W3C's encoded transform); nil instead of a frame: it is not sent.
  public var transform: ((UnsafeRawBufferPointer) -> MediaBuffer?)?
  /// Round-trip time by the peer's last report; nil before.
  public private(set) var roundTripTime: Duration?
  /// The fraction of packets lost, 0...1, by the peer's last report.
  public private(set) var fractionLost = 0.0

  let id: LocalTrack.ID
  let streams: [SendStream]
  /// What was agreed; nil while the peer does not receive this track.
  private(set) var context: SendContext?
  private weak var engine: MediaEngine?

  init(_ track: LocalTrack, engine: MediaEngine, random: inout SeededRandom) {
    id = track.id
    codec = track.codec
    streamID = track.stream.stream
    trackID = track.stream.track ?? ""
    layers = track.encodings.compactMap(\.rid)
    var made: [SendStream] = []
    for encoding in track.encodings { made.append(SendStream(encoding, codec: track.codec, random: &random)) }
    streams = made
    self.engine = engine
  }

  /// Takes over what was negotiated for its section; nil when it has none.
  func take(_ section: NegotiatedMedia?) {
    guard let section, section.sends, let type = section.sendPayloads.type(of: codec) else {
      context = nil
      return
    }
    mid = section.mid
    context = SendContext(
      payloadType: type, retransmissionType: section.sendPayloads.retransmission(of: type),
      redundancyType: section.sendPayloads.redundancy(of: type), extensions: section.extensions, mid: section.mid)
  }

  /// Takes what a report of the peer says of one of its streams.
  func hear(_ block: RTCPReportBlock, roundTripTime: Duration?) {
    fractionLost = Double(block.fractionLost) / 256
    if let roundTripTime { self.roundTripTime = roundTripTime }
  }

  /// Nothing is sent from now on.
  func stop() { (context, engine) = (nil, nil) }

  /// Whether the peer receives this track.
  var isAgreed: Bool { context != nil }

  /// Kind of media.
  public var kind: MediaKind { codec.kind }
  /// Media source of the single stream, or of the first layer.
  public var ssrc: SSRC { streams.first?.ssrc ?? SSRC(0) }
  /// Source of its retransmissions.
  public var retransmissionSSRC: SSRC { streams.first?.retransmissionSSRC ?? SSRC(0) }
  /// Negotiated payload type; nil while the peer does not receive this track.
  public var payloadType: PayloadType? { context?.payloadType }
  /// True when the peer receives this track and the transport is connected: sending makes sense.
  public var isSending: Bool { isAgreed && engine?.canSend == true }
  /// Packets sent, of all layers, without retransmissions.
  public var packetCount: Int { streams.reduce(0) { $0 + Int($1.packetCount) } }
  /// Bytes of payload in them.
  public var byteCount: Int { streams.reduce(0) { $0 + Int($1.octetCount) } }
  /// Packets sent again because the peer asked for them.
  public var retransmittedCount: Int { streams.reduce(0) { $0 + $1.retransmittedCount } }

  /// Packetizes and sends one frame: a VP8 or VP9 frame, or an Opus packet. `capturedAt` is `MonotonicClock.now` time and makes
  /// the sender reports true; `audioLevel` is in -dBov, 0 (loudest) ... 127 (RFC 6464); `layer` is a position in
  /// `layers`. False when it could not be sent, or not wholly.
  @discardableResult
  public func send(
    frame: UnsafeRawBufferPointer, rtpTimestamp: UInt32, capturedAt: Instant, audioLevel: UInt8? = nil,
    isVoice: Bool = false, layer: Int = 0
  ) -> Bool {
    guard isSending, let context, let engine, let now = engine.host?.now, streams.indices.contains(layer) else {
      return false
    }
    let level = audioLevel.map { AudioLevelExtension(voiceActivity: isVoice, level: $0) }
    func send(_ sent: UnsafeRawBufferPointer) -> Bool {
      streams[layer].send(
        frame, as: sent, timestamp: rtpTimestamp, capturedAt: capturedAt, level: level, context: context,
        through: engine, at: now)
    }
    guard let transform else { return send(frame) }
    guard let changed = transform(frame) else { return false }
    return send(changed.bytes)
  }

  /// Forwards a received packet under this sender's SSRC and payload type, with a new sequence number and
  /// timestamp. When `payloadPrefix` is given, it stands before the payload from `payloadOffset` on (a rewritten
  /// payload descriptor). Audio level, orientation and capture time are carried over when `receiver` is given and
  /// both sides negotiated them. False when it could not be sent.
  @discardableResult
  public func forward(
    _ packet: RTPPacket, from receiver: RTPReceiver?, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool,
    payloadPrefix: UnsafeRawBufferPointer? = nil, payloadOffset: Int = 0
  ) -> Bool {
    let payload = packet.payload
    guard payloadOffset >= 0, payloadOffset <= payload.count else { return false }
    return forward(packet, from: receiver, sequenceNumber, timestamp, marker) { buffer in
      if let payloadPrefix, !buffer.append(payloadPrefix) { return false }
      return buffer.append(UnsafeRawBufferPointer(rebasing: payload[payloadOffset...]))
    }
  }

  /// Forwards a packet of redundant sound (RFC 2198): as it is where the peer takes redundancy, else its primary block
  /// alone. For the rest see the other `forward`. False also when the payload makes no sense.
  @discardableResult
  public func forward(
    redundant packet: RTPPacket, from receiver: RTPReceiver?, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool
  ) -> Bool {
    let payload = packet.payload
    guard let context, let red = REDDepacketizer(payload) else { return false }
    guard let type = context.redundancyType else {
      return forward(packet, from: receiver, sequenceNumber, timestamp, marker) { buffer in
        buffer.append(red.bytes(of: red.primary))
      }
    }
    return forward(packet, from: receiver, sequenceNumber, timestamp, marker, type: type) { buffer in
      red.withHeaders(payloadType: context.payloadType) { buffer.append($0) }
        && buffer.append(UnsafeRawBufferPointer(rebasing: payload[red.headerCount...]))
    }
  }

  private func forward(
    _ packet: RTPPacket, from receiver: RTPReceiver?, _ sequence: UInt16, _ timestamp: UInt32, _ marker: Bool,
    type: PayloadType? = nil, _ appendPayload: (MediaBuffer) -> Bool
  ) -> Bool {
    guard isSending, var context, let engine, let now = engine.host?.now, let stream = streams.first else {
      return false
    }
    if let type { context.payloadType = type }
    let source = receiver.map { (packet: packet, extensions: $0.extensions) }
    guard let buffer = stream.begin(sequence, timestamp, marker, nil, source, context, engine, now) else {
      return false
    }
    let head = buffer.count
    guard appendPayload(buffer) else { return false }
    return stream.finish(buffer, sequence, buffer.count - head, engine, now)
  }

  /// For forwarding: at `now` (`MonotonicClock.now` time), this sender's timestamp `rtpTimestamp` belongs to `ntp` on
  /// the publisher's clock. From then on sender reports are sent, advanced by the time that passed, so that the
  /// tracks of one publisher stay in sync.
  public func updateSource(ntp: NTPTime, rtpTimestamp: UInt32, at now: Instant) {
    streams.first?.setSource(ntp: ntp, rtp: rtpTimestamp, at: now)
  }
}
