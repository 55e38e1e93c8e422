/// What went wrong between recbot and a room: a row of the table below, and what this occurrence has to say.
///
/// The table in `RoomError.Kind.row` is the one place where the errors that a user can meet are described; exit codes,
/// messages and the documentation are made from it.
public struct RoomError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Which row.
  public let kind: Kind
  /// What this occurrence says: an address, the server's own text. One line, never a secret; may be empty.
  public let detail: String

  /// Makes an error. The detail is brought to one line of at most 300 characters.
  public init(_ kind: Kind, _ detail: String = "") {
    self.kind = kind
    self.detail = RoomError.oneLine(detail)
  }

  /// Stable name, for JSON and scripts.
  public var name: String { kind.rawValue }
  /// Exit code of `recbot`.
  public var exitCode: Int32 { kind.row.exitCode }
  /// When it happens.
  public var phase: Phase { kind.row.phase }
  /// What went wrong, as a sentence without the detail.
  public var cause: String { kind.row.cause }
  /// What to do.
  public var remedy: String { kind.row.remedy }
  /// Cause and detail, without a full stop.
  public var summary: String { detail.isEmpty ? cause : "\(cause): \(detail)" }
  /// One line: cause, detail, remedy.
  public var description: String { "\(summary). \(remedy)." }

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

  /// The columns of the table.
  struct Row {
    /// Exit code of `recbot`; distinct per row, never changed once released.
    var exitCode: Int32
    var phase: Phase
    /// A sentence without its full stop.
    var cause: String
    /// A sentence without its full stop, in the imperative.
    var remedy: String
  }

  /// The rows' names.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The address is not one of a server.
    case invalidURL
    /// The host name is unknown.
    case dnsFailure
    /// Nothing listens there, or the network is unreachable.
    case refused
    /// No answer in time.
    case timeout
    /// The TLS connection could not be made or trusted.
    case tlsFailure
    /// Something answers that is not a LiveKit server.
    case notARoomServer
    /// The token was not accepted.
    case unauthorized
    /// The token is too old.
    case tokenExpired
    /// The token is good, but doesn't allow what is wanted.
    case notPermitted
    /// The room doesn't exist, and the server doesn't make rooms by itself.
    case roomNotFound
    /// The room or the server has its highest number of participants.
    case roomFull
    /// The server can't take the session now.
    case busy
    /// The server found the request itself wrong.
    case rejected
    /// The server said something that can't be understood.
    case protocolError
    /// No media connection came about.
    case mediaFailed
    /// The connection was lost and could not be restored.
    case connectionLost
    /// The same identity joined from elsewhere.
    case evicted
    /// The room's owner removed the bot.
    case removed
    /// The room was closed before anything could be recorded.
    case roomEnded

    /// The table.
    var row: Row {
      switch self {
      case .invalidURL:
        Row(
          exitCode: 10, phase: .settings, cause: "The room server's address is not valid",
          remedy: "Give --url (LIVEKIT_URL) as ws://host:port or wss://host")
      case .dnsFailure:
        Row(
          exitCode: 11, phase: .connect, cause: "The room server's name is not known",
          remedy: "Check the host name in --url and this machine's name server")
      case .refused:
        Row(
          exitCode: 12, phase: .connect, cause: "The room server cannot be reached",
          remedy: "Check that the server runs, the port in --url, and firewalls")
      case .timeout:
        Row(
          exitCode: 13, phase: .connect, cause: "The room server did not answer in time",
          remedy: "Check the address in --url and the network, then try again")
      case .tlsFailure:
        Row(
          exitCode: 14, phase: .connect, cause: "No trusted TLS connection to the room server",
          remedy:
            "Use the host name that the certificate is for; for a private authority give --tls-ca FILE"
        )
      case .notARoomServer:
        Row(
          exitCode: 15, phase: .connect, cause: "What answers there is not a LiveKit server",
          remedy: "Check host, port and path in --url")
      case .unauthorized:
        Row(
          exitCode: 20, phase: .join, cause: "The room server does not accept the token",
          remedy: "Check the API key and secret, or make a new token with the server's own key")
      case .tokenExpired:
        Row(
          exitCode: 21, phase: .join, cause: "The token has expired or is not valid yet",
          remedy: "Make a new token, and check both machines' clocks")
      case .notPermitted:
        Row(
          exitCode: 22, phase: .join, cause: "The token does not allow this",
          remedy: "Make a token with roomJoin and canSubscribe for this very room")
      case .roomNotFound:
        Row(
          exitCode: 23, phase: .join, cause: "The room does not exist",
          remedy: "Check the room's name, or create the room first")
      case .roomFull:
        Row(
          exitCode: 24, phase: .join, cause: "The room is full",
          remedy: "Raise the room's limit of participants, or use a token with the recorder grant")
      case .busy:
        Row(
          exitCode: 25, phase: .join, cause: "The room server cannot take another session now",
          remedy: "Try again later, or add capacity to the server")
      case .rejected:
        Row(
          exitCode: 26, phase: .join, cause: "The room server rejects the request",
          remedy: "Check the room's name and the identity")
      case .protocolError:
        Row(
          exitCode: 30, phase: .session, cause: "The room server's messages cannot be understood",
          remedy:
            "Check that it is a LiveKit server of a supported version, and report this with a log")
      case .mediaFailed:
        Row(
          exitCode: 31, phase: .media, cause: "No media connection to the room server",
          remedy: "Open the server's UDP ports for this machine, or configure TURN on the server")
      case .connectionLost:
        Row(
          exitCode: 32, phase: .session,
          cause: "The connection to the room was lost and did not come back",
          remedy: "What was recorded until then is complete; check the network and the server")
      case .evicted:
        Row(
          exitCode: 33, phase: .session, cause: "Somebody joined the room with the bot's identity",
          remedy: "Give each recording an identity of its own (--identity)")
      case .removed:
        Row(
          exitCode: 34, phase: .session, cause: "The bot was removed from the room",
          remedy: "Ask the room's owner")
      case .roomEnded:
        Row(
          exitCode: 35, phase: .session, cause: "The room was closed before the recording began",
          remedy: "Start the recording while the room is open")
      }
    }
  }

  /// Makes untrusted text safe for one line of a terminal or a log.
  static func oneLine(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars.prefix(300) {
      let isControl =
        scalar.properties.generalCategory == .control
        || scalar.properties.generalCategory == .format
      result.unicodeScalars.append(isControl ? " " : scalar)
    }
    while let last = result.last, last == " " || last == "." { result.removeLast() }
    return String(result.drop { $0 == " " })
  }
}

extension RoomError {
  /// What a refused WebSocket upgrade means, from the HTTP status and the body's text.
  public static func refusedUpgrade(status: Int, text: String) -> RoomError {
    let lower = text.lowercased()
    let detail = text.isEmpty ? "HTTP \(status)" : "HTTP \(status), \(text)"
    let looksLikePage = lower.contains("<html") || lower.contains("<!doctype")
    switch status {
    case 401, 403:
      if lower.contains("expired") || lower.contains("(exp)") || lower.contains("not valid yet")
        || lower.contains("(nbf)")
      {
        return RoomError(.tokenExpired, detail)
      }
      if lower.contains("permission") || lower.contains("grant") || lower.contains("not allowed") {
        return RoomError(.notPermitted, detail)
      }
      return RoomError(.unauthorized, looksLikePage ? "HTTP \(status)" : detail)
    case 404:
      return lower.contains("room") && lower.contains("exist")
        ? RoomError(.roomNotFound, detail) : RoomError(.notARoomServer, "HTTP 404")
    default:
      if lower.contains("participant") && (lower.contains("exceeded") || lower.contains("max")) {
        return RoomError(.roomFull, detail)
      }
      switch status {
      case 429, 500, 502, 503, 504:
        return RoomError(.busy, looksLikePage ? "HTTP \(status)" : detail)
      case 400, 409, 412, 413:
        return RoomError(.rejected, looksLikePage ? "HTTP \(status)" : detail)
      default: return RoomError(.notARoomServer, "HTTP \(status)")
      }
    }
  }

  /// True when trying again with the same address and token can't help.
  public var isFinal: Bool {
    switch kind {
    case .invalidURL, .unauthorized, .tokenExpired, .notPermitted, .evicted, .removed, .roomEnded:
      true
    // A room that is gone, or a wrong path, can be a server that is being restarted behind a proxy.
    default: false
    }
  }
}
