import MediaCore

/// A direction attribute (RFC 8866 section 6.7), from the side of the description's sender.
public enum Direction: String, Hashable, Sendable, CaseIterable {
  /// Sends and receives.
  case sendrecv
  /// Sends only.
  case sendonly
  /// Receives only.
  case recvonly
  /// Neither; the section stays for later use.
  case inactive

  /// Whether the description's sender sends.
  public var sends: Bool { self == .sendrecv || self == .sendonly }
  /// Whether the description's sender receives.
  public var receives: Bool { self == .sendrecv || self == .recvonly }
  /// The same from the other side.
  public var reversed: Direction { Direction(sends: receives, receives: sends) }
  /// The direction with these properties.
  public init(sends: Bool, receives: Bool) {
    self = sends ? (receives ? .sendrecv : .sendonly) : (receives ? .recvonly : .inactive)
  }
}

/// `a=rtpmap` (RFC 8866 section 6.6).
public struct RTPMap: Hashable, Sendable {
  /// Payload type.
  public var payloadType: PayloadType
  /// Encoding name as written; compare without case.
  public var name: String
  /// RTP clock in hertz.
  public var clockRate: Int
  /// Sound channels; nil when not written (then 1).
  public var channels: Int?
  /// Makes a mapping; see the properties.
  public init(payloadType: PayloadType, name: String, clockRate: Int, channels: Int? = nil) {
    self.payloadType = payloadType
    self.name = name
    self.clockRate = clockRate
    self.channels = channels
  }
  /// Static payload types, which need no line (RFC 3551 table 4); those of codecs that somebody in a room may send.
  public static let fixed = [
    RTPMap(payloadType: PayloadType(0), name: "PCMU", clockRate: 8000),
    RTPMap(payloadType: PayloadType(8), name: "PCMA", clockRate: 8000),
    RTPMap(payloadType: PayloadType(9), name: "G722", clockRate: 8000),
  ]
  /// Whether this is the named encoding (case does not count) at the given clock.
  public func isEncoding(_ other: String, clockRate: Int) -> Bool {
    self.clockRate == clockRate && name.lowercased() == other.lowercased()
  }
}

/// `a=fmtp` (RFC 8866 section 6.15).
public struct FormatParameters: Hashable, Sendable {
  /// Payload type.
  public var payloadType: PayloadType
  /// The parameters as one text, such as `minptime=10;useinbandfec=1` or `111/111`.
  public var text: String
  /// Makes the parameters of a payload type.
  public init(payloadType: PayloadType, text: String) {
    self.payloadType = payloadType
    self.text = text
  }
  /// The value of `name=value`; nil when absent. Names compare without case.
  public func value(of name: String) -> String? {
    for part in text.utf8.split(separator: UInt8(ascii: ";")) {
      guard let (key, value) = SDPText.halves(Substring(part), at: "=") else { continue }
      if SDPText.trimmed(key).lowercased() == name.lowercased() { return String(SDPText.trimmed(value)) }
    }
    return nil
  }
}

/// `a=rtcp-fb` (RFC 4585 section 4.2).
public struct RTCPFeedback: Hashable, Sendable {
  /// Payload type; nil for `*`, all of the section.
  public var payloadType: PayloadType?
  /// Kind and parameter, such as `nack`, `nack pli`, `ccm fir`, `transport-cc`, `goog-remb`.
  public var value: String
  /// Makes one feedback line.
  public init(payloadType: PayloadType?, value: String) {
    self.payloadType = payloadType
    self.value = value
  }
}

/// `a=extmap` (RFC 8285 section 5).
public struct ExtensionMapping: Hashable, Sendable {
  /// The identifier on the wire, 1...14 or 16...255 (larger ones, for use in negotiation, are not accepted).
  public var id: UInt8
  /// The direction after the slash, when written.
  public var direction: Direction?
  /// URI of the extension.
  public var uri: String
  /// Extension attributes after the URI; empty when there are none.
  public var attributes: String
  /// Makes a mapping; see the properties.
  public init(id: UInt8, direction: Direction? = nil, uri: String, attributes: String = "") {
    self.id = id
    self.direction = direction
    self.uri = uri
    self.attributes = attributes
  }
}

/// `a=msid` (RFC 8830 section 2): which media stream and track a section carries.
public struct MediaStreamTrack: Hashable, Sendable {
  /// Stream id; `-` for a track without a stream.
  public var stream: String
  /// Track id; nil when not written.
  public var track: String?
  /// Makes the pair.
  public init(stream: String, track: String?) {
    self.stream = stream
    self.track = track
  }
}

/// `a=ssrc` (RFC 5576 section 4.1).
public struct SSRCAttribute: Hashable, Sendable {
  /// The source.
  public var ssrc: SSRC
  /// Attribute, such as `cname` or `msid`.
  public var name: String
  /// Its value; nil when there is no colon.
  public var value: String?
  /// Makes one source attribute.
  public init(ssrc: SSRC, name: String, value: String?) {
    self.ssrc = ssrc
    self.name = name
    self.value = value
  }
}

/// `a=ssrc-group` (RFC 5576 section 4.2), such as FID: a stream and its retransmissions.
public struct SSRCGroup: Hashable, Sendable {
  /// `FID`, `SIM`, …
  public var semantics: String
  /// The sources in order; for FID the media first, then its retransmissions.
  public var ssrcs: [SSRC]
  /// Makes a group; see the properties.
  public init(semantics: String, ssrcs: [SSRC]) {
    self.semantics = semantics
    self.ssrcs = ssrcs
  }
}

/// `a=rid` (RFC 8851).
public struct RIDDescription: Hashable, Sendable {
  /// The identifier.
  public var id: RID
  /// True for `send`, false for `recv`, from the side of the description's sender.
  public var sends: Bool
  /// Payload types and restrictions as one text; empty when there are none.
  public var restrictions: String
  /// Makes one line.
  public init(id: RID, sends: Bool, restrictions: String = "") {
    self.id = id
    self.sends = sends
    self.restrictions = restrictions
  }
}

/// `a=simulcast` (RFC 8853 section 5).
public struct SimulcastDescription: Hashable, Sendable {
  /// One alternative of one simulcast stream.
  public struct Alternative: Hashable, Sendable {
    /// The identifier.
    public var rid: RID
    /// True with `~`: the stream is not sent for now.
    public var isPaused: Bool
    /// Makes an alternative; see the properties.
    public init(rid: RID, isPaused: Bool = false) {
      self.rid = rid
      self.isPaused = isPaused
    }
  }
  /// Streams that the description's sender sends; each is a list of alternatives.
  public var send: [[Alternative]]
  /// Streams that it receives.
  public var receive: [[Alternative]]
  /// Makes the attribute.
  public init(send: [[Alternative]] = [], receive: [[Alternative]] = []) {
    self.send = send
    self.receive = receive
  }
}

/// Any attribute without a type of its own here, kept as it came.
public struct SDPAttribute: Hashable, Sendable {
  /// Name before the colon.
  public var name: String
  /// Text after the colon; nil for a property attribute.
  public var value: String?
  /// Makes an attribute; see the properties.
  public init(_ name: String, _ value: String? = nil) {
    self.name = name
    self.value = value
  }
}
