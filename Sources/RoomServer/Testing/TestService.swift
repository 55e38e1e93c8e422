import MediaCore
import Platform
import Signaling

/// `POST /test/<verb>`: the verbs of `TestVerb` over HTTP. Needs a token with the roomAdmin grant for the room that the
/// verb is about, as the room service's own API does; verbs about the whole server need one that names no room.
struct TestService: HTTPService {
  let gate: JoinGate
  let directory: RoomDirectory

  let prefix = "/test/"
  let longestBody = 64 * 1024

  func answer(_ request: HTTPRequest, _ reply: @escaping @Sendable (HTTPReply) -> Void) {
    guard request.method == "POST" else { return reply(Self.failure(405, "verbs are called with POST")) }
    let grant: VideoGrant
    do throws(JoinGate.Refusal) {
      let token = try JoinGate.token(request.headers["authorization"].first, SignalQuery(parsing: request.query))
      guard let video = try gate.verify(token, now: WallClock.seconds).video, video.roomAdmin == true else {
        throw JoinGate.Refusal(status: 403, text: "the test API needs a token with the roomAdmin grant")
      }
      grant = video
    } catch {
      return reply(Self.failure(error.status, error.text))
    }
    let verb: TestVerb
    do throws(TestVerbError) {
      verb = try TestVerb(name: String(request.path.dropFirst(prefix.count)), json: request.body)
    } catch {
      return reply(Self.failure(error))
    }
    guard (grant.room ?? "") == (verb.room ?? "") else {
      let wanted = verb.room.map { "for the room '\($0)'" } ?? "that names no room"
      return reply(Self.failure(403, "this needs a token \(wanted)"))
    }
    guard request.enter() else { return reply(.full) }
    let directory = directory
    directory.loop.post {
      do throws(TestVerbError) {
        let count = try directory.perform(verb)
        reply(Self.reply(200, "{\"ok\":true,\"participants\":\(count)}\n"))
      } catch {
        reply(Self.failure(error))
      }
    }
  }

  private static func failure(_ error: TestVerbError) -> HTTPReply {
    switch error {
    case .unknownVerb, .notFound: failure(404, error.description)
    case .badRequest: failure(400, error.description)
    case .notRunning: failure(503, error.description)
    }
  }

  private static func failure(_ status: Int, _ text: String) -> HTTPReply {
    reply(status, "{\"error\":\(JSONText.quoted(text))}\n")
  }

  private static func reply(_ status: Int, _ json: String) -> HTTPReply {
    HTTPReply(status, "application/json", Array(json.utf8))
  }
}

extension TestVerb {
  /// The room that the verb is about; nil for the whole server.
  var room: String? {
    switch self {
    case .cutSignal(let target, _, _), .cutMedia(let target, _), .dropUpdates(let target, _),
      .delayAnswers(let target, _, _), .migrate(let target, _), .kick(let target, _), .duplicate(let target),
      .expireToken(let target), .pauseStreams(let target, _, _), .permit(let target, _),
      .limitBandwidth(let target, _, _):
      target.room
    case .endRoom(let room, _), .fill(let room, _): room
    case .busy(_, let room, _): room
    case .restart, .restore: nil
    }
  }
}
