import MediaCore
import RTP
import SDP

/// The offer/answer machine (RFC 8829): a value without clock, network or random source of its own. Every call
/// either succeeds and changes it, or throws and leaves it as it was.
///
/// Fixed choices: one bundled transport, rtcp-mux, sections are never deleted but re-used.
///
/// Large: offer and answer, a file for each, over one state, which a call takes over as a whole or not at all.
struct Negotiation: Sendable {
  /// The local end of the transport, as descriptions show it.
  struct LocalTransport: Hashable, Sendable {
    var ufrag: String
    var password: String
    var fingerprint: CertificateFingerprint
  }

  /// One m-line.
  struct Section: Hashable, Sendable {
    var mid: MID
    /// False when the peer's description had no `a=mid`: then ours has none either.
    var showsMID = true
    var kind: MediaDescription.Kind
    /// The descriptions of both sides that were last made or taken.
    var local: MediaDescription?
    var remote: MediaDescription?
    /// The local track that is sent here.
    var track: LocalTrack.ID?
    /// Whether we want to receive here, when the section is ours to offer.
    var wantsToReceive = false
    /// Refused or stopped: stays with port 0 until it is recycled.
    var isRejected = false
  }

  let policy: NegotiationPolicy
  /// `a=ssrc … cname` of all tracks.
  let cname: String
  private(set) var state = SignalingState.stable
  var sections: [Section] = []
  /// Tracks to send, in order of their making.
  private(set) var tracks: [LocalTrack] = []
  /// Receive-only sections to be added to the next offer.
  var wantedReceivers: [MediaKind] = []
  /// Whether the next offer must have a section for data channels.
  var wantsData = false
  /// The peer's transport, once known.
  private(set) var transport: NegotiatedTransport?
  /// True after the first complete exchange, when the DTLS roles are fixed for good.
  private var hasDTLSRoles = false
  /// The last remote description as a whole.
  private(set) var remote: SessionDescription?
  private var nextTrackID: LocalTrack.ID = 1
  private var random: SeededRandom
  private let sessionID: String
  private var version: UInt64 = 0

  /// A machine whose identifiers follow from `seed`.
  init(policy: NegotiationPolicy, seed: UInt64, cname: String? = nil) {
    self.policy = policy
    var random = SeededRandom(seed: seed)
    // RFC 8829 section 5.2.1: 63 bits, so that it is positive for every reader.
    sessionID = String(random.next() >> 1)
    let name = String(random.next() >> 1, radix: 36)
    self.cname = cname ?? name
    self.random = random
  }

  // MARK: Local wishes

  /// Adds a track to be sent. It gets a section with the next exchange.
  mutating func addTrack(codec: Codec, stream: MediaStreamTrack, layers: [RID], alsoReceives: Bool) -> LocalTrack {
    let rids: [RID?] = layers.isEmpty ? [nil] : layers
    var used = Set(tracks.flatMap { $0.encodings.flatMap { [$0.ssrc, $0.retransmissionSSRC] } })
    let encodings = rids.map { rid in
      LocalTrack.Encoding(rid: rid, ssrc: newSSRC(&used), retransmissionSSRC: newSSRC(&used))
    }
    let track = LocalTrack(
      id: nextTrackID, codec: codec, stream: stream, encodings: encodings, alsoReceives: alsoReceives)
    nextTrackID += 1
    tracks.append(track)
    return track
  }

  private mutating func newSSRC(_ used: inout Set<SSRC>) -> SSRC {
    while true {
      let candidate = SSRC(UInt32(truncatingIfNeeded: random.next()))
      if candidate.rawValue != 0, used.insert(candidate).inserted { return candidate }
    }
  }

  /// Removes a track; its section becomes free with the next exchange.
  mutating func removeTrack(_ id: LocalTrack.ID) {
    tracks.removeAll { $0.id == id }
    for index in sections.indices where sections[index].track == id {
      sections[index].track = nil
      sections[index].wantsToReceive = false
    }
  }

  /// The track with a name.
  func track(_ id: LocalTrack.ID) -> LocalTrack? { tracks.first { $0.id == id } }

  /// The tracks that no section carries yet.
  var unassignedTracks: [LocalTrack] {
    let assigned = Set(sections.compactMap(\.track))
    return tracks.filter { !assigned.contains($0.id) }
  }

  mutating func close() { state = .closed }

  // MARK: Exchanges

  /// Takes a remote offer. Returns true when it restarts ICE: the local end must restart before `createAnswer`.
  mutating func setRemoteOffer(_ description: SessionDescription) throws(PeerConnectionError) -> Bool {
    guard state == .stable else { throw .wrongState(operation: "Taking an offer", state: state) }
    var next = self
    try next.takeSections(ofOffer: description)
    let previous = transport
    next.transport = try next.readTransport(description, isOffer: true) ?? previous
    next.attachTracksToOfferedSections()
    next.remote = description
    next.state = .haveRemoteOffer
    self = next
    guard let previous, let current = next.transport else { return false }
    // RFC 8839 section 5.4: a restart changes both.
    return previous.ufrag != current.ufrag && previous.password != current.password
  }

  /// Makes the answer to the offer that was taken.
  mutating func createAnswer(_ local: LocalTransport) throws(PeerConnectionError) -> SessionDescription {
    guard state == .haveRemoteOffer, let remote else {
      throw .wrongState(operation: "Making an answer", state: state)
    }
    // Tracks that were added after the offer came still find their places.
    attachTracksToOfferedSections()
    var answer = newDescription()
    answer.isLite = false
    let bundle = remote.bundle ?? []
    let bundled = Set(bundle)
    var members: Set<MID> = []
    for index in sections.indices {
      var section = answerSection(sections[index], offer: remote, local: local)
      if !sections[index].showsMID { section.mid = nil }
      sections[index].local = section
      answer.media.append(section)
      if !section.isRejected && bundled.contains(sections[index].mid) { members.insert(sections[index].mid) }
    }
    if !members.isEmpty { answer.groups = [.init(semantics: "BUNDLE", mids: bundle.filter(members.contains))] }
    if remote.allowsMixedExtensions { answer.allowsMixedExtensions = true }
    hasDTLSRoles = hasDTLSRoles || transport != nil
    state = .stable
    return answer
  }

  /// Whether an offer would have any section.
  var hasSomethingToOffer: Bool {
    !sections.isEmpty || !tracks.isEmpty || !wantedReceivers.isEmpty || wantsData
  }

  /// Makes an offer of everything that is wanted.
  mutating func createOffer(_ local: LocalTransport) throws(PeerConnectionError) -> SessionDescription {
    guard state == .stable else { throw .wrongState(operation: "Making an offer", state: state) }
    guard hasSomethingToOffer else {
      throw .unusableDescription("there is neither a track nor a data channel to offer")
    }
    var next = self
    next.placeTracksForOffer()
    var offer = next.newDescription()
    offer.allowsMixedExtensions = true
    var members: [MID] = []
    for index in next.sections.indices {
      let section = next.offerSection(index, local: local)
      next.sections[index].local = section
      offer.media.append(section)
      if !section.isRejected { members.append(next.sections[index].mid) }
    }
    if !members.isEmpty { offer.groups = [.init(semantics: "BUNDLE", mids: members)] }
    next.state = .haveLocalOffer
    self = next
    return offer
  }

  /// Takes the answer to the last offer.
  mutating func setRemoteAnswer(_ description: SessionDescription) throws(PeerConnectionError) {
    guard state == .haveLocalOffer else { throw .wrongState(operation: "Taking an answer", state: state) }
    var next = self
    try next.takeSections(ofAnswer: description)
    next.transport = try next.readTransport(description, isOffer: false) ?? transport
    next.hasDTLSRoles = next.hasDTLSRoles || next.transport != nil
    next.remote = description
    next.state = .stable
    self = next
  }

  /// Gives up a local offer that was not answered (RFC 8829 section 4.1.10.2, rollback of the state only: sections
  /// that it added stay and are offered again).
  mutating func withdrawOffer() {
    if state == .haveLocalOffer { state = .stable }
  }

  private mutating func newDescription() -> SessionDescription {
    version += 1
    var description = SessionDescription(origin: .init(sessionID: sessionID, version: version))
    description.attributes = [SDPAttribute("msid-semantic", "WMS *")]
    return description
  }

  // MARK: Transport

  /// Reads the transport of the bundle: from the first of its sections that shows ICE credentials (the tagged one,
  /// RFC 8843 section 7.1.3, unless it was refused). Nil when no section is in use.
  private func readTransport(
    _ description: SessionDescription, isOffer: Bool
  ) throws(PeerConnectionError) -> NegotiatedTransport? {
    let bundle = description.bundle ?? []
    let used = zip(sections, description.media).filter { !$0.0.isRejected && !$0.1.isRejected }
    guard !used.isEmpty else { return nil }
    let bundled = Set(bundle)
    let byName = Dictionary(used.map { ($0.0.mid, $0) }) { first, _ in first }
    let ordered = bundle.compactMap { byName[$0] } + used.filter { !bundled.contains($0.0.mid) }
    let attributes = ordered.map { description.transport(of: $0.1) }
    guard let first = attributes.first(where: { $0.iceUfrag != nil && $0.icePassword != nil }),
      let ufrag = first.iceUfrag, let password = first.icePassword
    else { throw .unusableDescription("it has no ICE credentials (a=ice-ufrag, a=ice-pwd)") }
    let prints = first.fingerprints.isEmpty ? attributes.flatMap(\.fingerprints) : first.fingerprints
    guard let fingerprint = Self.strongest(prints) else {
      throw .unusableDescription("it has no certificate fingerprint of a known hash (a=fingerprint)")
    }
    let setup = attributes.lazy.compactMap(\.setup).first
    let role = try isDTLSClient(remoteSetup: setup, isOffer: isOffer)
    if let transport, hasDTLSRoles, transport.fingerprint != fingerprint,
      !prints.contains(transport.fingerprint)
    {
      throw .unusableDescription("it changes the certificate of a running connection")
    }
    return NegotiatedTransport(
      ufrag: ufrag, password: password, isLite: description.isLite, isDTLSClient: role, fingerprint: fingerprint)
  }

  /// RFC 8842 section 5.3: the offerer says `actpass`, the answerer chooses, later exchanges keep the choice.
  private func isDTLSClient(remoteSetup: SetupRole?, isOffer: Bool) throws(PeerConnectionError) -> Bool {
    let wanted: Bool?
    switch remoteSetup {
    case .active: wanted = false
    case .passive: wanted = true
    case .actpass:
      if !isOffer { throw .unusableDescription("an answer must not say a=setup:actpass") }
      wanted = nil
    // RFC 4145 section 4.1: an answer without the attribute is `active`.
    case .holdconn, nil: wanted = isOffer ? nil : false
    }
    if hasDTLSRoles, let transport {
      guard wanted == nil || wanted == transport.isDTLSClient else {
        throw .unusableDescription("it exchanges the DTLS roles of a running connection")
      }
      return transport.isDTLSClient
    }
    return wanted ?? (policy.answererSetup != .passive)
  }

  private static func strongest(_ prints: [CertificateFingerprint]) -> CertificateFingerprint? {
    for algorithm in ["sha-256", "sha-384", "sha-512", "sha-1"] {
      if let found = prints.first(where: { $0.algorithm == algorithm }) { return found }
    }
    return nil
  }

  /// What our descriptions say in `a=setup`.
  var localSetup: SetupRole {
    guard let transport, hasDTLSRoles || state == .haveRemoteOffer else { return .actpass }
    return transport.isDTLSClient ? .active : .passive
  }

  // MARK: Result

  /// What holds now for every section of sound or pictures that is in use.
  var media: [NegotiatedMedia] {
    sections.indices.compactMap { negotiatedMedia($0) }
  }

  /// Whether data channels were agreed.
  var hasData: Bool {
    sections.contains { section in
      section.kind == .application && !section.isRejected && section.remote != nil && section.local != nil
    }
  }

  /// Bytes of the largest data channel message that the peer takes (RFC 8841 section 6.1: 64 KiB when it does not
  /// say, 0 for no limit).
  var remoteMaximumMessageSize: UInt64 {
    let section = remote?.media.first { $0.kind == .application && !$0.isRejected }
    let size = section?.maximumMessageSize ?? 65_536
    return size == 0 ? .max : size
  }

  /// The section under whose name candidates are trickled: the bundle's tag.
  var tagIndex: Int { sections.firstIndex { !$0.isRejected } ?? 0 }
}
