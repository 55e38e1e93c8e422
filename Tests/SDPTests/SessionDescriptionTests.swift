import MediaCore
import Testing

@testable import SDP

@Suite struct SessionDescriptionTests {
  @Test func whatIsWrittenIsReadBackEqual() throws {
    for seed in UInt64(0)..<500 {
      var maker = DescriptionMaker(random: SeededRandom(seed: seed))
      let made = maker.description()
      let read = try SessionDescription(parsing: made.serialized())
      #expect(read == made, "seed \(seed)")
    }
  }

  @Test(arguments: [Fixtures.libwebrtcOffer, Fixtures.aiortcOffer, Fixtures.liveKitSubscriberOffer])
  func realOffersSurviveRewriting(text: String) throws {
    let read = try SessionDescription(parsing: text)
    #expect(try SessionDescription(parsing: read.serialized()) == read)
    #expect(read.media.count == 3)
  }

  @Test func lineEndsDoNotMatter() throws {
    let lf = try SessionDescription(parsing: Fixtures.libwebrtcOffer)
    let crlf = try SessionDescription(parsing: Fixtures.libwebrtcOffer.replacing("\n", with: "\r\n"))
    #expect(lf == crlf)
  }

  @Test func libwebrtcOfferIsUnderstood() throws {
    let offer = try SessionDescription(parsing: Fixtures.libwebrtcOffer)
    #expect(offer.bundle == [MID("0"), MID("3"), MID("6")])
    #expect(offer.allowsMixedExtensions)
    let video = offer.media[1]
    #expect(video.kind == .media(.video))
    #expect(video.direction == .recvonly)
    #expect(video.transport.iceOptions == ["trickle", "goog-sped-v1"])
    #expect(video.transport.setup == .actpass)
    let vp8 = PayloadType(96)
    #expect(video.rtpMap(of: vp8) == RTPMap(payloadType: vp8, name: "VP8", clockRate: 90_000))
    #expect(video.retransmissionType(of: vp8) == PayloadType(97))
    #expect(video.feedback(of: vp8).contains("nack pli"))
    #expect(video.parameters(of: PayloadType(103))?.value(of: "profile-level-id") == "42001f")
    #expect(video.extensions.first { $0.id == 11 }?.uri == "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id")
    let data = offer.media[2]
    #expect(data.kind == .application && data.sctpPort == 5000 && data.maximumMessageSize == 262_144)
    #expect(data.attributes.contains { $0.name == "sctp-init" })
  }

  @Test func retransmissionSourcesAreFoundByTheirGroup() throws {
    let video = try SessionDescription(parsing: Fixtures.liveKitSubscriberOffer).media[2]
    #expect(video.announcedSSRCs == [SSRC(3001), SSRC(3002)])
    #expect(video.retransmittedSSRCs == [SSRC(3002): SSRC(3001)])
    #expect(video.streams == [MediaStreamTrack(stream: "PA_alice|TR_video", track: "TR_video")])
  }

  @Test func sessionLevelAttributesHoldForSectionsWithoutTheirOwn() throws {
    let offer = try SessionDescription(parsing: Fixtures.liveKitSubscriberOffer)
    let transport = offer.transport(of: offer.media[1])
    #expect(offer.isLite)
    #expect(transport.fingerprints.first?.algorithm == "sha-256")
    #expect(transport.iceUfrag == "ufragOne")
    #expect(transport.setup == .actpass)
    let quiet = try SessionDescription(
      parsing: "v=0\na=inactive\nm=audio 9 RTP/SAVPF 0\nm=audio 9 RTP/SAVPF 0\na=sendonly\n")
    #expect(quiet.media.map(\.direction) == [.inactive, .sendonly])
  }

  @Test func simulcastLayersAreRead() throws {
    let text = """
      v=0
      m=video 9 UDP/TLS/RTP/SAVPF 96
      a=rid:f send
      a=rid:h send pt=96;max-fps=15
      a=rid:q send
      a=simulcast:send f;h,~q recv x
      """
    let media = try SessionDescription(parsing: text).media[0]
    #expect(media.rids.map(\.id.rawValue) == ["f", "h", "q"])
    #expect(media.rids[1].restrictions == "pt=96;max-fps=15")
    #expect(media.simulcast?.send.map { $0.map(\.rid.rawValue) } == [["f"], ["h", "q"]])
    #expect(media.simulcast?.send[1][1].isPaused == true)
    #expect(media.simulcast?.receive.count == 1)
  }

  @Test func malformedAttributesAreKeptButHaveNoEffect() throws {
    let text = """
      v=0
      m=audio 9 UDP/TLS/RTP/SAVPF 111
      a=rtpmap:111
      a=rtpmap:300 opus/48000/2
      a=rtpmap:111 opus/0
      a=fmtp:x y
      a=extmap:0 urn:x
      a=extmap:15 urn:x
      a=ssrc:99999999999 cname:x
      a=candidate:1 1 udp
      a=setup:sideways
      a=ice-ufrag:x
      a=sctp-port:70000
      a=simulcast:send
      a=rid:q sideways
      a=
      a=:
      x
      zz=1
      """
    let media = try SessionDescription(parsing: text).media[0]
    #expect(media.rtpMaps.isEmpty && media.formatParameters.isEmpty && media.extensions.isEmpty)
    #expect(media.ssrcs.isEmpty && media.candidates.isEmpty && media.rids.isEmpty)
    #expect(media.transport == TransportAttributes())
    #expect(media.attributes.count == 13)
  }

  @Test func textThatIsNoDescriptionIsRefused() {
    #expect(throws: SDPError.notASessionDescription) { try SessionDescription(parsing: "") }
    #expect(throws: SDPError.notASessionDescription) { try SessionDescription(parsing: "hello") }
    #expect(throws: SDPError.malformedMediaLine(line: 2)) { try SessionDescription(parsing: "v=0\nm=audio x y z") }
    #expect(throws: SDPError.malformedMediaLine(line: 2)) { try SessionDescription(parsing: "v=0\nm=audio 65536 y") }
    let many = "v=0\n" + String(repeating: "m=audio 9 RTP/SAVPF 0\n", count: 1025)
    #expect(throws: SDPError.tooManySections) { try SessionDescription(parsing: many) }
    let long = "v=0\n" + String(repeating: "a", count: SessionDescription.maximumLength)
    #expect(throws: SDPError.tooLong(bytes: long.utf8.count)) { try SessionDescription(parsing: long) }
  }

  @Test func noMutationOfARealOfferTraps() {
    let original = Array(Fixtures.libwebrtcOffer.utf8)
    var random = SeededRandom(seed: 7)
    for _ in 0..<400 {
      var bytes = original
      for _ in 0..<(1 + random.next() % 12) {
        let index = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: index)
        default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let read = try? SessionDescription(parsing: text) else { continue }
      // What was read once is stable from then on.
      let again = try? SessionDescription(parsing: read.serialized())
      #expect(again?.media.count == read.media.count)
    }
  }

  @Test func valuesCannotAddLines() throws {
    var description = SessionDescription(origin: .init(sessionID: "1", version: 1))
    description.attributes = [SDPAttribute("tool", "x\r\na=ice-lite\nm=audio 9 RTP/AVP 0")]
    let read = try SessionDescription(parsing: description.serialized())
    #expect(!read.isLite && read.media.isEmpty)
  }
}

@Suite struct ICECandidateTests {
  @Test func aTrickledCandidateIsReadAndWrittenBack() {
    let text = "candidate:842163049 1 udp 1677729535 203.0.113.5 46622 typ srflx raddr 0.0.0.0 rport 0 generation 0"
    let candidate = CandidateAttribute(text)
    #expect(candidate?.kind == .serverReflexive)
    #expect(candidate?.port == 46_622)
    #expect(candidate?.description == text)
    #expect(CandidateAttribute("a=" + text) == candidate)
  }

  @Test(arguments: [
    "", "candidate:", "candidate:1 1 udp 1 h 1 typ", "candidate:1 1 udp 1 h 99999 typ host",
    "candidate:1 0 udp 1 h 9 typ host", "candidate:1 1 udp x h 9 typ host", "candidate:1 1 udp 1 h 9 typ moon",
    "candidate 1 1 udp 1 h 9 typ host",
  ])
  func malformedCandidatesAreRefused(text: String) {
    #expect(CandidateAttribute(text) == nil)
  }
}
