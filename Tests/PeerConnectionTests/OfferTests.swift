import MediaCore
import RTP
import SDP
import Testing

@testable import PeerConnection

private let left = Negotiation.LocalTransport(
  ufrag: "left", password: "0123456789abcdefghijkl", fingerprint: .init(algorithm: "sha-256", value: "AA:BB"))
private let right = Negotiation.LocalTransport(
  ufrag: "right", password: "zyxwvutsrqponmlkjihgfe", fingerprint: .init(algorithm: "sha-256", value: "CC:DD"))

/// Sends a description as text, as it would travel.
private func travel(_ description: SessionDescription) throws -> SessionDescription {
  try SessionDescription(parsing: description.serialized())
}

/// Offers from `a`, answers from `b`.
private func exchange(_ a: inout Negotiation, _ b: inout Negotiation) throws {
  _ = try b.setRemoteOffer(try travel(a.createOffer(left)))
  try a.setRemoteAnswer(try travel(b.createAnswer(right)))
}

extension Negotiation {
  fileprivate mutating func add(_ codec: Codec, _ track: String, layers: [RID] = [], alsoReceives: Bool = false)
    -> LocalTrack
  {
    addTrack(codec: codec, stream: .init(stream: "s", track: track), layers: layers, alsoReceives: alsoReceives)
  }
}

@Suite struct OfferTests {
  @Test func whoSendsAndReceivesOffersAllCodecsItsOwnFirst() throws {
    var policy = NegotiationPolicy()
    policy.codecs = [.vp8, .vp9, .h264, .opus]
    for alsoReceives in [true, false] {
      var machine = Negotiation(policy: policy, seed: 42, cname: "me")
      _ = machine.add(.vp9, "camera", alsoReceives: alsoReceives)
      let offer = try machine.createOffer(left)
      let names = offer.media[0].rtpMaps.map(\.name).filter { $0 != "rtx" }
      #expect(names == (alsoReceives ? ["VP9", "VP8", "H264"] : ["VP9"]))
      // What the other side sends and gets may be two codecs.
      var other = Negotiation(policy: policy, seed: 43, cname: "other")
      _ = other.add(.vp8, "camera")
      _ = try other.setRemoteOffer(try travel(offer))
      let answer = try travel(other.createAnswer(right))
      #expect(answer.media[0].direction == (alsoReceives ? .sendrecv : .recvonly))
      #expect(answer.media[0].rtpMaps.contains { $0.name == "VP9" })
    }
  }

  @Test func anOfferShowsTracksAndData() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 42, cname: "me")
    let track = machine.add(.vp8, "camera")
    machine.wantsData = true
    let offer = try machine.createOffer(left)
    let encoding = track.encodings[0]
    let text = offer.serialized().replacing("\r\n", with: "\n")
    let start = try #require(text.firstRange(of: "m=video")?.lowerBound)
    #expect(text.contains("a=group:BUNDLE 0 1\na=extmap-allow-mixed\na=msid-semantic:WMS *\n"))
    #expect(
      String(text[start...]) == """
        m=video 9 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 0.0.0.0
        a=mid:0
        a=sendonly
        a=msid:s camera
        a=ice-ufrag:left
        a=ice-pwd:0123456789abcdefghijkl
        a=ice-options:trickle
        a=fingerprint:sha-256 AA:BB
        a=setup:actpass
        a=rtcp-mux
        a=rtcp-rsize
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=rtpmap:96 VP8/90000
        a=rtpmap:97 rtx/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 ccm fir
        a=fmtp:97 apt=96
        a=ssrc-group:FID \(encoding.ssrc) \(encoding.retransmissionSSRC)
        a=ssrc:\(encoding.ssrc) cname:me
        a=ssrc:\(encoding.retransmissionSSRC) cname:me
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel
        c=IN IP4 0.0.0.0
        a=mid:1
        a=sendrecv
        a=ice-ufrag:left
        a=ice-pwd:0123456789abcdefghijkl
        a=ice-options:trickle
        a=fingerprint:sha-256 AA:BB
        a=setup:actpass
        a=sctp-port:5000
        a=max-message-size:262144

        """)
  }

  @Test func tracksAreAgreedOnBothSides() throws {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    let video = a.add(.vp8, "v")
    let audio = a.add(.opus, "a")
    try exchange(&a, &b)
    #expect(a.state == .stable && b.state == .stable)
    #expect(a.media.map(\.track) == [video.id, audio.id])
    #expect(a.media.map(\.sends) == [true, true])
    #expect(b.media.map(\.receives) == [true, true])
    #expect(b.media[0].ssrcs == [video.encodings[0].ssrc])
    #expect(a.transport?.isDTLSClient == false && b.transport?.isDTLSClient == true)
    #expect(b.media[1].extensions.id(of: .audioLevel) == a.media[1].extensions.id(of: .audioLevel))
  }

  @Test func aRemovedTracksSectionIsReused() throws {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    let first = a.add(.vp8, "first")
    _ = a.add(.vp8, "second")
    try exchange(&a, &b)
    a.removeTrack(first.id)
    try exchange(&a, &b)
    #expect(b.media.map(\.receives) == [false, true])
    let third = a.add(.vp8, "third")
    try exchange(&a, &b)
    #expect(a.sections.count == 2)
    #expect(b.media[0].stream?.track == "third")
    #expect(b.media[0].ssrcs == [third.encodings[0].ssrc])
  }

  @Test func sectionsCanBeLeftAloneForEver() throws {
    var policy = NegotiationPolicy()
    policy.reusesSections = false
    var a = Negotiation(policy: policy, seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    let first = a.add(.vp8, "first")
    try exchange(&a, &b)
    a.removeTrack(first.id)
    _ = a.add(.vp8, "second")
    try exchange(&a, &b)
    #expect(a.sections.count == 2)
  }

  @Test func aRefusedSectionIsRecycledUnderANewName() throws {
    var policy = NegotiationPolicy()
    policy.codecs = [.opus]
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: policy, seed: 2)
    let video = a.add(.vp8, "v")
    _ = a.add(.opus, "a")
    try exchange(&a, &b)
    #expect(a.sections.map(\.isRejected) == [true, false])
    #expect(a.media.allSatisfy { $0.track != video.id })
    a.removeTrack(video.id)
    _ = a.add(.opus, "again")
    try exchange(&a, &b)
    #expect(a.sections.count == 2)
    #expect(a.sections[0].mid == MID("2") && a.sections[0].kind == .media(.audio))
    #expect(b.media.map(\.stream?.track) == ["again", "a"])
  }

  @Test func bothSidesMayOffer() throws {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    _ = a.add(.vp8, "v")
    try exchange(&a, &b)
    _ = b.add(.opus, "voice")
    let offer = try b.createOffer(right)
    #expect(offer.media.count == 2)
    #expect(offer.media[0].direction == .recvonly, "what the other side sends goes on")
    #expect(offer.media[0].transport.setup == .actpass)
    _ = try a.setRemoteOffer(try travel(offer))
    let answer = try a.createAnswer(left)
    #expect(answer.media[0].direction == .sendonly)
    #expect(answer.media[0].transport.setup == .passive, "the roles of the first exchange stay")
    try b.setRemoteAnswer(try travel(answer))
    #expect(a.media.map(\.sends) == [true, false])
    #expect(a.media.map(\.receives) == [false, true])
    #expect(b.media.map(\.receives) == [true, false])
  }

  @Test func payloadTypesOfThePeerAreKept() throws {
    let text = """
      v=0
      a=group:BUNDLE v
      a=ice-ufrag:them
      a=ice-pwd:zyxwvutsrqponmlkjihgfe
      a=fingerprint:sha-256 CC:DD
      a=setup:actpass
      m=video 9 UDP/TLS/RTP/SAVPF 111 35
      a=mid:v
      a=sendonly
      a=rtcp-mux
      a=rtpmap:111 VP8/90000
      a=rtpmap:35 rtx/90000
      a=fmtp:35 apt=111
      a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
      """
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try SessionDescription(parsing: text))
    _ = try machine.createAnswer(left)
    _ = machine.add(.vp8, "mine")
    _ = machine.add(.opus, "voice")
    let offer = try machine.createOffer(left)
    #expect(offer.media.map(\.formats) == [["111", "35"], ["111", "35"], ["96", "63"]])
    #expect(offer.media[2].rtpMaps[0].name == "opus")
    #expect(Set(offer.media.map(\.mid)).count == 3)
    #expect(offer.media.allSatisfy { $0.extensions.first { $0.id == 1 }?.uri == HeaderExtension.mid.uri })
  }

  @Test func tracksFindPlacesInAnOffer() throws {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    a.wantedReceivers = [.video, .audio]
    _ = b.add(.opus, "voice")
    _ = b.add(.vp8, "camera")
    _ = b.add(.vp8, "no place for this one")
    try exchange(&a, &b)
    #expect(a.media.map(\.stream?.track) == ["camera", "voice"])
    #expect(b.media.map(\.sends) == [true, true])
    #expect(b.unassignedTracks.count == 1)
  }

  @Test func badAnswersAreRefusedAndTheOfferStands() throws {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    _ = a.add(.vp8, "v")
    _ = a.add(.opus, "a")
    _ = try b.setRemoteOffer(try travel(a.createOffer(left)))
    let answer = try b.createAnswer(right)
    func refuse(_ why: String, _ change: (inout SessionDescription) -> Void) {
      var bad = answer
      change(&bad)
      #expect(throws: PeerConnectionError.unusableDescription(why)) { try a.setRemoteAnswer(bad) }
      #expect(a.state == .haveLocalOffer)
    }
    refuse("an answer must not say a=setup:actpass") { bad in
      for index in bad.media.indices { bad.media[index].transport.setup = .actpass }
    }
    refuse("the answer does not have as many media sections as the offer") { $0.media.removeLast() }
    refuse("media section 0 of the answer has another kind than in the offer") { $0.media.swapAt(0, 1) }
    refuse("media section 0 of the answer has another mid than in the offer") { $0.media[0].mid = MID("x") }
    refuse("media section 0 of the answer has no a=rtcp-mux") { $0.media[0].hasRTCPMux = false }
    refuse("the answer does not bundle its media sections") { $0.groups = [] }
    refuse("media section 1 of the answer is not bundled") { $0.groups[0].mids = [MID("0")] }
    try a.setRemoteAnswer(answer)
    #expect(a.state == .stable)
  }

  @Test func aWithdrawnOfferMakesRoomForAnother() throws {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    _ = a.add(.vp8, "v")
    _ = try a.createOffer(left)
    a.withdrawOffer()
    try exchange(&a, &b)
    #expect(b.media.map(\.receives) == [true])
  }
}

@Suite struct RoutingTests {
  private func packet(
    ssrc: UInt32, type: UInt8, mid: String? = nil, rid: String? = nil, repaired: String? = nil,
    _ map: HeaderExtensionMap
  ) throws -> RTPPacket {
    var writer = RTPHeaderExtensionWriter()
    if let mid { writer.append(mid: MID(mid), map) }
    if let rid { writer.append(rid: RID(rid), map) }
    if let repaired { writer.append(repairedRid: RID(repaired), map) }
    let buffer = MediaBuffer(capacity: 200)
    let payload: [UInt8] = [1, 2, 3]
    let written = payload.withUnsafeBytes { bytes in
      RTPPacket.write(
        into: buffer, marker: false, payloadType: PayloadType(type), sequenceNumber: 1, timestamp: 1,
        ssrc: SSRC(ssrc), extensions: writer, payload: bytes)
    }
    #expect(written)
    return try #require(RTPPacket(buffer))
  }

  private func routing(_ tracks: [(Codec, [RID])]) throws -> (Routing, [LocalTrack]) {
    var a = Negotiation(policy: NegotiationPolicy(), seed: 1)
    var b = Negotiation(policy: NegotiationPolicy(), seed: 2)
    let made = tracks.map { a.add($0.0, "t", layers: $0.1) }
    try exchange(&a, &b)
    return (Routing(b.media), made)
  }

  @Test func announcedSourcesGoToTheirSections() throws {
    let (routing, tracks) = try routing([(.vp8, []), (.vp8, [])])
    let encoding = tracks[1].encodings[0]
    let media = routing.destination(of: try packet(ssrc: encoding.ssrc.rawValue, type: 96, routing.extensions))
    #expect(media == .init(mid: MID("1"), isRetransmission: false))
    let repair = routing.destination(
      of: try packet(ssrc: encoding.retransmissionSSRC.rawValue, type: 97, routing.extensions))
    #expect(repair == .init(mid: MID("1"), isRetransmission: true, repairs: encoding.ssrc))
  }

  @Test func theMidElementGoesBeforeTheAnnouncement() throws {
    let (routing, tracks) = try routing([(.vp8, []), (.vp8, [])])
    let ssrc = tracks[1].encodings[0].ssrc.rawValue
    let found = routing.destination(of: try packet(ssrc: ssrc, type: 96, mid: "0", routing.extensions))
    #expect(found?.mid == MID("0"))
    #expect(routing.destination(of: try packet(ssrc: ssrc, type: 96, mid: "9", routing.extensions)) == nil)
  }

  @Test func layersAreToldByTheirNames() throws {
    let (routing, _) = try routing([(.vp8, [RID("q"), RID("f")])])
    let map = routing.extensions
    #expect(
      routing.destination(of: try packet(ssrc: 5, type: 96, mid: "0", rid: "f", map))
        == .init(mid: MID("0"), rid: RID("f"), isRetransmission: false))
    #expect(
      routing.destination(of: try packet(ssrc: 6, type: 97, mid: "0", repaired: "q", map))
        == .init(mid: MID("0"), rid: RID("q"), isRetransmission: true))
    #expect(routing.destination(of: try packet(ssrc: 7, type: 96, mid: "0", rid: "x", map)) == nil)
    #expect(routing.destination(of: try packet(ssrc: 8, type: 96, mid: "0", map)) == nil)
  }

  @Test func unknownSourcesOfAnnouncingSectionsAreNotGuessed() throws {
    let (routing, _) = try routing([(.vp8, [])])
    #expect(routing.destination(of: try packet(ssrc: 99, type: 96, routing.extensions)) == nil)
  }
}
