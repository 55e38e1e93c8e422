/// Synchronization source of an RTP stream (RFC 3550 section 3).
public struct SSRC: Hashable, Sendable, CustomStringConvertible {
  /// The 32-bit identifier as it stands on the wire.
  public let rawValue: UInt32
  /// Wraps a wire value; every value is valid.
  public init(_ rawValue: UInt32) { self.rawValue = rawValue }
  /// Decimal, as in `a=ssrc:` lines.
  public var description: String { String(rawValue) }
}

/// RTP payload type, 0...127 (RFC 3550 section 5.1).
public struct PayloadType: Hashable, Sendable, CustomStringConvertible {
  /// The seven-bit number.
  public let rawValue: UInt8
  /// Keeps the low seven bits, so that no wire value can trap.
  public init(_ rawValue: UInt8) { self.rawValue = rawValue & 0x7f }
  /// Decimal, as in `a=rtpmap:` lines.
  public var description: String { String(rawValue) }
}

/// Media identification of an m-line (RFC 5888; `a=mid`).
public struct MID: Hashable, Sendable, CustomStringConvertible {
  /// The token as it stands in the SDP.
  public let rawValue: String
  /// Wraps a token.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The token itself.
  public var description: String { rawValue }
}

/// RTP stream identification inside an m-line (RFC 8851; `a=rid`).
public struct RID: Hashable, Sendable, CustomStringConvertible {
  /// The token as it stands in the SDP.
  public let rawValue: String
  /// Wraps a token.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The token itself.
  public var description: String { rawValue }
}

/// A participant as people know it: the identity of its token, which stays the same when it leaves and comes back.
public struct ParticipantIdentity: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The identity text.
  public let rawValue: String
  /// Wraps an identity.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The identity text.
  public var description: String { rawValue }
  /// Orders by the text's bytes, so that goldens are the same on every machine.
  public static func < (a: ParticipantIdentity, b: ParticipantIdentity) -> Bool { a.rawValue < b.rawValue }
}

/// One publication of one track, as the room service names it (`TR_…`). A track published again has a new one.
public struct TrackID: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The room service's name of the publication.
  public let rawValue: String
  /// Wraps a name.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The name itself.
  public var description: String { rawValue }
  /// Orders by the text's bytes.
  public static func < (a: TrackID, b: TrackID) -> Bool { a.rawValue < b.rawValue }
}

/// What a track carries.
public enum MediaKind: String, Sendable, Hashable {
  /// Sound.
  case audio
  /// Pictures.
  case video
}
