extension RoomError {
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
    /// The token's header is not one of a JWT with an algorithm that the server takes.
    case malformedToken
    /// The token was not accepted.
    case unauthorized
    /// The token is too old.
    case tokenExpired
    /// The token is good, but doesn't allow what is wanted.
    case notPermitted
    /// The room doesn't exist, and the server doesn't make rooms by itself.
    case roomNotFound
    /// The room has its highest number of participants.
    case roomFull
    /// The server can't take the session now.
    case busy
    /// The server found the request itself wrong.
    case rejected
    /// The token's time has not begun.
    case tokenNotYetValid
    /// The token's signature is not of the server's key.
    case badSignature
    /// The server doesn't know the token's API key.
    case unknownIssuer
    /// The server said something that can't be understood.
    case protocolError
    /// No media connection came about.
    case mediaFailed
    /// The connection was lost, and all attempts to restore it are used up.
    case connectionLost
    /// The same identity joined from elsewhere.
    case evicted
    /// The room's owner removed the bot.
    case removed
    /// The room was closed.
    case roomEnded
    /// The signal connection broke.
    case signalLost
    /// The server says nothing any more.
    case serverSilent
    /// The media connection broke, or nothing comes through it.
    case mediaLost
    /// Nobody let the bot in.
    case notAdmitted
    /// The time for restoring the connection is over.
    case reconnectTimeout
    /// The server shuts down, or moves the session to another one.
    case serverLeaves
    /// The server doesn't know the session any more.
    case sessionUnknown
    /// This machine's addresses changed.
    case networkChanged
    /// Leaving was asked for while leaving.
    case leavingAlready
    /// Something was asked for after the end.
    case leftAlready

    /// The table.
    var row: Row {
      switch self {
      case .invalidURL:
        Row(
          exitCode: 10, phase: .settings, codes: .init(), joining: .fail, joined: .fail,
          cause: "The room server's address is not valid",
          remedy: "Give --url (LIVEKIT_URL) as ws://host:port or wss://host")
      case .dnsFailure:
        Row(
          exitCode: 11, phase: .connect, codes: .init(twilio: 53000, enablex: 5086), joining: .retry, joined: .retry,
          cause: "The room server's name is not known",
          remedy: "Check the host name in --url and this machine's name server")
      case .refused:
        Row(
          exitCode: 12, phase: .connect, codes: .init(twilio: 53000, enablex: 5086), joining: .retry, joined: .retry,
          cause: "The room server cannot be reached",
          remedy: "Check that the server runs, the port in --url, and firewalls")
      case .timeout:
        Row(
          exitCode: 13, phase: .connect, codes: .init(twilio: 53000, enablex: 5086), joining: .retry, joined: .retry,
          cause: "The room server did not answer in time",
          remedy: "Check the address in --url and the network, then try again")
      case .tlsFailure:
        Row(
          exitCode: 14, phase: .connect, codes: .init(twilio: 53000, enablex: 5086), joining: .fail, joined: .retry,
          cause: "No trusted TLS connection to the room server",
          remedy: "Use the host name that the certificate is for; for a private authority give --tls-ca FILE")
      case .notARoomServer:
        Row(
          exitCode: 15, phase: .connect, codes: .init(twilio: 53000, enablex: 5086), joining: .fail, joined: .retry,
          cause: "What answers there is not a LiveKit server", remedy: "Check host, port and path in --url")
      case .malformedToken:
        Row(
          exitCode: 16, phase: .join, codes: .init(twilio: 20102, http: [401]), joining: .fail, joined: .fail,
          cause: "The token's header is not accepted", remedy: "Make a JWT signed with HS256")
      case .unauthorized:
        Row(
          exitCode: 20, phase: .join, codes: .init(twilio: 20101, http: [401, 403]), joining: .fail, joined: .fail,
          cause: "The room server does not accept the token",
          remedy: "Check the API key and secret, or make a new token with the server's own key")
      case .tokenExpired:
        Row(
          exitCode: 21, phase: .join, codes: .init(twilio: 20104, http: [401]), joining: .fail, joined: .rejoin,
          cause: "The token has expired", remedy: "Make a new token, and check both machines' clocks")
      case .notPermitted:
        Row(
          exitCode: 22, phase: .join, codes: .init(twilio: 20106, http: [401, 403]), joining: .fail, joined: .fail,
          cause: "The token does not allow this",
          remedy:
            "Make a token with roomJoin and canSubscribe for this very room, or give --wait-for-admission when "
            + "somebody is to let the bot in")
      case .roomNotFound:
        Row(
          exitCode: 23, phase: .join, codes: .init(twilio: 53106, http: [404]), joining: .wait, joined: .complete,
          cause: "The room does not exist",
          remedy: "Check the room's name, create the room first, or give --wait-for-room")
      case .roomFull:
        Row(
          exitCode: 24, phase: .join, codes: .init(twilio: 53105, http: [429, 500, 503]), joining: .wait, joined: .wait,
          cause: "The room is full",
          remedy: "Raise the room's limit of participants, or give --wait-for-room to wait for a place")
      case .busy:
        Row(
          exitCode: 25, phase: .join, codes: .init(twilio: 53006, http: [429, 500, 502, 503, 504]), joining: .wait,
          joined: .wait, cause: "The room server cannot take another session now",
          remedy: "Try again later, give --wait-for-room, or add capacity to the server")
      case .rejected:
        Row(
          exitCode: 26, phase: .join, codes: .init(twilio: 53104, http: [400, 409, 412, 413]), joining: .fail,
          joined: .fail, cause: "The room server rejects the request",
          remedy: "Check the room's name and the identity")
      case .tokenNotYetValid:
        Row(
          exitCode: 27, phase: .join, codes: .init(twilio: 20105, http: [401]), joining: .wait, joined: .wait,
          cause: "The token is not valid yet", remedy: "Check both machines' clocks, and the token's nbf")
      case .badSignature:
        Row(
          exitCode: 28, phase: .join, codes: .init(twilio: 20107, http: [401]), joining: .fail, joined: .fail,
          cause: "The token's signature is wrong", remedy: "Sign the token with the secret of its API key")
      case .unknownIssuer:
        Row(
          exitCode: 29, phase: .join, codes: .init(twilio: 20103, http: [401]), joining: .fail, joined: .fail,
          cause: "The room server does not know the token's API key",
          remedy: "Check the API key (LIVEKIT_API_KEY), the token's issuer")
      case .protocolError:
        Row(
          exitCode: 30, phase: .session, codes: .init(twilio: 53003), joining: .fail, joined: .retry,
          cause: "The room server's messages cannot be understood",
          remedy: "Check that it is a LiveKit server of a supported version, and report this with a log")
      case .mediaFailed:
        Row(
          exitCode: 31, phase: .media, codes: .init(twilio: 53405, enablex: 5086, livekit: "JOIN_FAILURE"),
          joining: .retry, joined: .rejoin, cause: "No media connection could be made",
          remedy: "Open the server's UDP ports for this machine, or configure TURN on the server")
      case .connectionLost:
        Row(
          exitCode: 32, phase: .session, codes: .init(twilio: 53001, enablex: 5087), joining: .fail, joined: .fail,
          cause: "The connection to the room was lost and did not come back",
          remedy: "What was recorded until then is complete; check the network and the server")
      case .evicted:
        Row(
          exitCode: 33, phase: .session, codes: .init(twilio: 53205, livekit: "DUPLICATE_IDENTITY"), joining: .fail,
          joined: .fail, cause: "Somebody joined the room with the bot's identity",
          remedy: "Give each recording an identity of its own (--identity); what was recorded until then is complete")
      case .removed:
        Row(
          exitCode: 34, phase: .session, codes: .init(livekit: "PARTICIPANT_REMOVED"), joining: .fail, joined: .fail,
          cause: "The bot was removed from the room", remedy: "Ask the room's owner")
      case .roomEnded:
        Row(
          exitCode: 35, phase: .session, codes: .init(twilio: 53118, livekit: "ROOM_DELETED"), joining: .wait,
          joined: .complete, cause: "The room was closed",
          remedy: "Start the recording while the room is open, or give --wait-for-room")
      case .signalLost:
        Row(
          exitCode: 36, phase: .session, codes: .init(twilio: 53001, livekit: "SIGNAL_CLOSE"), joining: .retry,
          joined: .retry, cause: "The signal connection to the room server was lost",
          remedy: "What was recorded until then is complete; check the network, and don't give --no-reconnect")
      case .serverSilent:
        Row(
          exitCode: 37, phase: .session, codes: .init(twilio: 53002), joining: .retry, joined: .retry,
          cause: "The room server says nothing any more",
          remedy: "What was recorded until then is complete; check the network, and don't give --no-reconnect")
      case .mediaLost:
        Row(
          exitCode: 38, phase: .media, codes: .init(twilio: 53405, livekit: "MEDIA_FAILURE"), joining: .retry,
          joined: .retry, cause: "The media connection was lost",
          remedy: "What was recorded until then is complete; check the network, and don't give --no-reconnect")
      case .notAdmitted:
        Row(
          exitCode: 39, phase: .join, codes: .init(), joining: .fail, joined: .fail,
          cause: "Nobody let the bot into the room in time",
          remedy: "Give the participant canSubscribe in time, or a longer --wait-for-admission")
      case .reconnectTimeout:
        Row(
          exitCode: 17, phase: .session, codes: .init(twilio: 53001, enablex: 5074), joining: .fail, joined: .fail,
          cause: "The connection to the room did not come back in time",
          remedy: "What was recorded until then is complete; check the network, or give a longer --reconnect-timeout")
      case .serverLeaves:
        Row(
          exitCode: 18, phase: .session, codes: .init(twilio: 53001, livekit: "SERVER_SHUTDOWN"), joining: .retry,
          joined: .rejoin, cause: "The room server ends or moves the session",
          remedy: "What was recorded until then is complete; don't give --no-reconnect")
      case .sessionUnknown:
        Row(
          exitCode: 19, phase: .session, codes: .init(twilio: 53002, livekit: "STATE_MISMATCH"), joining: .retry,
          joined: .rejoin, cause: "The room server does not know the session any more",
          remedy: "What was recorded until then is complete; don't give --no-reconnect")
      case .networkChanged:
        Row(
          exitCode: nil, phase: .session, codes: .init(enablex: 5073), joining: .none, joined: .retry,
          cause: "This machine's network changed", remedy: "Nothing; the connection is taken up over the new network")
      case .leavingAlready:
        Row(
          exitCode: nil, phase: .session, codes: .init(enablex: 5031), joining: .none, joined: .none,
          cause: "The bot is leaving already", remedy: "Nothing; the file is being finished")
      case .leftAlready:
        Row(
          exitCode: nil, phase: .session, codes: .init(enablex: 5032), joining: .none, joined: .none,
          cause: "The bot has left the room already", remedy: "Start another recording")
      }
    }
  }
}
