import MediaCore
import RTP
import SDP
import Testing

@testable import PeerConnection

private let local = Negotiation.LocalTransport(
  ufrag: "ours", password: "0123456789abcdefghijkl", fingerprint: .init(algorithm: "sha-256", value: "AA:BB"))
private let remote = Negotiation.LocalTransport(
  ufrag: "them", password: "zyxwvutsrqponmlkjihgfe", fingerprint: .init(algorithm: "sha-256", value: "CC:DD"))

/// An offer's text: session part and sections, with the transport attributes that every section needs.
private func offer(_ sections: [String], bundle: String = "0 1 2 3 4", session: String = "") throws
  -> SessionDescription
{
  let head = "v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nt=0 0\na=group:BUNDLE \(bundle)\n\(session)"
  let transport = """
    a=ice-ufrag:them
    a=ice-pwd:zyxwvutsrqponmlkjihgfe
    a=fingerprint:sha-256 CC:DD
    a=setup:actpass

    """
  return try SessionDescription(parsing: head + sections.map { $0 + "\n" + transport }.joined())
}

private let vp8Section = """
  m=video 9 UDP/TLS/RTP/SAVPF 98 99 96 97
  a=mid:1
  a=sendonly
  a=rtcp-mux
  a=rtcp-rsize
  a=rtpmap:98 VP9/90000
  a=rtpmap:99 rtx/90000
  a=fmtp:99 apt=98
  a=rtpmap:96 VP8/90000
  a=rtcp-fb:96 goog-remb
  a=rtcp-fb:96 ccm fir
  a=rtcp-fb:96 nack
  a=rtcp-fb:96 nack pli
  a=rtcp-fb:96 transport-cc
  a=rtpmap:97 rtx/90000
  a=fmtp:97 apt=96
  a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time
  a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
  a=extmap:9 urn:example:unknown
  a=msid:PA_x|TR_v TR_v
  a=ssrc-group:FID 3001 3002
  a=ssrc:3001 cname:x
  a=ssrc:3002 cname:x
  """

private let opusSection = """
  m=audio 9 UDP/TLS/RTP/SAVPF 63 111 0
  a=mid:0
  a=sendonly
  a=rtcp-mux
  a=rtpmap:63 red/48000/2
  a=fmtp:63 111/111
  a=rtpmap:111 opus/48000/2
  a=fmtp:111 minptime=10;useinbandfec=1;sprop-stereo=1
  a=rtcp-fb:111 nack
  a=msid:PA_x|TR_a TR_a
  a=ssrc:2001 cname:x
  """

private let dataSection = """
  m=application 9 UDP/DTLS/SCTP webrtc-datachannel
  a=mid:2
  a=sctp-port:5000
  a=max-message-size:65535
  """

/// The lines of one section of an answer that say what was agreed.
private func section(_ description: SessionDescription, _ index: Int) -> String {
  let lines = description.serialized().split(whereSeparator: \.isNewline).map { String($0) }
  var sections: [[String]] = [[]]
  for line in lines {
    if line.hasPrefix("m=") { sections.append([]) }
    sections[sections.count - 1].append(line)
  }
  return sections[index + 1].joined(separator: "\n")
}

@Suite struct NegotiationTests {
  /// As a LiveKit server offers it: every codec is taken under its number and with its parameters, whether it can be
  /// decoded or not; only the interleaved mode of H.264 is not.
  @Test func aSubscriberTakesEveryCodecAsItIsOffered() throws {
    var policy = NegotiationPolicy()
    policy.codecs = CodecTable.rows.map(\.codec)
    var machine = Negotiation(policy: policy, seed: 1)
    let offered = [
      ("98", "VP9", "profile-id=0"), ("100", "VP9", "profile-id=1"),
      ("125", "H264", "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f"),
      ("108", "H264", "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
      (
        "123", "H264",
        "profile-level-id=640032;packetization-mode=1;sprop-parameter-sets=Z0LACtoR7ARAAAADAEAAAA8DxIk=,aM4DHIA="
      ),
      ("35", "AV1", ""), ("116", "H265", ""), ("96", "VP8", ""),
    ]
    var text = "m=video 9 UDP/TLS/RTP/SAVPF 98 100 125 108 123 35 116 96 77\na=mid:0\na=sendonly\na=rtcp-mux\n"
    for (type, name, parameters) in offered + [("77", "H264", "packetization-mode=2")] {
      text += "a=rtpmap:\(type) \(name)/90000\n" + (parameters.isEmpty ? "" : "a=fmtp:\(type) \(parameters)\n")
    }
    _ = try machine.setRemoteOffer(try offer([text + "a=msid:PA_x|TR_v TR_v"], bundle: "0"))
    let answer = section(try machine.createAnswer(local), 0)
    #expect(answer.hasPrefix("m=video 9 UDP/TLS/RTP/SAVPF 98 100 125 108 123 35 116 96\n"), "\(answer)")
    for (type, name, parameters) in offered {
      #expect(answer.contains("a=rtpmap:\(type) \(name)/90000"))
      #expect(parameters.isEmpty || answer.contains("a=fmtp:\(type) \(parameters)"), "\(answer)")
    }
    let media = try #require(machine.media.first)
    #expect(media.receivePayloads.format(of: PayloadType(116)) == .codec(.h265))
    #expect(media.parameterSets[PayloadType(123)]?.count == 33 && media.parameterSets.count == 1)
  }

  @Test func aSubscriberAnswersWithWhatItCanReceive() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    let restarts = try machine.setRemoteOffer(try offer([opusSection, vp8Section, dataSection], bundle: "0 1 2"))
    #expect(!restarts)
    let answer = try machine.createAnswer(local)
    #expect(answer.bundle == [MID("0"), MID("1"), MID("2")])
    #expect(
      section(answer, 0) == """
        m=audio 9 UDP/TLS/RTP/SAVPF 63 111
        c=IN IP4 0.0.0.0
        a=mid:0
        a=recvonly
        a=ice-ufrag:ours
        a=ice-pwd:0123456789abcdefghijkl
        a=ice-options:trickle
        a=fingerprint:sha-256 AA:BB
        a=setup:active
        a=rtcp-mux
        a=rtpmap:63 red/48000/2
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 nack
        a=fmtp:63 111/111
        a=fmtp:111 minptime=10;useinbandfec=1;stereo=1
        """)
    #expect(
      section(answer, 1) == """
        m=video 9 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 0.0.0.0
        a=mid:1
        a=recvonly
        a=ice-ufrag:ours
        a=ice-pwd:0123456789abcdefghijkl
        a=ice-options:trickle
        a=fingerprint:sha-256 AA:BB
        a=setup:active
        a=rtcp-mux
        a=rtcp-rsize
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time
        a=rtpmap:96 VP8/90000
        a=rtpmap:97 rtx/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 ccm fir
        a=fmtp:97 apt=96
        """)
    #expect(
      section(answer, 2) == """
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel
        c=IN IP4 0.0.0.0
        a=mid:2
        a=sendrecv
        a=ice-ufrag:ours
        a=ice-pwd:0123456789abcdefghijkl
        a=ice-options:trickle
        a=fingerprint:sha-256 AA:BB
        a=setup:active
        a=sctp-port:5000
        a=max-message-size:262144
        """)
    #expect(machine.hasData)
    let media = machine.media
    #expect(media.map(\.receives) == [true, true])
    #expect(media[1].ssrcs == [SSRC(3001)])
    #expect(media[1].retransmissions == [SSRC(3002): SSRC(3001)])
    #expect(media[1].stream == MediaStreamTrack(stream: "PA_x|TR_v", track: "TR_v"))
    #expect(media[1].receiveFeedback == [.nack, .pli, .fir])
    #expect(machine.transport?.isDTLSClient == true)
  }

  /// Static types need no line (RFC 3551 table 4); keys of telephones and comfort noise are not asked for.
  @Test func codecsOfTelephonesAreTakenAndWhatIsNoSoundIsNot() throws {
    var policy = NegotiationPolicy()
    policy.codecs = CodecTable.codecs
    var machine = Negotiation(policy: policy, seed: 1)
    let text = """
      m=audio 9 UDP/TLS/RTP/SAVPF 9 0 8 13 101 102
      a=mid:0
      a=sendonly
      a=rtcp-mux
      a=rtpmap:8 PCMA/8000/1
      a=rtpmap:13 CN/8000
      a=rtpmap:101 telephone-event/8000
      a=rtpmap:102 PCMU/16000
      """
    _ = try machine.setRemoteOffer(try offer([text], bundle: "0"))
    let answer = section(try machine.createAnswer(local), 0)
    #expect(answer.hasPrefix("m=audio 9 UDP/TLS/RTP/SAVPF 9 0 8\n"), "\(answer)")
    #expect(answer.hasSuffix("a=rtpmap:9 G722/8000\na=rtpmap:0 PCMU/8000\na=rtpmap:8 PCMA/8000/1"), "\(answer)")
    #expect(!answer.contains("telephone-event") && !answer.contains("CN/8000"))
    let payloads = try #require(machine.media.first).receivePayloads
    #expect([9, 0, 8].map { payloads.format(of: PayloadType($0)) } == [.codec(.g722), .codec(.pcmu), .codec(.pcma)])
    #expect([13, 101, 102].allSatisfy { payloads.format(of: PayloadType($0)) == nil })
  }

  @Test func redundantSoundIsTakenAsItIsOffered() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try offer([opusSection], bundle: "0"))
    let answer = try machine.createAnswer(local)
    #expect(answer.media[0].formats == ["63", "111"])
    #expect(machine.media[0].receivePayloads.format(of: PayloadType(63)) == .redundancy(of: PayloadType(111)))
  }

  @Test func aSectionWithoutOurCodecsIsRefusedAndTheOthersGoOn() throws {
    let vp9 = """
      m=video 9 UDP/TLS/RTP/SAVPF 98
      a=mid:1
      a=rtcp-mux
      a=rtpmap:98 VP9/90000
      """
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try offer([opusSection, vp9, dataSection], bundle: "0 1 2"))
    let answer = try machine.createAnswer(local)
    #expect(answer.bundle == [MID("0"), MID("2")])
    #expect(answer.media[1].isRejected && answer.media[1].formats == ["98"])
    #expect(answer.media[1].direction == .inactive)
    #expect(machine.media.map(\.mid) == [MID("0")])
  }

  @Test func withoutABundleOnlyTheFirstSectionIsTaken() throws {
    let text = try offer([opusSection, vp8Section], bundle: "")
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(text)
    let answer = try machine.createAnswer(local)
    #expect(answer.media.map(\.isRejected) == [false, true])
    #expect(answer.bundle == nil)
  }

  @Test func aReusedSectionCarriesTheNewTrack() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try offer([vp8Section], bundle: "1"))
    _ = try machine.createAnswer(local)
    let inactive = vp8Section.replacing("a=sendonly", with: "a=inactive")
    _ = try machine.setRemoteOffer(try offer([inactive], bundle: "1"))
    let answer = try machine.createAnswer(local)
    #expect(answer.media[0].direction == .inactive && !answer.media[0].isRejected)
    #expect(machine.media[0].receives == false)
    let other = vp8Section.replacing("3001", with: "4001").replacing("3002", with: "4002")
      .replacing("TR_v", with: "TR_w")
    _ = try machine.setRemoteOffer(try offer([other], bundle: "1"))
    _ = try machine.createAnswer(local)
    #expect(machine.media[0].stream?.track == "TR_w")
    #expect(machine.media[0].ssrcs == [SSRC(4001)])
    #expect(machine.media[0].receives)
  }

  @Test func newCredentialsInAnOfferRestartICE() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try offer([opusSection], bundle: "0"))
    _ = try machine.createAnswer(local)
    var again = try offer([opusSection], bundle: "0")
    #expect(try machine.setRemoteOffer(again) == false)
    _ = try machine.createAnswer(local)
    again.media[0].transport.iceUfrag = "newer"
    again.media[0].transport.icePassword = "abcdefghijklmnopqrstuvwx"
    #expect(try machine.setRemoteOffer(again))
    #expect(machine.transport?.ufrag == "newer")
    let answer = try machine.createAnswer(local)
    #expect(answer.media[0].transport.setup == .active, "the DTLS association stays")
  }

  @Test(arguments: [
    (SetupRole.active, SetupRole.passive), (.passive, .active), (.actpass, .active),
  ])
  func theOfferedSetupIsObeyed(offered: SetupRole, answered: SetupRole) throws {
    var description = try offer([opusSection], bundle: "0")
    description.media[0].transport.setup = offered
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(description)
    #expect(try machine.createAnswer(local).media[0].transport.setup == answered)
    #expect(machine.transport?.isDTLSClient == (answered == .active))
  }

  @Test func aServerMayChooseToBePassive() throws {
    var policy = NegotiationPolicy()
    policy.answererSetup = .passive
    var machine = Negotiation(policy: policy, seed: 1)
    _ = try machine.setRemoteOffer(try offer([opusSection], bundle: "0"))
    #expect(try machine.createAnswer(local).media[0].transport.setup == .passive)
    #expect(machine.transport?.isDTLSClient == false)
  }

  @Test func fingerprintsAndCredentialsMayStandAtSessionLevel() throws {
    let text = """
      v=0
      a=group:BUNDLE 0
      a=ice-ufrag:them
      a=ice-pwd:zyxwvutsrqponmlkjihgfe
      a=ice-lite
      a=setup:actpass
      a=fingerprint:sha-1 00:11
      a=fingerprint:SHA-256 cc:dd

      """
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try SessionDescription(parsing: text + opusSection))
    #expect(
      machine.transport
        == NegotiatedTransport(
          ufrag: "them", password: "zyxwvutsrqponmlkjihgfe", isLite: true, isDTLSClient: true,
          fingerprint: .init(algorithm: "sha-256", value: "CC:DD")))
  }

  @Test func unusableOffersAreRefusedAndChangeNothing() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    func refuse(_ why: String, _ description: SessionDescription) {
      #expect(throws: PeerConnectionError.unusableDescription(why)) { try machine.setRemoteOffer(description) }
      #expect(machine.state == .stable)
    }
    refuse("the offer has no media sections", SessionDescription(origin: .init(sessionID: "1", version: 1)))
    var description = try offer([opusSection], bundle: "0")
    description.media[0].transport.iceUfrag = nil
    refuse("it has no ICE credentials (a=ice-ufrag, a=ice-pwd)", description)
    description = try offer([opusSection], bundle: "0")
    description.media[0].transport.fingerprints = [.init(algorithm: "md2", value: "00")]
    refuse("it has no certificate fingerprint of a known hash (a=fingerprint)", description)
    refuse("two media sections have the same mid", try offer([opusSection, opusSection], bundle: "0"))
    _ = try machine.setRemoteOffer(try offer([opusSection, vp8Section], bundle: "0 1"))
    _ = try machine.createAnswer(local)
    refuse("the offer has fewer media sections than the one before", try offer([opusSection], bundle: "0"))
    refuse(
      "media section 0 changed its mid or its kind while in use",
      try offer([dataSection, vp8Section], bundle: "2 1"))
    description = try offer([opusSection, vp8Section], bundle: "0 1")
    for index in description.media.indices {
      description.media[index].transport.fingerprints = [.init(algorithm: "sha-256", value: "EE:FF")]
    }
    refuse("it changes the certificate of a running connection", description)
    description = try offer([opusSection, vp8Section], bundle: "0 1")
    for index in description.media.indices { description.media[index].transport.setup = .active }
    refuse("it exchanges the DTLS roles of a running connection", description)
    #expect(machine.media.count == 2)
  }

  @Test func operationsInTheWrongStateAreRefused() throws {
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    #expect(throws: PeerConnectionError.wrongState(operation: "Making an answer", state: .stable)) {
      try machine.createAnswer(local)
    }
    let description = try offer([opusSection], bundle: "0")
    #expect(throws: PeerConnectionError.wrongState(operation: "Taking an answer", state: .stable)) {
      try machine.setRemoteAnswer(description)
    }
    #expect(
      throws: PeerConnectionError.unusableDescription("there is neither a track nor a data channel to offer")
    ) { try machine.createOffer(local) }
    _ = try machine.setRemoteOffer(description)
    #expect(throws: PeerConnectionError.wrongState(operation: "Taking an offer", state: .haveRemoteOffer)) {
      try machine.setRemoteOffer(description)
    }
  }

  @Test func simulcastIsAnsweredLayerByLayer() throws {
    let simulcast = """
      m=video 9 UDP/TLS/RTP/SAVPF 96 97
      a=mid:0
      a=sendonly
      a=rtcp-mux
      a=rtpmap:96 VP8/90000
      a=rtpmap:97 rtx/90000
      a=fmtp:97 apt=96
      a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
      a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
      a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
      a=rid:f send
      a=rid:h send
      a=rid:q send
      a=simulcast:send f;h;q
      """
    var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
    _ = try machine.setRemoteOffer(try offer([simulcast], bundle: "0"))
    let answer = try machine.createAnswer(local)
    let text = section(answer, 0)
    #expect(text.contains("a=rid:f recv\na=rid:h recv\na=rid:q recv\na=simulcast:recv f;h;q"))
    #expect(machine.media[0].rids == [RID("f"), RID("h"), RID("q")])
    #expect(machine.media[0].extensions.id(of: .repairedRid) == 11)
  }

  @Test func realOffersAreAnswered() throws {
    for text in [Fixtures.libwebrtcOffer, Fixtures.aiortcOffer, Fixtures.liveKitSubscriberOffer] {
      var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
      _ = try machine.setRemoteOffer(try SessionDescription(parsing: text))
      let answer = try machine.createAnswer(local)
      #expect(answer.media.allSatisfy { !$0.isRejected })
      #expect(answer.media.count == 3)
      #expect(answer.media.allSatisfy { !$0.transport.iceOptions.contains("goog-sped-v1") })
      #expect(!answer.serialized().contains("sctp-init"))
      #expect(machine.hasData)
    }
  }

  @Test func noMutatedOfferTraps() throws {
    let original = Array(Fixtures.aiortcOffer.utf8)
    var random = SeededRandom(seed: 11)
    var answered = 0
    for _ in 0..<300 {
      var bytes = original
      for _ in 0..<(1 + random.next() % 6) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next() & 0x7f)
      }
      guard let read = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else { continue }
      var machine = Negotiation(policy: NegotiationPolicy(), seed: 1)
      guard (try? machine.setRemoteOffer(read)) != nil, let answer = try? machine.createAnswer(local) else { continue }
      answered += 1
      #expect(answer.media.count == read.media.count)
      #expect(machine.media.count <= read.media.count)
      // Our own offer after it is an offer of the same sections.
      machine.wantsData = true
      #expect(try machine.createOffer(local).media.count >= read.media.count)
    }
    #expect(answered > 50)
  }
}
