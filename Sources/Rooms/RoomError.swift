import MediaCore

/// What went wrong between recbot and a room: a row of the table in `RoomError.Kind.row`, and what this occurrence has
/// to say.
///
/// The table is the one place where the errors that a user can meet are described; exit codes, messages, JSON progress,
/// the decision whether to try again, and the documentation are made from it.
///
/// Large: most of it is the table of errors.
public struct RoomError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Which row.
  public let kind: Kind
  /// What this occurrence says: an address, the server's own text. One line, never a secret; may be empty.
  public let detail: String
  /// The HTTP status of the answer that said so; nil when there was none.
  public let httpStatus: Int?
  /// What to do in this very case; nil: what the row says.
  private let advice: String?

  /// Makes an error. The detail is brought to one line of at most 300 characters without secrets; `advice`, a sentence
  /// in the imperative without its full stop, takes the place of the row's remedy.
  public init(_ kind: Kind, _ detail: String = "", httpStatus: Int? = nil, advice: String? = nil) {
    self.kind = kind
    self.detail = RoomError.oneLine(detail)
    self.httpStatus = httpStatus
    self.advice = advice
  }

  /// Stable name, for JSON and scripts.
  public var name: String { kind.rawValue }
  /// Exit code of `recbot`; nil for what never ends a recording.
  public var exitCode: Int32? { kind.row.exitCode }
  /// When it happens.
  public var phase: Phase { kind.row.phase }
  /// What went wrong, as a sentence without the detail.
  public var cause: String { kind.row.cause }
  /// What to do.
  public var remedy: String { advice ?? kind.row.remedy }
  /// Cause and detail, without a full stop.
  public var summary: String { detail.isEmpty ? cause : "\(cause): \(detail)" }
  /// One line: cause, detail, remedy.
  public var description: String { "\(summary). \(remedy)." }

  /// What recbot does about it: before the first join is complete, or afterwards.
  public func action(hasJoined: Bool) -> Action { hasJoined ? kind.row.joined : kind.row.joining }

  /// In which part of a session an error happens.
  public enum Phase: String, Hashable, Sendable {
    /// Before anything is sent.
    case settings
    /// Name look-up, TCP, TLS, upgrade to a WebSocket.
    case connect
    /// The server looks at the token and the room.
    case join
    /// ICE, DTLS, negotiation.
    case media
    /// After the join.
    case session
  }

  /// What is done about an error.
  public enum Action: String, Hashable, Sendable {
    /// Try again soon, with growing pauses.
    case retry
    /// Try again slowly: the server or the room has no place, or is not there yet.
    case wait
    /// Join anew at once, with a fresh token.
    case rejoin
    /// The room is over: the file is finished, and the recording is complete.
    case complete
    /// Trying again cannot help, or would harm somebody: what was recorded is finished, and the exit code says why.
    case fail
    /// Nothing; it is only told.
    case none
  }

  /// The columns of the table.
  struct Row {
    /// Exit code of `recbot`; distinct per row, never changed once released. Nil: never ends a recording.
    var exitCode: Int32?
    var phase: Phase
    /// The numbers and names that other systems have for it.
    var codes: Codes
    /// What is done while the first join is tried.
    var joining: Action
    /// What is done after it.
    var joined: Action
    /// A sentence without its full stop.
    var cause: String
    /// A sentence without its full stop, in the imperative.
    var remedy: String
  }

  /// What the systems that people come from call an error.
  public struct Codes: Hashable, Sendable {
    /// Twilio Video's number.
    public var twilio: Int?
    /// EnableX's number.
    public var enablex: Int?
    /// LiveKit's `DisconnectReason`.
    public var livekit: String?
    /// HTTP statuses of a refused join.
    public var http: [Int] = []
  }

  /// The codes of this occurrence: those of its row, and the status that was really answered.
  public var codes: Codes {
    var codes = kind.row.codes
    codes.http = httpStatus.map { [$0] } ?? []
    return codes
  }

  /// Makes untrusted text safe for one line of a terminal or a log (`PeerText.line`), without a full stop.
  static func oneLine(_ text: String) -> String {
    var result = PeerText.line(text)[...]
    while let last = result.last, last == " " || last == "." { result.removeLast() }
    return String(result.drop { $0 == " " })
  }
}

extension RoomError {
  /// What a refused WebSocket upgrade means, from the HTTP status and the body's text, which may be long. The whole of it
  /// is read for the reason; of it, `detail` keeps what fits, without secrets.
  ///
  /// The texts are those of LiveKit's server (pkg/service/auth.go, rtcservice.go, errors.go; pkg/rtc/errors.go) and of
  /// the library that checks its tokens (go-jose, jwt/errors.go).
  public static func refusedUpgrade(status: Int, text: String) -> RoomError {
    // The text may hold the token, in which any word may stand by accident.
    let lower = PeerText.masked(text, tokensOnly: true).lowercased()
    let kind = refusal(status, lower)
    let looksLikePage = lower.contains("<html") || lower.contains("<!doctype")
    let detail = text.isEmpty || looksLikePage ? "HTTP \(status)" : "HTTP \(status), \(text)"
    if kind == .roomFull, lower.contains(sessionNotStarted) {
      return probablyFull(status, "only says that the connection was closed by media")
    }
    return RoomError(kind, detail, httpStatus: status)
  }

  /// What a refusal means by a server that finds nothing wrong with the token and the room when it is asked
  /// (`/rtc/validate`), and gave no reason.
  static func refusedWithoutReason(status: Int) -> RoomError {
    guard status == 500 else { return refusedUpgrade(status: status, text: "") }
    return probablyFull(status, "gives no reason, though it finds the token good")
  }

  /// A stock server keeps the reason for itself when a session cannot be started; nearly always it is the room's
  /// `max_participants`.
  private static func probablyFull(_ status: Int, _ text: String) -> RoomError {
    RoomError(
      .roomFull, "probably; the server answers HTTP \(status) and \(text)", httpStatus: status,
      advice: "Look at the room's max_participants (the server's log says 'room has exceeded its max participants'), "
        + "or give --wait-for-room to wait for a place; if there are places, the server has a fault of its own")
  }

  /// What the stock server says when the session was not started: `readInitialResponse` in pkg/service/rtcservice.go.
  private static let sessionNotStarted = "connection closed by media"

  private static func refusal(_ status: Int, _ text: String) -> Kind {
    func says(_ words: String...) -> Bool { words.contains { text.contains($0) } }
    switch status {
    case 401, 403:
      if says("not valid yet", "nbf", "not yet valid", "issued in the future") { return .tokenNotYetValid }
      if says("expired", "(exp)") { return .tokenExpired }
      if says("permission", "grant", "not allowed") { return .notPermitted }
      if says("api key", "issuer") { return .unknownIssuer }
      if says("header", "algorithm", "malformed", "compact jws") { return .malformedToken }
      if says("signature", "cryptographic primitive") { return .badSignature }
      return .unauthorized
    case 404: return says("room") && says("exist", "not found") ? .roomNotFound : .notARoomServer
    // A name or identity that is too long has a limit too.
    case 400: return .rejected
    default:
      if says("participant", "room"), says("exceeded", "max", "room is full", "limit") { return .roomFull }
      switch status {
      case 500 where says(sessionNotStarted): return .roomFull
      case 429, 500, 502, 503, 504: return .busy
      case 409, 412, 413: return .rejected
      default: return .notARoomServer
      }
    }
  }
}
