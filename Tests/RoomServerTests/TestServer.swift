import Glibc
import Logging
import Signaling
import Testing

@testable import RoomServer

let key = "key"
let secret = "a secret of the tests"

/// A server on a free port for one test.
final class TestServer {
  let server: EmbeddedRoomServer
  let port: Int

  init(_ change: (inout EmbeddedRoomServer.Configuration) -> Void = { _ in }) throws {
    var configuration = EmbeddedRoomServer.Configuration(apiKeys: [key: secret])
    configuration.port = 0
    change(&configuration)
    server = EmbeddedRoomServer(
      configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    port = try server.start()
  }

  deinit { server.stop() }

  func client() throws -> WireClient { try #require(WireClient(port: port)) }

  func join(_ identity: String, room: String = "room", query: String = "protocol=16", hidden: Bool = false) throws
    -> WireClient
  {
    let client = try client()
    let status = client.upgrade("/rtc?\(query)&access_token=\(try token(identity, room: room, hidden: hidden))")
    #expect(status == 101)
    return client
  }
}

func token(
  _ identity: String = "alice", room: String? = "room", join: Bool? = true, hidden: Bool = false,
  secret used: String = secret, key usedKey: String = key, from start: Int64 = 0, lifetime: Int64 = 600,
  video: Bool = true, updates: Bool? = nil, publish: Bool? = nil, subscribe: Bool? = nil
) throws -> String {
  var grant = VideoGrant(
    room: room, roomJoin: join, canPublish: publish, canSubscribe: subscribe, hidden: hidden ? true : nil)
  grant.canUpdateOwnMetadata = updates
  return try AccessToken(
    apiKey: usedKey, identity: identity, video: video ? grant : nil, now: Int64(time(nil)) + start,
    lifetime: lifetime
  ).signed(secret: used)
}

/// A token for the server's APIs.
func adminToken(room: String? = nil, admin: Bool? = true, create: Bool? = true, list: Bool? = true) throws -> String {
  var grant = VideoGrant(room: room)
  (grant.roomAdmin, grant.roomCreate, grant.roomList) = (admin, create, list)
  return try AccessToken(apiKey: key, identity: "admin", video: grant, now: Int64(time(nil))).signed(secret: secret)
}
