import MediaCore

/// Decides for one subscriber of one track which packets are passed on, and with which numbers, so that the
/// subscriber sees a single uninterrupted RTP stream (RFC 3550 section 5.1) whatever simulcast layer feeds it.
///
/// - It switches layers only where decoding can start (a keyframe; for sound anywhere).
/// - Packets that are left out on purpose (padding, temporal layers that aren't wanted) leave no hole in the
///   sequence numbers; packets lost on the way do, so that the subscriber asks for them.
/// - VP8's picture id, TL0PICIDX and KEYIDX (RFC 7741 section 4.2) go on across switches.
///
/// Pure: no clock, no randomness; the output numbers start where the publisher's were.
struct LayerForwarder {
  /// The layer that is wanted; nil pauses the stream.
  private(set) var targetLayer: Int?
  /// The layer that feeds the subscriber now; nil before the first keyframe and while the stream is paused.
  private(set) var currentLayer: Int?
  /// Temporal layers above this one are left out.
  var maximumTemporalLayer = UInt8.max

  private let clockRate: ClockRate
  private var active = StreamMapping()
  /// The stream before the last switch: its late packets still fit into the holes that they left.
  private var retired = StreamMapping()
  private var position: StreamMapping.Position?
  private var layers = [LayerState](repeating: LayerState(), count: LayerForwarder.layerLimit)

  /// Layers are 0..<4: publishers send three at most.
  static let layerLimit = 4

  private struct LayerState {
    var newest: (ssrc: UInt32, sequenceNumber: UInt16)?
    var clock: (ssrc: UInt32, ntp: NTPTime, rtpTimestamp: UInt32)?
  }

  /// A forwarder for streams of this RTP clock rate; it passes nothing on until a target is set.
  init(clockRate: ClockRate) { self.clockRate = clockRate }

  /// Sets the wanted layer; nil pauses at once. Starting and switching wait for a keyframe.
  mutating func setTarget(_ layer: Int?) {
    targetLayer = layer.map { min(max(0, $0), Self.layerLimit - 1) }
    if layer == nil { currentLayer = nil }
  }

  /// The layer of which a keyframe is needed now; nil when the stream is as wanted.
  var layerAwaitingKeyframe: Int? { targetLayer == currentLayer ? nil : targetLayer }

  /// Notes a sender report of a layer: the publisher's clock against the layer's RTP clock (RFC 3550 section 6.4.1).
  mutating func noteSenderReport(layer: Int, ssrc: UInt32, ntp: NTPTime, rtpTimestamp: UInt32) {
    guard layers.indices.contains(layer) else { return }
    layers[layer].clock = (ssrc, ntp, rtpTimestamp)
  }

  /// The subscriber's RTP time for an RTP time of the layer that feeds it; nil when another one does. For sender
  /// reports that keep the publisher's clock.
  func mapTimestamp(_ timestamp: UInt32, layer: Int, ssrc: UInt32) -> UInt32? {
    guard active.isStarted, currentLayer == layer, active.ssrc == ssrc else { return nil }
    return timestamp &+ active.timestampOffset
  }

  /// What becomes of a packet; nil when it isn't passed on.
  mutating func forward(_ packet: ForwardedPacket, now: Instant) -> OutgoingNumbers? {
    guard layers.indices.contains(packet.layer) else { return nil }
    let isInOrder = note(packet)
    guard targetLayer != nil else { return nil }
    if packet.layer != currentLayer || packet.ssrc != active.ssrc {
      // A keyframe whose first packet comes late has lost its other packets already.
      guard isInOrder, isSwitchPoint(packet) else { return late(packet) }
      switchStream(to: packet, now: now)
    }
    let extended = active.extend(packet.sequenceNumber)
    guard extended > active.highest else { return late(packet) }
    guard
      let numbers = active.forward(packet, extended: extended, maximumTemporalLayer: maximumTemporalLayer)
    else { return nil }
    position = active.position(after: numbers, now: now)
    return numbers
  }

  /// Keeps the newest number of each layer; false when the packet is older than that.
  private mutating func note(_ packet: ForwardedPacket) -> Bool {
    if let newest = layers[packet.layer].newest, newest.ssrc == packet.ssrc,
      Int16(bitPattern: packet.sequenceNumber &- newest.sequenceNumber) <= 0
    {
      return false
    }
    layers[packet.layer].newest = (packet.ssrc, packet.sequenceNumber)
    return true
  }

  private func isSwitchPoint(_ packet: ForwardedPacket) -> Bool {
    guard packet.startsKeyframe, !packet.isPadding, let targetLayer else { return false }
    guard let currentLayer else { return packet.layer <= targetLayer }
    // The same layer under a new SSRC: the publisher began anew. Under the former one: a straggler.
    if packet.layer == currentLayer { return packet.ssrc != retired.ssrc }
    // The wanted layer, or one that is nearer to it.
    return currentLayer < targetLayer
      ? packet.layer > currentLayer && packet.layer <= targetLayer
      : packet.layer < currentLayer && packet.layer >= targetLayer
  }

  private mutating func switchStream(to packet: ForwardedPacket, now: Instant) {
    let timestamp = timestampAfterSwitch(to: packet, now: now)
    swap(&active, &retired)
    active.start(with: packet, after: position, timestamp: timestamp)
    currentLayer = packet.layer
  }

  /// The RTP time of the first packet after a switch: always later than the last one.
  private func timestampAfterSwitch(to packet: ForwardedPacket, now: Instant) -> UInt32 {
    guard let position, active.isStarted else { return packet.timestamp }
    let elapsed = ticks(max(.zero, now - position.arrival).nanoseconds)
    let byArrival = max(1, elapsed)
    let isSameStream = active.ssrc == packet.ssrc
    var step = byArrival
    if isSameStream {
      step = Int64(Int32(bitPattern: packet.timestamp &+ active.timestampOffset &- position.timestamp))
    } else if let new = clock(packet.layer, packet.ssrc), let old = clock(active.layer, active.ssrc) {
      // Both streams against the publisher's one clock: exact, whatever the network did to arrival times.
      let between = ticks(new.ntp.nanoseconds &- old.ntp.nanoseconds)
      let mapped =
        old.rtpTimestamp &+ UInt32(truncatingIfNeeded: between) &+ (packet.timestamp &- new.rtpTimestamp)
        &+ active.timestampOffset
      step = Int64(Int32(bitPattern: mapped &- position.timestamp))
      // Reports that contradict the arrival by seconds are worth nothing.
      if abs(step &- elapsed) > 2 * Int64(clockRate.hertz) { step = byArrival }
    }
    return position.timestamp &+ UInt32(truncatingIfNeeded: max(1, step))
  }

  private func clock(_ layer: Int, _ ssrc: UInt32) -> (ssrc: UInt32, ntp: NTPTime, rtpTimestamp: UInt32)? {
    guard layers.indices.contains(layer), let clock = layers[layer].clock, clock.ssrc == ssrc else { return nil }
    return clock
  }

  private func ticks(_ nanoseconds: Int64) -> Int64 {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds &* Int64(clockRate.hertz) &+ rest &* Int64(clockRate.hertz) / 1_000_000_000
  }

  private mutating func late(_ packet: ForwardedPacket) -> OutgoingNumbers? {
    guard currentLayer != nil else { return nil }
    if active.isStarted, active.ssrc == packet.ssrc, active.layer == packet.layer,
      let numbers = active.forwardLate(packet, extended: active.extend(packet.sequenceNumber))
    {
      return numbers
    }
    guard retired.isStarted, retired.ssrc == packet.ssrc, retired.layer == packet.layer else { return nil }
    return retired.forwardLate(packet, extended: retired.extend(packet.sequenceNumber))
  }
}
