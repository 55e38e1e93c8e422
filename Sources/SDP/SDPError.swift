/// Why a text is not a usable session description (RFC 8866).
public enum SDPError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is longer than `SessionDescription.maximumLength`; the value is its length in bytes.
  case tooLong(bytes: Int)
  /// The first line is not `v=0`.
  case notASessionDescription
  /// There are more than `SessionDescription.maximumSections` m-lines.
  case tooManySections
  /// An `m=` line does not have the form of RFC 8866 section 5.14; lines are counted from 1.
  case malformedMediaLine(line: Int)

  /// One sentence for logs and error messages; never contains the peer's text.
  public var description: String {
    switch self {
    case .tooLong(let bytes):
      "The session description has \(bytes) bytes; at most \(SessionDescription.maximumLength) are accepted."
    case .notASessionDescription: "The text is not a session description: it does not begin with v=0."
    case .tooManySections:
      "The session description has more than \(SessionDescription.maximumSections) media sections."
    case .malformedMediaLine(let line): "Line \(line) of the session description is not a valid m= line."
    }
  }
}
