import MediaCore

/// The RTP header extensions that this module knows, by their URIs.
public enum HeaderExtension: String, Sendable, Hashable, CaseIterable {
  /// The m-line's identification (RFC 9143 section 15.1).
  case mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
  /// The simulcast layer of a media stream (RFC 8852 section 3.1).
  case rid = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
  /// The simulcast layer that a retransmission stream repairs (RFC 8852 section 3.2).
  case repairedRid = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
  /// Loudness of the sound in the packet (RFC 6464).
  case audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
  /// Time of sending, 24 bits (libwebrtc, "abs-send-time").
  case absSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
  /// Transport-wide sequence number (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2).
  case transportSequence = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
  /// Time of capture as NTP timestamp (libwebrtc, "abs-capture-time").
  case absCaptureTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
  /// Wished limits of the receiver's delay (libwebrtc, "playout-delay").
  case playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
  /// How the picture must be turned (3GPP TS 26.114 section 7.4.5).
  case videoOrientation = "urn:3gpp:video-orientation"
  /// AV1 dependency descriptor; known only so that it can be negotiated and left alone.
  case dependencyDescriptor =
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"

  /// The URI as it stands in `a=extmap` lines.
  public var uri: String { rawValue }

  /// The extension with a URI; nil when it is not known.
  public init?(uri: String) { self.init(rawValue: uri) }

  /// A small number for flat tables.
  var index: Int {
    switch self {
    case .mid: 0
    case .rid: 1
    case .repairedRid: 2
    case .audioLevel: 3
    case .absSendTime: 4
    case .transportSequence: 5
    case .absCaptureTime: 6
    case .playoutDelay: 7
    case .videoOrientation: 8
    case .dependencyDescriptor: 9
    }
  }
}

/// Which local identifier stands for which header extension in one m-line (RFC 8285 section 5).
public struct HeaderExtensionMap: Sendable, Hashable {
  // Identifier by `HeaderExtension.index`; 0 = not negotiated. A flat array: it is looked up for every packet.
  private var identifiers: [UInt8]

  /// A map without entries.
  public init() { identifiers = Array(repeating: 0, count: HeaderExtension.allCases.count) }

  /// A map with some entries; see `set`.
  public init(_ entries: [HeaderExtension: UInt8]) {
    self.init()
    for (name, id) in entries { set(name, id: id) }
  }

  /// Says that `id` (1...255) stands for an extension; 0 takes the extension out. The last call wins, both for an
  /// extension and for an identifier.
  public mutating func set(_ name: HeaderExtension, id: UInt8) {
    if id != 0 {
      for index in identifiers.indices where identifiers[index] == id { identifiers[index] = 0 }
    }
    identifiers[name.index] = id
  }

  /// The identifier of an extension; nil when it was not negotiated.
  @inline(__always)
  public func id(of name: HeaderExtension) -> UInt8? {
    let id = identifiers[name.index]
    return id == 0 ? nil : id
  }

  /// The extension behind an identifier; nil when there is none.
  public func name(of id: UInt8) -> HeaderExtension? {
    guard id != 0 else { return nil }
    return HeaderExtension.allCases.first { identifiers[$0.index] == id }
  }

  /// All entries, in order of their identifiers.
  public var entries: [(id: UInt8, name: HeaderExtension)] {
    HeaderExtension.allCases.compactMap { name in id(of: name).map { (id: $0, name: name) } }.sorted { $0.id < $1.id }
  }
}
