import FoundationEssentials
import MediaCore

/// One ICE candidate as it travels in `TrickleRequest.candidateInit`: an RTCIceCandidateInit dictionary (W3C WebRTC)
/// as JSON.
public struct TrickleCandidate: Hashable, Sendable {
  /// The candidate attribute without `a=`: `candidate:…` (RFC 8839 section 5.1). Empty means end of candidates.
  public var candidate: String
  /// The m-line's identification; LiveKit's server sends an empty text.
  public var sdpMid: String
  /// The m-line's position, from 0.
  public var sdpMLineIndex: Int
  /// The ICE user name fragment that it belongs to, when said.
  public var usernameFragment: String?

  /// Makes a candidate of the first m-line (with BUNDLE there is only that transport).
  public init(
    candidate: String, sdpMid: String = "0", sdpMLineIndex: Int = 0, usernameFragment: String? = nil
  ) {
    self.candidate = candidate
    self.sdpMid = sdpMid
    self.sdpMLineIndex = sdpMLineIndex
    self.usernameFragment = usernameFragment
  }

  /// Reads the JSON; nil when it isn't an object with a text `candidate`. Other members may be missing or null.
  public init?(json: String) {
    guard let wire = try? BoundedJSON.decode(Wire.self, from: Array(json.utf8), limits: JSONLimits(bytes: 16_384))
    else { return nil }
    candidate = wire.candidate
    sdpMid = wire.sdpMid ?? ""
    sdpMLineIndex = wire.sdpMLineIndex ?? 0
    usernameFragment = wire.usernameFragment
  }

  /// The JSON, with a text `sdpMid` and a whole `sdpMLineIndex` always: the Rust SDK ends itself without them.
  public var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let wire = Wire(
      candidate: candidate, sdpMid: sdpMid, sdpMLineIndex: sdpMLineIndex,
      usernameFragment: usernameFragment)
    guard let data = try? encoder.encode(wire) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }

  private struct Wire: Codable {
    var candidate: String
    var sdpMid: String?
    var sdpMLineIndex: Int?
    var usernameFragment: String?
  }
}
