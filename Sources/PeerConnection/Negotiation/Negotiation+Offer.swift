import MediaCore
import RTP
import SDP

/// Our offers and the answers to them (RFC 8829 section 5.2 and 5.11).
extension Negotiation {
  /// Finds a section for every track and for data, re-using free ones.
  mutating func placeTracksForOffer() {
    for track in unassignedTracks {
      let index = sectionIndex(for: track.codec.kind)
      sections[index].track = track.id
      sections[index].wantsToReceive = track.alsoReceives
    }
    for kind in wantedReceivers {
      let index = sectionIndex(for: kind)
      sections[index].wantsToReceive = true
    }
    wantedReceivers = []
    if wantsData, !sections.contains(where: { $0.kind == .application && !$0.isRejected }) {
      if let index = sections.firstIndex(where: \.isRejected) {
        sections[index] = Section(mid: newMID(), kind: .application)
      } else {
        sections.append(Section(mid: newMID(), kind: .application))
      }
    }
  }

  private mutating func sectionIndex(for kind: MediaKind) -> Int {
    if policy.reusesSections {
      // An idle section keeps its mid; a refused one is recycled under a new name (RFC 8829 section 5.2.2). Idle is one
      // that an exchange has made inactive: a peer that never sees the old track end doesn't tell of the new one.
      let idle = sections.firstIndex { section in
        section.kind == .media(kind) && !section.isRejected && section.track == nil && !section.wantsToReceive
          && !(section.remote?.direction.sends ?? false) && !(section.local?.direction.sends ?? false)
      }
      if let idle { return idle }
      if let refused = sections.firstIndex(where: \.isRejected) {
        sections[refused] = Section(mid: newMID(), kind: .media(kind))
        return refused
      }
    }
    sections.append(Section(mid: newMID(), kind: .media(kind)))
    return sections.count - 1
  }

  private func newMID() -> MID {
    let used = Set(sections.map(\.mid))
    var number = sections.count
    while used.contains(MID(String(number))) { number += 1 }
    return MID(String(number))
  }

  /// Our offer of one section.
  func offerSection(_ index: Int, local: LocalTransport) -> MediaDescription {
    let section = sections[index]
    if section.isRejected { return Self.rejected(section.remote, kind: section.kind, mid: section.mid) }
    var offer: MediaDescription
    switch section.kind {
    case .media(let kind):
      offer = MediaDescription(kind: section.kind, port: 9, proto: "UDP/TLS/RTP/SAVPF", formats: [])
      offer.hasRTCPMux = true
      offer.hasReducedSizeRTCP = true
      let track = section.track.flatMap { self.track($0) }
      // A section that the peer offered goes on receiving what the peer wants to send.
      let receives = section.wantsToReceive || (section.remote?.direction.sends ?? false)
      offer.direction = Direction(sends: track != nil, receives: receives)
      addCodecs(to: &offer, kind: kind, sending: track?.codec, receives: receives)
      addExtensions(to: &offer, kind: kind, isSimulcast: (track?.encodings.count ?? 0) > 1)
      if let track {
        describe(track, in: &offer)
        let layers = track.encodings.compactMap(\.rid)
        if !layers.isEmpty {
          offer.rids = layers.map { RIDDescription(id: $0, sends: true) }
          offer.simulcast = SimulcastDescription(send: layers.map { [.init(rid: $0)] })
        }
      }
    default:
      offer = MediaDescription(
        kind: section.kind, port: 9, proto: "UDP/DTLS/SCTP", formats: ["webrtc-datachannel"])
      offer.sctpPort = NegotiationPolicy.sctpPort
      offer.maximumMessageSize = policy.maximumMessageSize
    }
    offer.connection = "IN IP4 0.0.0.0"
    offer.mid = section.mid
    offer.transport = transportAttributes(local)
    // Later offers leave the roles open again (RFC 8842 section 5.5); the association does not change by that.
    offer.transport.setup = .actpass
    return offer
  }

  /// Codecs with the payload types that the connection uses for them already: inside of a bundle a type may not
  /// change its meaning (RFC 8843 section 9.1).
  private func addCodecs(to offer: inout MediaDescription, kind: MediaKind, sending: Codec?, receives: Bool) {
    var names = PayloadNames(sections)
    func add(_ map: RTPMap, parameters: String?) {
      offer.formats.append(map.payloadType.description)
      offer.rtpMaps.append(map)
      if let parameters { offer.formatParameters.append(.init(payloadType: map.payloadType, text: parameters)) }
    }
    // One track has one codec; a section that receives lists all, that one first.
    let all = policy.codecs.filter { $0.kind == kind }
    let codecs = all.filter { $0 == sending } + (receives || sending == nil ? all.filter { $0 != sending } : [])
    for codec in codecs {
      let parameters = CodecTable.row(of: codec)?.parameters
      let type = names.type(
        for: PayloadNames.name(codec, parameters: parameters), usual: codec.usualPayloadType)
      add(codec.rtpMap(type), parameters: parameters)
      for value in policy.feedback(for: codec) { offer.feedback.append(.init(payloadType: type, value: value)) }
      if kind == .video && policy.usesRetransmission {
        let repair = names.type(for: "rtx/\(type)", usual: codec.usualPayloadType + 1)
        add(RTPMap(payloadType: repair, name: "rtx", clockRate: 90_000), parameters: "apt=\(type)")
      }
      if codec == .opus {
        let redundancy = names.type(for: "red/\(type)", usual: 63)
        add(
          RTPMap(payloadType: redundancy, name: "red", clockRate: 48_000, channels: 2),
          parameters: "\(type)/\(type)")
      }
    }
  }

  /// Extensions with the identifiers that the connection uses for them already (RFC 8285 section 6 and RFC 8843
  /// section 9.2: identifiers are shared by the bundle).
  private func addExtensions(to offer: inout MediaDescription, kind: MediaKind, isSimulcast: Bool) {
    var ids: [String: UInt8] = [:]
    for section in sections {
      for mapping in (section.local?.extensions ?? []) + (section.remote?.extensions ?? []) {
        ids[mapping.uri] = ids[mapping.uri] ?? mapping.id
      }
    }
    for name in policy.extensions(for: kind) {
      if !isSimulcast && (name == .rid || name == .repairedRid) { continue }
      let used = Set(ids.values)
      guard let id = ids[name.uri] ?? (1...14).first(where: { !used.contains($0) }) else { continue }
      ids[name.uri] = id
      offer.extensions.append(ExtensionMapping(id: id, uri: name.uri))
    }
  }

  // MARK: The answer

  mutating func takeSections(ofAnswer answer: SessionDescription) throws(PeerConnectionError) {
    guard answer.media.count == sections.count else {
      throw .unusableDescription("the answer does not have as many media sections as the offer")
    }
    let bundled = Set(answer.bundle ?? [])
    var used = 0
    for (index, media) in answer.media.enumerated() {
      guard media.kind == sections[index].kind else {
        throw .unusableDescription("media section \(index) of the answer has another kind than in the offer")
      }
      if let mid = media.mid, mid != sections[index].mid, !media.isRejected {
        throw .unusableDescription("media section \(index) of the answer has another mid than in the offer")
      }
      sections[index].remote = media
      let offered = sections[index].local
      sections[index].isRejected = media.isRejected || offered?.isRejected ?? true
      if sections[index].isRejected {
        // The track looks for another section in the next offer only if it is added again.
        sections[index].wantsToReceive = false
        continue
      }
      used += 1
      if case .media = media.kind, !media.hasRTCPMux {
        throw .unusableDescription("media section \(index) of the answer has no a=rtcp-mux")
      }
      if !bundled.isEmpty && !bundled.contains(sections[index].mid) {
        throw .unusableDescription("media section \(index) of the answer is not bundled")
      }
    }
    if used > 1 && bundled.isEmpty { throw .unusableDescription("the answer does not bundle its media sections") }
  }
}
