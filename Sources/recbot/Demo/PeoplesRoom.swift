import Logging
import Platform
import RecbotKit
import Signaling

/// The room in which synthetic people meet, and what lets them in.
struct PeoplesRoom {
  var name: String
  /// The server's address.
  var url: String
  var apiKey: String
  var apiSecret: String
  var logger: Logger
  /// What they encrypt with; nil: they send in the clear.
  var keys: FrameKeys?

  /// Lets somebody in who only publishes.
  func token(identity: String, name: String) throws -> String {
    let grant = VideoGrant(
      room: self.name, roomJoin: true, canPublish: true, canSubscribe: false, canPublishData: false)
    return try AccessToken(apiKey: apiKey, identity: identity, video: grant, now: WallClock.seconds, name: name)
      .signed(secret: apiSecret)
  }

  /// How somebody connects who only publishes.
  func options(_ threads: RoomThreads) -> ConnectOptions {
    var options = ConnectOptions()
    options.receivesMedia = false
    options.keys = keys
    options.threads = threads
    options.logger = logger
    return options
  }
}

/// People who meet in a room.
protocol PeopleStage: Sendable {
  /// How many they are.
  var count: Int { get }
  /// Everybody joins and begins to send.
  func begin() async throws
  /// Everybody leaves.
  func end() async
}
