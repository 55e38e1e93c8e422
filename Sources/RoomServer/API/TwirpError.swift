import MediaCore

/// An error of a Twirp service: a code of the specification (version 7), which has its HTTP status, and a text.
struct TwirpError: Error, Hashable, Sendable {
  /// The codes that are used here.
  enum Code: String, Sendable {
    case malformed
    case invalidArgument = "invalid_argument"
    case notFound = "not_found"
    case badRoute = "bad_route"
    case unauthenticated
    case failedPrecondition = "failed_precondition"
    case unimplemented
    case unavailable

    /// The status that belongs to the code.
    var status: Int {
      switch self {
      case .malformed, .invalidArgument: 400
      case .notFound, .badRoute: 404
      case .unauthenticated: 401
      case .failedPrecondition: 412
      case .unimplemented: 501
      case .unavailable: 503
      }
    }
  }

  var code: Code
  var text: String

  init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }

  /// The token lacks the grant.
  static let denied = TwirpError(.unauthenticated, "permissions denied")
  static let noRoom = TwirpError(.notFound, "requested room does not exist")
  static let noParticipant = TwirpError(.notFound, "participant does not exist")
  static let noTrack = TwirpError(.notFound, "track is not found")

  /// As it is sent.
  var reply: HTTPReply {
    let json = "{\"code\":\"\(code.rawValue)\",\"msg\":\(JSONText.quoted(text))}"
    return HTTPReply(code.status, "application/json", Array(json.utf8))
  }
}
