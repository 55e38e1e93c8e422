import MediaCore
import RTP

/// Counters of what a section received since it was made.
public struct ReceiverStatistics: Hashable, Sendable {
  /// RTP packets without duplicates.
  public var packets: Int64 = 0
  /// Payload bytes.
  public var bytes: Int64 = 0
  /// Packets that never came, in the original stream, before repair; negative when more came than were sent.
  public var lost: Int64 = 0
  /// Packets that had been there before.
  public var duplicates = 0
  /// Missing packets that were asked for.
  public var requested = 0
  /// Packets that came after they had been asked for.
  public var recovered = 0
  /// Packets that came as copies in later ones (RFC 2198).
  public var copied = 0
  /// Packets that did not come in time for their frames, after all repair.
  public var missed = 0
  /// Packets given up.
  public var givenUp = 0
  /// Keyframe requests sent.
  public var keyframeRequests = 0
  /// Frames delivered.
  public var frames = 0
  /// Interarrival jitter of the worst stream (RFC 3550 section 6.4.1).
  public var jitter = Duration.zero
}

// Sendable by confinement: made by its connection and used on that connection's loop only.
/// What one remote section carries. The object stays with its section; the track can change. Confined to the loop.
public final class RTPReceiver: @unchecked Sendable {
  /// Section.
  public let mid: MID
  /// Kind.
  public let kind: MediaKind
  /// `a=msid` stream, such as `PA_x|TR_y`; nil without msid.
  public private(set) var streamID: String?
  /// `a=msid` track.
  public private(set) var trackID: String?
  /// True while the peer may send in this section.
  public internal(set) var isActive = false
  /// Simulcast layers that were negotiated, in the offer's order; empty without simulcast.
  public private(set) var rids: [RID] = []
  /// Header extensions that were negotiated, for reading those of delivered packets.
  public private(set) var extensions = HeaderExtensionMap()
  /// Whether complete frames are made and delivered; set it in `receiverAdded`. Off by default. Meant for sections
  /// without simulcast: with it, the frames of all layers are delivered mixed.
  public var wantsFrames = false
  /// Whether every packet is delivered. Off by default.
  public var wantsPackets = false

  /// The codec that a payload type stands for; nil for what repairs others, and for what was not agreed.
  public func codec(of type: PayloadType) -> Codec? {
    if case .codec(let codec) = payloads.format(of: type) { codec } else { nil }
  }

  /// The codec of the media in packets of a payload type: that of the primary block when it is redundant sound.
  public func mediaCodec(of type: PayloadType) -> Codec? {
    if case .redundancy(let primary) = payloads.format(of: type) { codec(of: primary) } else { codec(of: type) }
  }

  /// The codecs that were agreed, those that the peer prefers first.
  public var codecs: [Codec] {
    payloads.entries.compactMap { if case .codec(let codec) = $0.format { codec } else { nil } }
  }

  /// The largest share of packets lost of any of its streams, 0...1, by our last reports; before repair.
  public var fractionLost: Double { streams.reduce(0) { max($0, $1.fractionLost) } }

  var streams: [ReceiveStream] = []
  private(set) var payloads = PayloadTable()
  private(set) var parameterSets: [PayloadType: [UInt8]] = [:]
  private(set) var feedback: NegotiatedFeedback = []
  let maximumWait: Duration
  private weak var engine: MediaEngine?

  init(mid: MID, kind: MediaKind, maximumWait: Duration, engine: MediaEngine) {
    self.mid = mid
    self.kind = kind
    self.maximumWait = maximumWait
    self.engine = engine
  }

  /// Takes over what was negotiated for its section.
  func take(_ section: NegotiatedMedia) {
    streamID = section.stream?.stream
    trackID = section.stream?.track
    isActive = true
    rids = section.rids
    extensions = section.extensions
    payloads = section.receivePayloads
    parameterSets = section.parameterSets
    feedback = section.receiveFeedback
  }

  /// Asks for a keyframe (PLI, RFC 4585 section 6.3.1) of a layer, of all when nil. Throttled: may be called as often
  /// as one likes; it is repeated until a keyframe comes.
  public func requestKeyframe(rid: RID? = nil) {
    guard kind == .video, isActive else { return }
    for stream in streams where rid == nil || stream.rid == rid { stream.keyframes.want(.consumer) }
    if let engine, let host = engine.host { engine.sendDueFeedback(at: host.now) }
  }

  /// Counters since the section began to carry its present track.
  public var statistics: ReceiverStatistics {
    var result = ReceiverStatistics()
    for stream in streams {
      result.packets += stream.statistics.packetCount
      result.bytes += stream.statistics.octetCount
      result.lost += stream.statistics.cumulativeLost
      result.duplicates += stream.duplicateCount
      result.requested += stream.nack?.statistics.requested ?? 0
      result.recovered += stream.nack?.statistics.recovered ?? 0
      result.copied += stream.copiedCount
      result.missed += stream.missedCount
      result.givenUp += stream.nack?.statistics.givenUp ?? 0
      result.keyframeRequests += stream.keyframes.requestCount
      result.frames += stream.frameCount
      let jitter = MediaTime(ticks: Int64(stream.statistics.jitter), rate: stream.codec.clockRate).nanoseconds
      result.jitter = max(result.jitter, .nanoseconds(jitter))
    }
    return result
  }
}
