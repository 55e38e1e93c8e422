import MediaCore
import RTP
import SDP
import Transport

extension NegotiationPolicy {
  init(_ configuration: PeerConnection.Configuration) {
    codecs = configuration.codecs
    usesRetransmission = configuration.usesRetransmission
    usesTransportFeedback = configuration.bandwidthFeedback.contains(.transportWide)
    usesMaximumBitrate = configuration.bandwidthFeedback.contains(.maximumBitrate)
    answererSetup = configuration.answererRole == .server ? .passive : .active
    reusesSections = configuration.reusesSections
    maximumMessageSize = configuration.maximumMessageSize
  }
}

extension PeerConnection {
  /// What packets of one SSRC are.
  enum Source {
    case media(ReceiveStream)
    /// Retransmissions of a stream.
    case retransmission(of: ReceiveStream)
  }

  /// Most sources that one section may have without announcing them: three layers with repair, and again after a
  /// change of all of them.
  static let maximumSourcesPerSection = 16

  // MARK: After a negotiation

  /// Brings receivers and the routing in line with what was negotiated, and tells the delegate.
  func applyReceivers() {
    let media = negotiation.media
    routing = Routing(media)
    usesTransportFeedback = media.contains { $0.receives && $0.receiveFeedback.contains(.transportWide) }
    usesMaximumBitrate = media.contains { $0.receives && $0.receiveFeedback.contains(.maximumBitrate) }
    let active = Dictionary(media.map { ($0.mid, $0) }, uniquingKeysWith: { first, _ in first })
    for receiver in receivers where receiver.isActive && !(active[receiver.mid]?.receives ?? false) {
      receiver.isActive = false
      forgetStreams(of: receiver) { _ in true }
      delegate?.peerConnection(self, receiverRemoved: receiver)
    }
    // A recycled section has a new name; nobody will speak of the old one again.
    let names = Set(negotiation.sections.map(\.mid))
    receivers.removeAll { !names.contains($0.mid) }
    receiverByMID = receiverByMID.filter { names.contains($0.key) }
    for section in media where section.receives {
      if let receiver = receiverByMID[section.mid], receiver.kind == section.kind {
        update(receiver, with: section)
      } else {
        let receiver = RTPReceiver(
          mid: section.mid, kind: section.kind, maximumWait: configuration.jitterBufferDelay, connection: self)
        if receiverByMID.updateValue(receiver, forKey: section.mid) != nil {
          receivers.removeAll { $0.mid == section.mid }
        }
        receivers.append(receiver)
        update(receiver, with: section)
      }
    }
  }

  private func update(_ receiver: RTPReceiver, with section: NegotiatedMedia) {
    let wasActive = receiver.isActive
    let isSameTrack = receiver.streamID == section.stream?.stream && receiver.trackID == section.stream?.track
    receiver.streamID = section.stream?.stream
    receiver.trackID = section.stream?.track
    receiver.isActive = true
    receiver.rids = section.rids
    receiver.extensions = section.extensions
    receiver.payloads = section.receivePayloads
    receiver.parameterSets = section.parameterSets
    receiver.feedback = section.receiveFeedback
    if wasActive {
      let announced = Set(section.ssrcs)
      // A section with announced sources has no others; without them, another track has other sources.
      forgetStreams(of: receiver) { stream in
        announced.isEmpty ? !isSameTrack : !announced.contains(stream.ssrc)
      }
    }
    for ssrc in section.ssrcs where sources[ssrc] == nil {
      if let codec = Self.codec(of: section) { _ = addStream(ssrc, rid: nil, codec: codec, to: receiver) }
    }
    guard delegate != nil else { return }
    if !wasActive {
      delegate?.peerConnection(self, receiverAdded: receiver)
    } else if !isSameTrack {
      delegate?.peerConnection(self, receiverChanged: receiver)
    }
    if state == .connected, !wasActive || !isSameTrack { wantFirstKeyframe(of: receiver) }
  }

  private static func codec(of section: NegotiatedMedia) -> Codec? {
    for entry in section.receivePayloads.entries {
      if case .codec(let codec) = entry.format { return codec }
    }
    return nil
  }

  private func forgetStreams(of receiver: RTPReceiver, where isGone: (ReceiveStream) -> Bool) {
    let gone = receiver.streams.filter(isGone)
    guard !gone.isEmpty else { return }
    receiver.streams.removeAll { stream in gone.contains { $0 === stream } }
    lastSource = nil
    for (ssrc, source) in sources {
      let stream: ReceiveStream
      switch source {
      case .media(let media): stream = media
      case .retransmission(let media): stream = media
      }
      if gone.contains(where: { $0 === stream }) {
        sources[ssrc] = nil
        transport?.removeStream(ssrc: ssrc)
      }
    }
  }

  private func addStream(_ ssrc: SSRC, rid: RID?, codec: Codec, to receiver: RTPReceiver) -> ReceiveStream {
    let stream = ReceiveStream(
      ssrc: ssrc, rid: rid, codec: codec, receiver: receiver, usesNACK: receiver.feedback.contains(.nack))
    receiver.streams.append(stream)
    sources[ssrc] = .media(stream)
    return stream
  }

  /// Gives every sender the section and payload types that the peer agreed to.
  func applySenders() {
    let media = negotiation.media
    for sender in senders {
      guard let section = media.first(where: { $0.track == sender.id }), section.sends,
        let type = section.sendPayloads.type(of: sender.codec)
      else {
        sender.context = nil
        continue
      }
      sender.mid = section.mid
      sender.context = SendContext(
        payloadType: type, retransmissionType: section.sendPayloads.retransmission(of: type),
        redundancyType: section.sendPayloads.redundancy(of: type),
        extensions: section.extensions, mid: section.mid)
    }
  }

  // MARK: Arriving packets

  func receiveRTP(_ buffer: MediaBuffer, at now: Int64) {
    if let losesPacket = configuration.losesPacket, losesPacket(false) {
      counters.lostOnPurpose += 1
      return
    }
    lastPacketAt = now
    guard let packet = RTPPacket(buffer) else {
      counters.malformedRTP += 1
      return
    }
    if usesTransportFeedback, let number = packet.transportSequence(routing.extensions) {
      recorder.received(transportSequence: number, ssrc: packet.ssrc, at: now)
    }
    receivedBytes &+= Int64(buffer.count)
    if usesMaximumBitrate { estimator.received(count: buffer.count) }
    guard let source = source(of: packet) else {
      counters.unroutedRTP += 1
      return
    }
    switch source {
    case .media(let stream):
      receive(packet, for: stream, isRetransmission: false, at: now)
    case .retransmission(let stream):
      guard case .retransmission(let type) = stream.receiver.payloads.format(of: packet.payloadType) else {
        counters.unroutedRTP += 1
        return
      }
      // Nil for padding that only probes the path.
      if let original = RTX.unwrap(packet, ssrc: stream.ssrc, payloadType: type, into: unwrapPool.take()) {
        receive(original, for: stream, isRetransmission: true, at: now)
      }
    }
  }

  private func receive(_ packet: RTPPacket, for stream: ReceiveStream, isRetransmission: Bool, at now: Int64) {
    switch stream.receiver.payloads.format(of: packet.payloadType) {
    case .codec, .redundancy: break
    case .retransmission, nil:
      counters.unroutedRTP += 1
      stream.passOver(packet, in: self, at: now)
      return
    }
    stream.receive(packet, isRetransmission: isRetransmission, in: self, at: now)
    let isNACKDue = stream.nack?.deadline.map { $0 <= now + 1_000_000 } ?? false
    let isKeyframeDue = stream.keyframes.deadline.map { $0 <= now } ?? false
    if isNACKDue || isKeyframeDue { sendDueFeedback(at: now) }
  }

  private func source(of packet: RTPPacket) -> Source? {
    if let lastSource, lastSource.ssrc == packet.ssrc { return lastSource.source }
    guard let found = sources[packet.ssrc] ?? newSource(of: packet) else { return nil }
    lastSource = (packet.ssrc, found)
    return found
  }

  private func newSource(of packet: RTPPacket) -> Source? {
    guard let destination = routing.destination(of: packet), let receiver = receiverByMID[destination.mid],
      receiver.isActive
    else { return nil }
    if destination.isRetransmission {
      let repaired = receiver.streams.first { stream in
        if let ssrc = destination.repairs { return stream.ssrc == ssrc }
        if let rid = destination.rid { return stream.rid == rid }
        return receiver.streams.count == 1
      }
      guard let repaired else { return nil }
      forgetRepair(of: repaired)
      let source = Source.retransmission(of: repaired)
      sources[packet.ssrc] = source
      return source
    }
    guard let codec = receiver.mediaCodec(of: packet.payloadType) else { return nil }
    if let rid = destination.rid {
      // The layer's source changed: the sender started the layer again.
      forgetStreams(of: receiver) { $0.rid == rid }
    }
    guard receiver.streams.count < Self.maximumSourcesPerSection else {
      counters.refusedSources += 1
      return nil
    }
    let stream = addStream(packet.ssrc, rid: destination.rid, codec: codec, to: receiver)
    if receiver.kind == .video { stream.keyframes.want() }
    return .media(stream)
  }

  /// Forgets the repair source that a stream had before: it has one at a time, and unannounced ones must not pile up.
  private func forgetRepair(of stream: ReceiveStream) {
    for (ssrc, source) in sources {
      if case .retransmission(let repaired) = source, repaired === stream {
        sources[ssrc] = nil
        transport?.removeStream(ssrc: ssrc)
        lastSource = nil
      }
    }
  }

  // MARK: To the delegate

  func deliver(_ packet: RTPPacket, of stream: ReceiveStream, at now: Int64) {
    delegate?.peerConnection(self, receiver: stream.receiver, received: packet, rid: stream.rid, at: now)
  }

  func deliver(_ frame: EncodedFrame, of stream: ReceiveStream) {
    delegate?.peerConnection(self, receiver: stream.receiver, received: frame)
  }

  // MARK: Keyframes

  func requestFirstKeyframes() {
    for receiver in receivers where receiver.isActive { wantFirstKeyframe(of: receiver) }
    sendDueFeedback()
  }

  private func wantFirstKeyframe(of receiver: RTPReceiver) {
    guard receiver.kind == .video else { return }
    for stream in receiver.streams where stream.lastArrival == nil { stream.keyframes.want() }
  }

  // MARK: Departing packets

  /// Whether media can leave now.
  var canSendMedia: Bool { state == .connected || state == .disconnected }

  func takeTransportSequence() -> UInt16 {
    transportSequence &+= 1
    return transportSequence
  }

  /// Sends a packet, unless a test loses it.
  func transmit(_ buffer: MediaBuffer) -> Bool {
    if let losesPacket = configuration.losesPacket, losesPacket(true) {
      counters.lostOnPurpose += 1
      return true
    }
    return transport?.sendRTP(buffer) ?? false
  }
}
