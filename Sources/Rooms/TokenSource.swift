import MediaCore
import Signaling

/// Where the tokens of a room connection come from. No text shows what is in it.
public enum TokenSource: Sendable, Undisclosed {
  /// A token that somebody else made. It is used as it is, and replaced by what the server sends to refresh it.
  case given(String)
  /// A token that is replaced from time to time by the one who made it.
  case renewed(RenewedToken)
  /// Tokens are made as needed, with the grants of a hidden recorder: it may subscribe, and nothing else.
  case minted(apiKey: String, apiSecret: String, room: String, identity: String, name: String)

  /// Whether a new token can be made when one is too old.
  public var canRenew: Bool {
    switch self {
    case .given: false
    case .minted, .renewed: true
    }
  }

  /// A token for a new join at `now` (seconds since 1970). `refreshed` is the newest that the server sent. Of two
  /// tokens that were given, the one that is valid longer is used: what a server sends may be short-lived, and is too
  /// old after a long outage.
  public func token(now: Int64, refreshed: String?) throws(RoomError) -> String {
    switch self {
    case .given(let token): return Self.choose(token, refreshed, now: now)
    case .renewed(let token): return Self.choose(token.current, refreshed, now: now)
    case .minted(let apiKey, let apiSecret, let room, let identity, let name):
      let grant = VideoGrant(
        room: room, roomJoin: true, canPublish: false, canSubscribe: true, canPublishData: false, hidden: true,
        recorder: true)
      let token = AccessToken(apiKey: apiKey, identity: identity, video: grant, now: now, name: name)
      do {
        return try token.signed(secret: apiSecret)
      } catch {
        throw RoomError(.unauthorized, "the token could not be made")
      }
    }
  }

  /// A token that allows nothing but to ask which rooms there are, and the room's name; nil where only the room's own
  /// token is known.
  func listing(now: Int64) -> (room: String, token: String)? {
    guard case .minted(let apiKey, let apiSecret, let room, let identity, _) = self else { return nil }
    var grant = VideoGrant()
    grant.roomList = true
    let token = AccessToken(apiKey: apiKey, identity: identity, video: grant, now: now, lifetime: 60)
    guard let text = try? token.signed(secret: apiSecret) else { return nil }
    return (room, text)
  }

  private static func choose(_ token: String, _ refreshed: String?, now: Int64) -> String {
    guard let refreshed else { return token }
    guard let first = try? AccessToken(reading: token), let second = try? AccessToken(reading: refreshed),
      first.expires > second.expires, second.expires <= now
    else { return refreshed }
    return token
  }
}
