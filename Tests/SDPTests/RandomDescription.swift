import MediaCore
import SDP

/// Makes session descriptions of any shape, for the round-trip property.
struct DescriptionMaker {
  var random: SeededRandom

  mutating func description() -> SessionDescription {
    var result = SessionDescription(
      origin: .init(username: token(), sessionID: String(random.next()), version: random.next()), name: token())
    result.connection = maybe { _ in "IN IP4 192.0.2.1" }
    result.bandwidths = list(2) { "AS:\($0.number(9999))" }
    result.groups = list(2) { maker in .init(semantics: "BUNDLE", mids: maker.list(4) { MID($0.token()) }) }
    result.isLite = flip()
    result.allowsMixedExtensions = flip()
    result.transport = transport()
    result.extensions = list(3) { $0.mapping() }
    result.attributes = list(3) { $0.attribute() }
    result.media = list(5) { $0.section() }
    return result
  }

  mutating func section() -> MediaDescription {
    let kinds: [MediaDescription.Kind] = [.media(.audio), .media(.video), .application, .other("text")]
    var media = MediaDescription(
      kind: pick(kinds), port: UInt16(number(65_535)), proto: "UDP/TLS/RTP/SAVPF",
      formats: list(4) { String($0.number(127)) })
    media.connection = maybe { _ in "IN IP6 ::1" }
    media.bandwidths = list(2) { "TIAS:\($0.number(999_999))" }
    media.mid = maybe { MID($0.token()) }
    media.direction = pick(Direction.allCases)
    media.transport = transport()
    media.candidates = list(3) { $0.candidate() }
    media.hasEndOfCandidates = flip()
    media.isBundleOnly = flip()
    media.hasRTCPMux = flip()
    media.hasReducedSizeRTCP = flip()
    media.allowsMixedExtensions = flip()
    media.rtpMaps = list(4) { maker in
      RTPMap(
        payloadType: maker.payloadType(), name: maker.token(), clockRate: maker.number(90_000) + 1,
        channels: maker.maybe { $0.number(7) + 1 })
    }
    media.formatParameters = list(3) { .init(payloadType: $0.payloadType(), text: "a=\($0.token()); b=1") }
    media.feedback = list(3) { maker in
      .init(payloadType: maker.maybe { $0.payloadType() }, value: maker.pick(["nack", "nack pli", "transport-cc"]))
    }
    media.extensions = list(3) { $0.mapping() }
    media.streams = list(2) { maker in .init(stream: maker.token(), track: maker.maybe { $0.token() }) }
    media.ssrcs = list(3) { maker in
      .init(ssrc: maker.ssrc(), name: maker.token(), value: maker.maybe { $0.token() + " " + $0.token() })
    }
    media.ssrcGroups = list(2) { maker in
      .init(semantics: "FID", ssrcs: [maker.ssrc()] + maker.list(2) { $0.ssrc() })
    }
    media.rids = list(3) { .init(id: RID($0.token()), sends: $0.flip(), restrictions: $0.flip() ? "max-fps=30" : "") }
    media.simulcast = maybe { maker in
      // One of the two directions at least: the attribute cannot be empty.
      .init(send: [[maker.alternative()]] + maker.alternatives(), receive: maker.alternatives())
    }
    media.sctpPort = maybe { UInt16($0.number(65_535)) }
    media.maximumMessageSize = maybe { $0.random.next() }
    media.attributes = list(3) { $0.attribute() }
    return media
  }

  private mutating func alternatives() -> [[SimulcastDescription.Alternative]] {
    list(3) { maker in [maker.alternative()] + maker.list(2) { $0.alternative() } }
  }

  private mutating func alternative() -> SimulcastDescription.Alternative {
    .init(rid: RID(token()), isPaused: flip())
  }

  private mutating func transport() -> TransportAttributes {
    var result = TransportAttributes()
    result.iceUfrag = maybe { $0.token() + "0000" }
    result.icePassword = maybe { _ in "0123456789/+abcdefghijkl" }
    result.iceOptions = list(2) { $0.token() }
    result.fingerprints = list(2) { _ in .init(algorithm: "SHA-256", value: "aB:01") }
    result.setup = maybe { $0.pick([SetupRole.active, .passive, .actpass, .holdconn]) }
    return result
  }

  private mutating func candidate() -> CandidateAttribute {
    CandidateAttribute(
      foundation: token(), component: number(255) + 1, transport: pick(["udp", "tcp"]),
      priority: UInt32(truncatingIfNeeded: random.next()), address: pick(["192.0.2.7", "2001:db8::1"]),
      port: UInt16(number(65_535)), kind: pick([.host, .serverReflexive, .peerReflexive, .relayed]),
      rest: flip() ? "raddr 0.0.0.0 rport 0" : "")
  }

  private mutating func mapping() -> ExtensionMapping {
    ExtensionMapping(
      id: UInt8(number(13) + 1), direction: maybe { $0.pick(Direction.allCases) }, uri: "urn:x:" + token(),
      attributes: flip() ? "vad=on" : "")
  }

  private mutating func attribute() -> SDPAttribute {
    // The names are unknown ones, so that the reader keeps them as they are.
    SDPAttribute("x-" + token(), maybe { $0.token() + ":" + $0.token() })
  }

  mutating func token() -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
    return String((0...number(8)).map { _ in letters[number(letters.count - 1)] })
  }

  private mutating func ssrc() -> SSRC { SSRC(UInt32(truncatingIfNeeded: random.next())) }
  private mutating func payloadType() -> PayloadType { PayloadType(UInt8(number(127))) }
  mutating func flip() -> Bool { random.next() & 1 == 0 }
  /// 0...`largest`.
  mutating func number(_ largest: Int) -> Int { Int(random.next() % UInt64(largest + 1)) }
  mutating func pick<T>(_ values: [T]) -> T { values[number(values.count - 1)] }
  mutating func maybe<T>(_ make: (inout DescriptionMaker) -> T) -> T? { flip() ? make(&self) : nil }
  mutating func list<T>(_ largest: Int, _ make: (inout DescriptionMaker) -> T) -> [T] {
    (0..<number(largest)).map { _ in make(&self) }
  }
}
