import JobsAPI
import MediaCore
import Signaling
import Worker

/// The rooms of a LiveKit server in which somebody is, by its server API.
struct OccupiedRooms: Sendable {
  let url: String
  let apiKey: String
  @Redacted var apiSecret: String
  let tlsCA: String?

  /// No more are named.
  private static let most = 10

  private struct Answer: Decodable {
    struct Room: Decodable {
      var name: String
      var people: Int

      enum CodingKeys: String, CodingKey {
        case name
        case people = "num_participants"
        case sameInCamelCase = "numParticipants"
      }

      init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decodeIfPresent(String.self, forKey: .name) ?? ""
        people =
          try values.decodeIfPresent(Int.self, forKey: .people)
          ?? values.decodeIfPresent(Int.self, forKey: .sameInCamelCase) ?? 0
      }
    }
    var rooms: [Room]?
  }

  /// Their names, but for one room; empty when the server lists none, or nothing at all.
  func names(but room: String) async -> [String] {
    var grant = VideoGrant()
    grant.roomList = true
    let token = AccessToken(apiKey: apiKey, identity: "recbot", video: grant, now: Timestamp.now.seconds, lifetime: 60)
    guard let address = try? SignalURL(url), let credential = try? token.signed(secret: apiSecret),
      let client = try? BackendClient(
        url: "\(address.isSecure ? "https" : "http")://\(address.hostHeader)\(address.prefix)", credential: credential,
        tlsCA: tlsCA, timeLimit: .seconds(3))
    else { return [] }
    let answer: Answer? = try? await client.send(
      .POST, "/twirp/livekit.RoomService/ListRooms", body: [String: String]())
    await client.shutdown()
    let occupied = (answer?.rooms ?? []).filter { $0.people > 0 && $0.name != room }.map(\.name).sorted()
    return Array(occupied.prefix(Self.most))
  }
}
