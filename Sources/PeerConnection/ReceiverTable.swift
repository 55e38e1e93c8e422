import MediaCore
import RTP

/// The receivers of a connection, and which of their streams an arriving packet belongs to.
///
/// A source (SSRC) is known since it was announced, or since its first packet could be told by `Routing`:
/// ```
///              announced by the description, or routed
///   unknown ────────────────────────────────────────────▶ known (media, or repair of a medium)
///      ▲   the section goes, its track changes, its layer or
///      └── repair begins again under another number ◀──────┘
/// ```
/// Numbers of sources that went are kept until `takeForgotten`, for the keys that belong to them.
struct ReceiverTable {
  /// What packets of one SSRC are.
  enum Source {
    case media(ReceiveStream)
    /// Retransmissions of a stream.
    case retransmission(of: ReceiveStream)

    /// The stream that its packets come to.
    var stream: ReceiveStream {
      switch self {
      case .media(let stream), .retransmission(let stream): stream
      }
    }
  }

  /// Most sources that one section may have without announcing them: three layers with repair, and again after a
  /// change of all of them.
  private static let maximumSourcesPerSection = 16

  /// In the order of their sections, also those that carry nothing now.
  private(set) var all: [RTPReceiver] = []
  /// Sources that were not taken because a section had too many.
  private(set) var refused = 0
  private var byMID: [MID: RTPReceiver] = [:]
  private var routing = Routing()
  private var sources: [SSRC: Source] = [:]
  /// Packets of one source often come one after the other.
  private var last: (ssrc: SSRC, source: Source)?
  private var forgotten: [SSRC] = []

  /// Sources that are known.
  var sourceCount: Int { sources.count }
  /// The header extensions of all sections.
  var extensions: HeaderExtensionMap { routing.extensions }
  /// The media source of a number; nil for repair too.
  func media(_ ssrc: SSRC) -> ReceiveStream? {
    if case .media(let stream) = sources[ssrc] { stream } else { nil }
  }

  /// Whether sources went since `takeForgotten`.
  var hasForgotten: Bool { !forgotten.isEmpty }

  /// The sources that went since the last call.
  mutating func takeForgotten() -> [SSRC] {
    defer { forgotten = [] }
    return forgotten
  }

  // MARK: Negotiation

  /// Takes over what was negotiated. Gives the receivers whose sections stopped.
  mutating func begin(_ media: [NegotiatedMedia], sections: Set<MID>) -> [RTPReceiver] {
    routing = Routing(media)
    let receiving = Set(media.lazy.filter(\.receives).map(\.mid))
    let stopped = all.filter { $0.isActive && !receiving.contains($0.mid) }
    for receiver in stopped {
      receiver.isActive = false
      forgetStreams(of: receiver) { _ in true }
    }
    // A recycled section has a new name; nobody will speak of the old one again.
    all.removeAll { !sections.contains($0.mid) }
    byMID = byMID.filter { sections.contains($0.key) }
    return stopped
  }

  /// The receiver of a section; `make` makes it when there is none of its kind.
  mutating func receiver(of section: NegotiatedMedia, make: () -> RTPReceiver) -> RTPReceiver {
    if let receiver = byMID[section.mid], receiver.kind == section.kind { return receiver }
    let receiver = make()
    if byMID.updateValue(receiver, forKey: section.mid) != nil { all.removeAll { $0.mid == section.mid } }
    all.append(receiver)
    return receiver
  }

  /// Brings a receiver in line with its section: sources of another track go, announced ones are known from now on.
  /// Gives what its track was before: nil when it carried nothing.
  mutating func update(_ receiver: RTPReceiver, with section: NegotiatedMedia) -> (stream: String?, track: String?)? {
    let before = receiver.isActive ? (stream: receiver.streamID, track: receiver.trackID) : nil
    receiver.take(section)
    if let before {
      let isSameTrack = before == (receiver.streamID, receiver.trackID)
      let announced = Set(section.ssrcs)
      // A section with announced sources has no others; without them, another track has other sources.
      forgetStreams(of: receiver) { announced.isEmpty ? !isSameTrack : !announced.contains($0.ssrc) }
    }
    for ssrc in section.ssrcs where sources[ssrc] == nil {
      if let codec = receiver.codecs.first { _ = addStream(ssrc, rid: nil, codec: codec, to: receiver) }
    }
    return before
  }

  /// Everything goes.
  mutating func removeAll() {
    for receiver in all {
      receiver.isActive = false
      receiver.streams = []
    }
    sources = [:]
    last = nil
  }

  // MARK: Packets

  /// What a packet is; nil when that cannot be told, or when there are too many sources.
  mutating func source(of packet: RTPPacket) -> Source? {
    if let last, last.ssrc == packet.ssrc { return last.source }
    guard let found = sources[packet.ssrc] ?? newSource(of: packet) else { return nil }
    last = (packet.ssrc, found)
    return found
  }

  private mutating func newSource(of packet: RTPPacket) -> Source? {
    guard let destination = routing.destination(of: packet), let receiver = byMID[destination.mid], receiver.isActive
    else { return nil }
    if destination.isRetransmission {
      let repaired = receiver.streams.first { stream in
        if let ssrc = destination.repairs { return stream.ssrc == ssrc }
        if let rid = destination.rid { return stream.rid == rid }
        return receiver.streams.count == 1
      }
      guard let repaired else { return nil }
      // A stream has one source of repair at a time, and unannounced ones must not pile up.
      forget { if case .retransmission(let stream) = $0 { stream === repaired } else { false } }
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
      refused += 1
      return nil
    }
    let stream = addStream(packet.ssrc, rid: destination.rid, codec: codec, to: receiver)
    if receiver.kind == .video { stream.keyframes.want(.consumer) }
    return .media(stream)
  }

  private mutating func addStream(_ ssrc: SSRC, rid: RID?, codec: Codec, to receiver: RTPReceiver) -> ReceiveStream {
    let stream = ReceiveStream(
      ssrc: ssrc, rid: rid, codec: codec, receiver: receiver, usesNACK: receiver.feedback.contains(.nack))
    receiver.streams.append(stream)
    sources[ssrc] = .media(stream)
    return stream
  }

  private mutating func forgetStreams(of receiver: RTPReceiver, where isGone: (ReceiveStream) -> Bool) {
    let gone = receiver.streams.filter(isGone)
    guard !gone.isEmpty else { return }
    receiver.streams.removeAll { stream in gone.contains { $0 === stream } }
    forget { source in gone.contains { $0 === source.stream } }
  }

  private mutating func forget(where isGone: (Source) -> Bool) {
    let gone = sources.filter { isGone($0.value) }
    guard !gone.isEmpty else { return }
    last = nil
    for ssrc in gone.keys { sources[ssrc] = nil }
    forgotten += gone.keys
  }
}
