import MediaCore
import PeerConnection
import RTP

/// One subscriber of one track: the outgoing stream and what is sent on it. Confined to the room's loop.
final class Subscription {
  /// The track that is subscribed to.
  let publication: Publication
  /// The outgoing stream.
  let sender: RTPSender
  /// What the subscriber wants of the video.
  var wish: VideoWish

  /// Why the stream is paused; empty while it flows.
  private(set) var pauses: Pauses = []
  /// What the subscriber has been told.
  var isToldPaused = false
  /// The highest layer that fits through the subscriber's network; nil when all do.
  var layerLimit: Int?
  private var countedPackets = 0

  /// Reasons for a pause.
  struct Pauses: OptionSet {
    let rawValue: UInt8
    /// The test API says so.
    static let command = Pauses(rawValue: 1)
    /// It doesn't fit through the subscriber's network.
    static let congestion = Pauses(rawValue: 2)
  }

  private var forwarder: LayerForwarder
  private var reportedLayer: Int?

  init(publication: Publication, sender: RTPSender, wish: VideoWish) {
    self.publication = publication
    self.sender = sender
    self.wish = wish
    forwarder = LayerForwarder(clockRate: publication.codec.clockRate)
    if publication.kind == .audio { forwarder.setTarget(0) }
  }

  /// The layer that the subscriber should get a keyframe of when it asks for one.
  var keyframeLayer: Int { forwarder.currentLayer ?? forwarder.targetLayer ?? 0 }

  /// True between the first packet of another layer and the report of its clock.
  var hasSwitched: Bool { forwarder.currentLayer != reportedLayer }

  /// Pauses the stream for a reason, or ends that reason; `choose` must follow.
  func setPaused(_ isPaused: Bool, _ reason: Pauses) {
    if isPaused { pauses.insert(reason) } else { pauses.remove(reason) }
  }

  /// Packets that were sent since the last call.
  func takePacketCount() -> Int {
    let all = sender.packetCount
    defer { countedPackets = all }
    return max(0, all &- countedPackets)
  }

  /// Chooses among the layers. Returns the one of which a keyframe is needed, if any.
  func choose(of layers: [LayerState], now: Instant) -> Int? {
    guard pauses.isEmpty else {
      forwarder.setTarget(nil)
      return nil
    }
    guard publication.kind == .video else {
      forwarder.setTarget(wish.isDisabled ? nil : 0)
      return nil
    }
    let target = LayerChoice.layer(of: layers, wish: wish, limit: layerLimit ?? .max, now: now)
    if target != forwarder.targetLayer { forwarder.setTarget(target) }
    guard let target, layers.indices.contains(target), sender.isSending else { return nil }
    forwarder.maximumTemporalLayer = LayerChoice.temporalLayer(of: layers[target], wish: wish)
    return forwarder.layerAwaitingKeyframe
  }

  /// Passes nothing on until `choose` is called again.
  func pause() { forwarder.setTarget(nil) }

  /// `isRedundant`: the packet carries older sound again (RFC 2198).
  func forwardAudio(_ packet: RTPPacket, _ described: ForwardedPacket, isRedundant: Bool, now: Instant) {
    guard let numbers = numbers(for: described, now: now) else { return }
    guard !numbers.isFiller else { return fill(packet, numbers) }
    if isRedundant {
      sender.forward(
        redundant: packet, from: publication.receiver, sequenceNumber: numbers.sequenceNumber,
        timestamp: numbers.timestamp, marker: packet.marker)
      return
    }
    sender.forward(
      packet, from: publication.receiver, sequenceNumber: numbers.sequenceNumber, timestamp: numbers.timestamp,
      marker: packet.marker)
  }

  /// The numbers under which a packet is passed on; nil when it isn't.
  func numbers(for packet: ForwardedPacket, now: Instant) -> OutgoingNumbers? {
    // A stream that can't flow yet begins at the next keyframe, not in the middle.
    guard sender.isSending else { return nil }
    return forwarder.forward(packet, now: now)
  }

  func forwardVideo(
    _ packet: RTPPacket, _ numbers: OutgoingNumbers, descriptor: UnsafeRawBufferPointer, payloadOffset: Int
  ) {
    sender.forward(
      packet, from: publication.receiver, sequenceNumber: numbers.sequenceNumber, timestamp: numbers.timestamp,
      marker: packet.marker, payloadPrefix: descriptor, payloadOffset: payloadOffset)
  }

  /// Passes a packet on with its payload as it is.
  func forwardVideo(_ packet: RTPPacket, _ numbers: OutgoingNumbers) {
    sender.forward(
      packet, from: publication.receiver, sequenceNumber: numbers.sequenceNumber, timestamp: numbers.timestamp,
      marker: packet.marker)
  }

  /// Fills a sequence number that had been kept free with an empty packet.
  func fill(_ packet: RTPPacket, _ numbers: OutgoingNumbers) {
    sender.forward(
      packet, from: nil, sequenceNumber: numbers.sequenceNumber, timestamp: numbers.timestamp, marker: false,
      payloadOffset: packet.payloadCount)
  }

  // MARK: Clocks

  /// Notes the publisher's clock for later switches.
  func note(_ report: Publication.SenderReport, layer: Int) {
    forwarder.noteSenderReport(
      layer: layer, ssrc: report.ssrc, ntp: report.ntp, rtpTimestamp: report.rtpTimestamp)
  }

  /// Passes the publisher's clock on to the subscriber, when this layer feeds it.
  func report(_ report: Publication.SenderReport, layer: Int) {
    guard let timestamp = forwarder.mapTimestamp(report.rtpTimestamp, layer: layer, ssrc: report.ssrc) else { return }
    reportedLayer = layer
    sender.updateSource(ntp: report.ntp, rtpTimestamp: timestamp, at: report.at)
  }
}
