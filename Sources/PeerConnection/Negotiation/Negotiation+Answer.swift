import MediaCore
import RTP
import SDP

/// Sections that the peer offered, and our answers to them (RFC 8829 section 5.3).
extension Negotiation {
  mutating func takeSections(ofOffer offer: SessionDescription) throws(PeerConnectionError) {
    guard !offer.media.isEmpty else { throw .unusableDescription("the offer has no media sections") }
    guard offer.media.count >= sections.count else {
      throw .unusableDescription("the offer has fewer media sections than the one before")
    }
    var names: Set<MID> = []
    for (index, media) in offer.media.enumerated() {
      let mid = media.mid ?? MID(String(index))
      guard names.insert(mid).inserted else { throw .unusableDescription("two media sections have the same mid") }
      if index == sections.count {
        sections.append(Section(mid: mid, kind: media.kind))
      } else if sections[index].mid != mid || sections[index].kind != media.kind {
        // Only a section that was refused or stopped may be recycled (RFC 8829 section 5.2.2).
        guard sections[index].isRejected || media.isRejected else {
          throw .unusableDescription("media section \(index) changed its mid or its kind while in use")
        }
        sections[index] = Section(mid: mid, kind: media.kind)
      }
      sections[index].showsMID = media.mid != nil
      sections[index].remote = media
    }
    let bundled = Set(offer.bundle ?? [])
    var hasUnbundled = false
    var hasData = false
    for index in sections.indices {
      guard let media = sections[index].remote else { continue }
      // Everything runs over one transport: without a group only the first usable section can.
      let isBundled = bundled.contains(sections[index].mid)
      var isUsable = canAnswer(media, in: offer) && (isBundled || (bundled.isEmpty && !hasUnbundled))
      if media.kind == .application {
        if hasData { isUsable = false }
        hasData = hasData || isUsable
      }
      hasUnbundled = hasUnbundled || (isUsable && !isBundled)
      sections[index].isRejected = !isUsable
      if !isUsable {
        sections[index].track = nil
        sections[index].local = nil
      } else {
        // Filled here so that the result can be read before the answer is made.
        sections[index].local =
          sections[index].local
          ?? MediaDescription(
            kind: media.kind, port: 9, proto: media.proto, formats: [])
      }
    }
  }

  private func canAnswer(_ media: MediaDescription, in offer: SessionDescription) -> Bool {
    if media.isRejected { return false }
    switch media.kind {
    case .application:
      return media.proto.contains("SCTP") && media.formats.contains("webrtc-datachannel")
    case .media(let kind):
      guard media.proto.contains("RTP/SAVP"), media.hasRTCPMux || media.isBundleOnly else { return false }
      return acceptedPayloads(media, kind: kind).hasMedia
    case .other: return false
    }
  }

  private func acceptedPayloads(_ media: MediaDescription, kind: MediaKind) -> PayloadTable {
    var kindPolicy = policy
    kindPolicy.codecs = policy.codecs.filter { $0.kind == kind }
    return PayloadTable(media, policy: kindPolicy)
  }

  /// Gives tracks without a section those offered sections that can carry them (RFC 8829 section 5.10).
  mutating func attachTracksToOfferedSections() {
    for track in unassignedTracks {
      let index = sections.firstIndex { section in
        guard !section.isRejected, section.track == nil, section.kind == .media(track.codec.kind),
          let remote = section.remote, remote.direction.receives
        else { return false }
        return acceptedPayloads(remote, kind: track.codec.kind).type(of: track.codec) != nil
      }
      if let index { sections[index].track = track.id }
    }
  }

  /// Our side of one offered section.
  func answerSection(
    _ section: Section, offer: SessionDescription, local: LocalTransport
  ) -> MediaDescription {
    guard let remote = section.remote, !section.isRejected else {
      return Self.rejected(section.remote, kind: section.kind, mid: section.mid)
    }
    var answer = MediaDescription(kind: remote.kind, port: 9, proto: remote.proto, formats: [])
    answer.connection = "IN IP4 0.0.0.0"
    answer.mid = section.mid
    answer.transport = transportAttributes(local)
    switch section.kind {
    case .media(let kind): fillAnswer(&answer, to: remote, kind: kind, section: section, offer: offer)
    default:
      answer.formats = ["webrtc-datachannel"]
      answer.sctpPort = NegotiationPolicy.sctpPort
      answer.maximumMessageSize = policy.maximumMessageSize
    }
    return answer
  }

  private func fillAnswer(
    _ answer: inout MediaDescription, to remote: MediaDescription, kind: MediaKind, section: Section,
    offer: SessionDescription
  ) {
    let payloads = acceptedPayloads(remote, kind: kind)
    let track = section.track.flatMap { self.track($0) }
    answer.direction = Direction(
      sends: remote.direction.receives && track != nil, receives: remote.direction.sends)
    answer.hasRTCPMux = true
    answer.hasReducedSizeRTCP = remote.hasReducedSizeRTCP
    answer.allowsMixedExtensions = remote.allowsMixedExtensions
    for entry in payloads.entries {
      guard let map = remote.rtpMap(of: entry.type) else { continue }
      answer.formats.append(entry.type.description)
      answer.rtpMaps.append(map)
      let offered = remote.parameters(of: entry.type)
      switch entry.format {
      case .codec(let codec):
        for value in policy.feedback(for: codec) where remote.feedback(of: entry.type).contains(value) {
          answer.feedback.append(.init(payloadType: entry.type, value: value))
        }
        if codec.kind == .video {
          // Unchanged: a server that forwards to many compares it with what publishers send.
          if let offered { answer.formatParameters.append(offered) }
        } else if var text = CodecTable.row(of: codec)?.parameters {
          // RFC 7587 section 6.1: says that stereo is welcome, when the peer could send it.
          if offered?.value(of: "stereo") == "1" || offered?.value(of: "sprop-stereo") == "1" { text += ";stereo=1" }
          answer.formatParameters.append(.init(payloadType: entry.type, text: text))
        }
      case .retransmission, .redundancy:
        if let offered { answer.formatParameters.append(offered) }
      }
    }
    let supported = policy.extensions(for: kind)
    var used: Set<HeaderExtension> = []
    for mapping in offer.extensions(of: remote) {
      guard let name = HeaderExtension(uri: mapping.uri), supported.contains(name), used.insert(name).inserted else {
        continue
      }
      answer.extensions.append(
        .init(id: mapping.id, direction: mapping.direction?.reversed, uri: mapping.uri))
    }
    let layers = Self.sentLayers(remote)
    if !layers.isEmpty {
      answer.rids = layers.map { RIDDescription(id: $0, sends: false) }
      answer.simulcast = SimulcastDescription(receive: layers.map { [.init(rid: $0)] })
    }
    if answer.direction.sends, let track { describe(track, in: &answer) }
  }

  /// The layers that a section's sender sends: those that both `a=simulcast` and `a=rid` name, the first of each
  /// list of alternatives (RFC 8853 section 5.3.2).
  static func sentLayers(_ media: MediaDescription) -> [RID] {
    let described = Set(media.rids.filter(\.sends).map(\.id))
    return (media.simulcast?.send ?? []).compactMap { alternatives in
      alternatives.first { described.contains($0.rid) }?.rid
    }
  }

  static func rejected(
    _ remote: MediaDescription?, kind: MediaDescription.Kind, mid: MID
  ) -> MediaDescription {
    let proto = kind == .application ? "UDP/DTLS/SCTP" : "UDP/TLS/RTP/SAVPF"
    let formats = kind == .application ? ["webrtc-datachannel"] : ["0"]
    var media = MediaDescription(
      kind: kind, port: 0, proto: remote?.proto ?? proto, formats: remote.map { $0.formats } ?? formats)
    if media.formats.isEmpty { media.formats = formats }
    media.connection = "IN IP4 0.0.0.0"
    media.mid = mid
    media.direction = .inactive
    return media
  }

  func transportAttributes(_ local: LocalTransport) -> TransportAttributes {
    var attributes = TransportAttributes()
    attributes.iceUfrag = local.ufrag
    attributes.icePassword = local.password
    attributes.iceOptions = ["trickle"]
    attributes.fingerprints = [local.fingerprint]
    attributes.setup = localSetup
    return attributes
  }

  /// Adds what identifies an outgoing track to a section that sends it.
  func describe(_ track: LocalTrack, in media: inout MediaDescription) {
    media.streams = [track.stream]
    let hasRetransmission = media.rtpMaps.contains { $0.name.lowercased() == "rtx" }
    // RFC 8853 section 5.2: simulcast layers are told apart by rid alone.
    guard track.encodings.count == 1, let encoding = track.encodings.first, encoding.rid == nil else { return }
    media.ssrcs = [SSRCAttribute(ssrc: encoding.ssrc, name: "cname", value: cname)]
    if hasRetransmission {
      media.ssrcGroups = [SSRCGroup(semantics: "FID", ssrcs: [encoding.ssrc, encoding.retransmissionSSRC])]
      media.ssrcs.append(SSRCAttribute(ssrc: encoding.retransmissionSSRC, name: "cname", value: cname))
    }
  }

  /// What was agreed for a section; nil when it is not in use.
  func negotiatedMedia(_ index: Int) -> NegotiatedMedia? {
    let section = sections[index]
    guard case .media(let kind) = section.kind, !section.isRejected, let remote = section.remote,
      let description = self.remote, let sent = section.local
    else { return nil }
    // Between offer and answer, the local side is what the answer would be.
    let local =
      state == .haveRemoteOffer
      ? answerSection(
        section, offer: description,
        local: .init(
          ufrag: "", password: "", fingerprint: .init(algorithm: "", value: "")))
      : sent
    let receivePayloads = PayloadTable(local, policy: policy)
    let sendPayloads = PayloadTable(remote, policy: policy)
    let sends = local.direction.sends && remote.direction.receives
    let receives = local.direction.receives && remote.direction.sends
    let sendType = section.track.flatMap { track($0) }.flatMap { sendPayloads.type(of: $0.codec) }
    let receiveType = policy.codecs.lazy.filter { $0.kind == kind }.compactMap { receivePayloads.type(of: $0) }.first
    var map = HeaderExtensionMap()
    let remoteExtensions = Set(description.extensions(of: remote).map { [$0.uri, String($0.id)] })
    for mapping in local.extensions where remoteExtensions.contains([mapping.uri, String(mapping.id)]) {
      if let name = HeaderExtension(uri: mapping.uri) { map.set(name, id: mapping.id) }
    }
    let announced = remote.announcedSSRCs
    let repairs = remote.retransmittedSSRCs
    let offered = Set(local.rids.filter { !$0.sends }.map(\.id))
    return NegotiatedMedia(
      index: index, mid: section.mid, kind: kind, receives: receives, sends: sends && sendType != nil,
      receivePayloads: receivePayloads, parameterSets: Self.parameterSets(remote), sendPayloads: sendPayloads,
      extensions: map,
      allowsMixedExtensions: description.allowsMixedExtensions || remote.allowsMixedExtensions,
      receiveFeedback: NegotiatedFeedback(local, type: receiveType).intersection(
        NegotiatedFeedback(remote, type: receiveType)),
      sendFeedback: NegotiatedFeedback(remote, type: sendType ?? sendPayloads.entries.first?.type),
      stream: remote.streams.first ?? Self.stream(ofSources: remote), ssrcs: announced.filter { repairs[$0] == nil },
      retransmissions: repairs, rids: Self.sentLayers(remote).filter(offered.contains), track: section.track)
  }

  private static func parameterSets(_ media: MediaDescription) -> [PayloadType: [UInt8]] {
    var sets: [PayloadType: [UInt8]] = [:]
    for parameters in media.formatParameters {
      guard let text = parameters.value(of: "sprop-parameter-sets") else { continue }
      let stream = H264Depacketizer.parameterSets(text)
      if !stream.isEmpty { sets[parameters.payloadType] = stream }
    }
    return sets
  }

  /// Old form of msid: `a=ssrc:1 msid:stream track`.
  private static func stream(ofSources media: MediaDescription) -> MediaStreamTrack? {
    guard let value = media.ssrcs.first(where: { $0.name == "msid" })?.value else { return nil }
    let parts = value.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
    return parts.first.map { MediaStreamTrack(stream: $0, track: parts.count > 1 ? parts[1] : nil) }
  }
}
