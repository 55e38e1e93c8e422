import Logging
import MediaCore
import PeerConnection
import RTP
import Signaling
import Transport

/// One published track: its stream or simulcast layers as they come in, and everybody who receives it. Confined to
/// the room's loop.
final class Publication {
  /// `TR_…`
  let sid: String
  /// Sound or pictures.
  let kind: MediaKind
  /// The sid of who publishes it.
  let owner: String
  /// When its owner last spoke; `distantPast` for never.
  var ownerSpokenAt = Instant.distantPast
  /// True while the publisher has muted the track: nothing is passed on.
  private(set) var isMuted: Bool
  /// Whether it is a shared screen.
  let isScreen: Bool
  /// The section of the publisher's connection that carries it.
  let receiver: RTPReceiver
  /// The layers, the smallest first; one for sound and plain video.
  private(set) var layers: [LayerState]
  /// Its place in the order in which the room's tracks were published.
  let position: Int

  /// What the publisher was told to send; packets of another codec are passed over.
  let codec: Codec

  private let rids: [RID]
  private var subscriptions: [Subscription] = []
  private var sources: [Source] = []
  private var requests: [KeyframeRequest]
  private var speaker = SpeakerDetector()
  private let logger: Logger
  /// The layers that flow, as bits.
  private var flowingLayers: UInt8 = 0
  private let descriptor = VP8DescriptorScratch()

  /// Which layer a stream carries.
  private struct Source {
    var ssrc: UInt32
    var layer: Int
  }

  /// A layer's wish for a keyframe, and the publisher's clock against the layer's.
  private struct KeyframeRequest {
    var isWanted = false
    var lastSent = Instant.distantPast
    var report: SenderReport?
  }

  struct SenderReport {
    var ssrc: UInt32
    var ntp: NTPTime
    var rtpTimestamp: UInt32
    var at: Instant
  }

  /// Keyframes are expensive for the publisher and for the network: not more than one request in this time,
  /// however many subscribers ask.
  static let keyframeInterval = Duration.milliseconds(500)
  /// Streams that are told apart in one track; more are somebody's mischief.
  private static let sourceLimit = 16

  init(_ route: TrackRoute, receiver: RTPReceiver, logger: Logger) {
    let info = route.info
    sid = info.sid
    isMuted = info.muted
    isScreen = info.source == .screenShare
    codec = route.codec
    position = route.position
    owner = route.owner
    self.receiver = receiver
    self.logger = logger
    kind = receiver.kind
    rids = kind == .video ? Self.sorted(receiver.rids) : []
    let count = max(1, min(rids.count, LayerForwarder.layerLimit))
    let sizes = info.layers.map { LayerState(width: Int($0.width), height: Int($0.height)) }
      .sorted { $0.width * $0.height < $1.width * $1.height }
    layers =
      sizes.count == count
      ? sizes : Array(repeating: LayerState(width: Int(info.width), height: Int(info.height)), count: count)
    if sizes.count != count, count > 1 { layers = Array(repeating: LayerState(), count: count) }
    requests = Array(repeating: KeyframeRequest(), count: count)
  }

  /// LiveKit's SDKs name the layers q, h, f from the smallest up, and offer them in either order.
  private static func sorted(_ rids: [RID]) -> [RID] {
    let known = ["q", "h", "f"]
    func rank(_ rid: RID) -> Int { known.firstIndex(of: rid.rawValue) ?? known.count }
    return rids.sorted { rank($0) < rank($1) }
  }

  // MARK: Subscriptions

  /// Begins to pass packets on to a subscriber.
  func add(_ subscription: Subscription, now: Instant) {
    for (layer, request) in requests.enumerated() {
      guard let report = request.report else { continue }
      subscription.note(report, layer: layer)
    }
    subscriptions.append(subscription)
    choose(for: subscription, now: now)
  }

  /// Passes nothing on to a subscriber any more.
  func remove(_ subscription: Subscription) { subscriptions.removeAll { $0 === subscription } }

  // MARK: Changes by the publisher

  /// Mutes or unmutes.
  func setMuted(_ muted: Bool, now: Instant) {
    isMuted = muted
    if muted { _ = speaker.reset() }
    for subscription in subscriptions { choose(for: subscription, now: now) }
  }

  // MARK: Packets

  /// Takes a packet of the publisher and passes it on. `now` is when it came.
  func receive(_ packet: RTPPacket, rid: RID?, now: Instant) {
    let ssrc = packet.ssrc.rawValue
    guard let layer = layer(of: ssrc, rid) else { return }
    switch kind {
    case .audio: receiveAudio(packet, now: now)
    case .video: receiveVideo(packet, ssrc: ssrc, layer: layer, now: now)
    }
  }

  private func receiveAudio(_ packet: RTPPacket, now: Instant) {
    guard packet.isPaddingOnly || receiver.mediaCodec(of: packet.payloadType) == codec else { return }
    layers[0].note(startsFrame: true, temporalLayer: 0, bytes: packet.payloadCount &+ Self.overhead, now: now)
    guard !isMuted else { return }
    if let level = packet.audioLevel(receiver.extensions) {
      speaker.note(level: level.level, timestamp: packet.timestamp)
    }
    let described = ForwardedPacket(
      ssrc: packet.ssrc.rawValue, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp,
      isPadding: packet.isPaddingOnly)
    let isRedundant = receiver.codec(of: packet.payloadType) == nil
    for subscription in subscriptions {
      subscription.forwardAudio(packet, described, isRedundant: isRedundant, now: now)
    }
  }

  private func receiveVideo(_ packet: RTPPacket, ssrc: UInt32, layer: Int, now: Instant) {
    let payload = packet.payload
    let isOurs = receiver.codec(of: packet.payloadType) == codec
    let parsed = packet.isPaddingOnly || !isOurs ? nil : codec.depacketize(payload)
    // Neither padding nor the codec: a packet that nobody could use.
    guard packet.isPaddingOnly || parsed != nil else { return }
    var described = ForwardedPacket(
      layer: layer, ssrc: ssrc, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp,
      isPadding: parsed == nil)
    if let parsed {
      described.startsFrame = parsed.startsFrame
      // A keyframe of H.264 begins with its parameter sets, which say how large it is.
      described.startsKeyframe = parsed.startsFrame && (parsed.isKeyframe || parsed.width > 0)
      if codec == .vp8 {
        // Only its numbers are written anew, so only its layers can be left out.
        described.picture = PictureNumbers(
          pictureID: parsed.pictureID, tl0PictureIndex: parsed.baseLayerIndex, keyIndex: parsed.keyIndex)
        described.temporalLayer = parsed.temporalLayer ?? 0
        described.allowsTemporalSwitch = parsed.isLayerSync
      }
      layers[layer].note(
        // Not every codec says where a frame begins, but each where it ends.
        startsFrame: packet.marker, temporalLayer: described.temporalLayer,
        bytes: packet.payloadCount &+ Self.overhead, now: now)
      if packet.marker { for other in layers.indices where other != layer { layers[other].noteFrameElsewhere() } }
      if described.startsKeyframe { requests[layer].isWanted = false }
    } else {
      described.startsFrame = false
      described.startsKeyframe = false
    }
    guard !isMuted else { return }
    for subscription in subscriptions {
      guard let numbers = subscription.numbers(for: described, now: now) else { continue }
      if subscription.hasSwitched, let report = requests[layer].report, report.ssrc == ssrc {
        subscription.report(report, layer: layer)
      }
      guard let parsed, let first = payload.first, !numbers.isFiller else {
        subscription.fill(packet, numbers)
        continue
      }
      guard codec == .vp8 else {
        subscription.forwardVideo(packet, numbers)
        continue
      }
      let prefix = descriptor.write(first: first, parsed: parsed, numbers: numbers.picture)
      subscription.forwardVideo(packet, numbers, descriptor: prefix, payloadOffset: parsed.headerCount)
    }
  }

  /// Takes a sender report of the publisher.
  func receiveReport(rid: RID?, ntp: NTPTime, rtpTimestamp: UInt32, at now: Instant) {
    let layer = rid.flatMap { rids.firstIndex(of: $0) } ?? 0
    guard requests.indices.contains(layer), let source = sources.last(where: { $0.layer == layer }) else { return }
    let report = SenderReport(ssrc: source.ssrc, ntp: ntp, rtpTimestamp: rtpTimestamp, at: now)
    requests[layer].report = report
    for subscription in subscriptions {
      subscription.note(report, layer: layer)
      subscription.report(report, layer: layer)
    }
  }

  private func layer(of ssrc: UInt32, _ rid: RID?) -> Int? {
    for source in sources where source.ssrc == ssrc { return source.layer }
    let layer: Int
    if rids.isEmpty {
      layer = 0
    } else {
      // Without its rid a stream can't be told from the others; the first packets carry it.
      guard let rid, let index = rids.firstIndex(of: rid), index < layers.count else { return nil }
      layer = index
    }
    if sources.count >= Self.sourceLimit { sources.removeFirst() }
    sources.append(Source(ssrc: ssrc, layer: layer))
    return layer
  }

  // MARK: Layers and keyframes

  /// Looks again at what every subscriber gets, and asks for the keyframes that are needed.
  func tick(now: Instant) {
    var flowing: UInt8 = 0
    for layer in layers.indices where layers[layer].isFlowing(at: now) { flowing |= 1 << UInt8(layer) }
    if flowing != flowingLayers {
      flowingLayers = flowing
      let names = layers.indices.filter { flowing & 1 << UInt8($0) != 0 }
      logger.debug("layers that flow", metadata: ["track": "\(sid)", "layers": "\(names)"])
    }
    for subscription in subscriptions { choose(for: subscription, now: now) }
    for layer in requests.indices where requests[layer].isWanted { requestKeyframe(layer: layer, now: now) }
  }

  /// Sets the layer that a subscriber shall get.
  func choose(for subscription: Subscription, now: Instant) {
    guard !isMuted else { return subscription.pause() }
    if let layer = subscription.choose(of: layers, now: now) { requestKeyframe(layer: layer, now: now) }
  }

  /// Asks the publisher for a keyframe of a layer, now or as soon as it may be asked again.
  func requestKeyframe(layer: Int, now: Instant) {
    guard kind == .video, requests.indices.contains(layer), !isMuted else { return }
    requests[layer].isWanted = true
    let last = requests[layer].lastSent
    guard now - last >= Self.keyframeInterval else { return }
    requests[layer].lastSent = now
    requests[layer].isWanted = false
    receiver.requestKeyframe(rid: rids.isEmpty ? nil : rids[layer])
  }

  /// Bytes of a packet besides its payload: RTP with extensions, SRTP's tag, UDP and IP.
  private static let overhead = 60

  /// Bits per second of sound, or of the smallest layer; nil when it isn't known.
  var bitsPerSecond: Int? { isMuted ? nil : layers.first?.bitsPerSecond }

  /// Bits per second of each layer up to the one that is wanted; nil for those that don't flow.
  func layerRates(upTo wish: VideoWish, now: Instant) -> [Int?] {
    let wanted = LayerChoice.wantedLayer(layers, wish)
    return layers.prefix(wanted + 1).map { $0.isFlowing(at: now) ? $0.bitsPerSecond : nil }
  }

  // MARK: Speaking

  /// Loudness of speech, 0...1; 0 while there is none.
  var speakerLevel: Float { speaker.level }

  /// Ends an interval of the speaker detection.
  func endSpeakerInterval(_ interval: Duration) {
    guard kind == .audio, !isMuted else { return }
    _ = speaker.endInterval(interval)
  }
}
