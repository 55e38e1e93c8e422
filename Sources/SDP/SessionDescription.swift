import MediaCore

/// A session description (RFC 8866), as far as WebRTC uses it (RFC 8829). Reading is tolerant: what is unknown or
/// malformed below the `m=` lines is kept as text and has no effect. For every value `x` whose texts are single
/// lines without spaces at their ends, `SessionDescription(parsing: x.serialized()) == x`.
public struct SessionDescription: Hashable, Sendable {
  /// The longest text that is read, in bytes.
  public static let maximumLength = 2 << 20
  /// The most media sections that are read.
  public static let maximumSections = 1024

  /// `o=` (RFC 8866 section 5.2).
  public struct Origin: Hashable, Sendable {
    /// User name; `-` when there is none.
    public var username: String
    /// Identifier of the session.
    public var sessionID: String
    /// Grows with each description of the session.
    public var version: UInt64
    /// Network type, address type and address, such as `IN IP4 127.0.0.1`.
    public var address: String
    /// Makes an origin; see the properties.
    public init(username: String = "-", sessionID: String, version: UInt64, address: String = "IN IP4 127.0.0.1") {
      self.username = username
      self.sessionID = sessionID
      self.version = version
      self.address = address
    }
  }

  /// `a=group` (RFC 5888; BUNDLE by RFC 8843).
  public struct Group: Hashable, Sendable {
    /// `BUNDLE`, `LS`, …
    public var semantics: String
    /// Members in order; the first one of BUNDLE is the tag.
    public var mids: [MID]
    /// Makes a group; see the properties.
    public init(semantics: String, mids: [MID]) {
      self.semantics = semantics
      self.mids = mids
    }
  }

  /// `o=`.
  public var origin: Origin
  /// `s=`.
  public var name: String
  /// The `c=` line at session level without `c=`.
  public var connection: String?
  /// The `b=` lines at session level without `b=`.
  public var bandwidths: [String] = []
  /// `a=group` lines.
  public var groups: [Group] = []
  /// `a=ice-lite` (RFC 8839 section 5.3).
  public var isLite = false
  /// `a=extmap-allow-mixed` at session level.
  public var allowsMixedExtensions = false
  /// ICE and DTLS attributes at session level.
  public var transport = TransportAttributes()
  /// `a=extmap` lines at session level.
  public var extensions: [ExtensionMapping] = []
  /// Other attributes at session level, in order.
  public var attributes: [SDPAttribute] = []
  /// The media sections in order.
  public var media: [MediaDescription] = []

  /// An empty session.
  public init(origin: Origin, name: String = "-") {
    self.origin = origin
    self.name = name
  }

  /// The members of the first BUNDLE group, each once; nil when there is none.
  public var bundle: [MID]? {
    guard let group = groups.first(where: { $0.semantics == "BUNDLE" }) else { return nil }
    var seen: Set<MID> = []
    // More members than sections there can be name nothing.
    return Array(group.mids.filter { seen.insert($0).inserted }.prefix(Self.maximumSections))
  }

  /// The transport attributes of a section, with those of the session where it has none.
  public func transport(of section: MediaDescription) -> TransportAttributes {
    section.transport.falling(backTo: transport)
  }

  /// The header extensions of a section, with those of the session level (RFC 8285 section 5).
  public func extensions(of section: MediaDescription) -> [ExtensionMapping] {
    extensions.isEmpty ? section.extensions : extensions + section.extensions
  }
}
