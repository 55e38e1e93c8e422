import MediaCore
import Platform
import Signaling

/// `/mailbox/v1/…`: the mailbox over HTTP, for who has a token that lets join the room.
struct MailboxAPI: HTTPService {
  let mailbox: MailboxService
  let gate: JoinGate

  let prefix = "/mailbox/"
  let longestBody = MailboxCoding.maximumBody

  func answer(_ request: HTTPRequest, _ reply: @escaping @Sendable (HTTPReply) -> Void) {
    let call: MailboxService.Call
    do throws(JoinGate.Refusal) {
      call = try Self.call(request, gate)
    } catch {
      return reply(HTTPReply(error.status, error.text))
    }
    guard request.enter() else { return reply(.full) }
    mailbox.perform(call, number: request.number) { result in reply(Self.reply(result)) }
  }

  func gone(_ number: Int) { mailbox.cancel(number) }

  /// What a request asks, once its token was found good for its room.
  static func call(
    _ request: HTTPRequest, _ gate: JoinGate
  ) throws(JoinGate.Refusal) -> MailboxService.Call {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard parts.count >= 3, parts.count <= 4, parts.prefix(2).elementsEqual(["mailbox", "v1"]),
      let room = PercentCoding.decode(parts[parts.startIndex + 2]), !room.isEmpty
    else { throw .init(status: 404, text: "404 page not found\n") }
    let join = try gate.admit(
      authorization: request.headers["authorization"].first, query: "", now: WallClock.seconds)
    guard join.room == room else {
      throw .init(status: 403, text: "permissions denied: the token's grant is for another room")
    }
    let query = Query(request.query)
    var call = MailboxService.Call(
      room: room, identity: join.token.identity, session: query["session"] ?? "", action: .clear)
    switch (request.method, parts.count == 4 ? String(parts[parts.endIndex - 1]) : "") {
    case ("PUT", "seat"):
      var seat = try read(SeatRequest.self, request.body)
      if seat.name == nil { seat.name = join.token.name }
      call.session = seat.session
      call.action = .takeSeat(seat)
    case ("DELETE", "seat"): call.action = .leave
    case ("PUT", "description"): call.action = .put(try read(MailboxDescription.self, request.body))
    case ("DELETE", "description"): call.action = .clear
    case ("POST", "candidates"): call.action = .add(try read(MailboxCandidates.self, request.body))
    case ("GET", ""): call.action = .watch(after: query["after"].flatMap { UInt64($0) } ?? 0)
    default: throw .init(status: 404, text: "404 page not found\n")
    }
    return call
  }

  private static func read<Message: Decodable>(
    _ type: Message.Type, _ body: [UInt8]
  ) throws(JoinGate.Refusal) -> Message {
    guard let message = MailboxCoding.decode(type, from: body) else {
      throw .init(status: 400, text: "the body is not the JSON that is expected here")
    }
    return message
  }

  private static func reply(_ result: Result<MailboxView, MailboxState.Refusal>) -> HTTPReply {
    var reply: HTTPReply
    switch result {
    case .success(let view): reply = HTTPReply(200, "application/json", MailboxCoding.encode(view))
    case .failure(let refusal): reply = HTTPReply(refusal.status, refusal.text)
    }
    reply.headers = [("Cache-Control", "no-store")]
    return reply
  }
}

extension MailboxState.Refusal {
  /// HTTP status.
  var status: Int {
    switch self {
    case .noSeat: 404
    case .replaced: 410
    case .occupied, .stale: 409
    case .tooManyRooms: 503
    case .invalid: 400
    }
  }

  /// One line for the client.
  var text: String {
    switch self {
    case .noSeat: "no seat: take one first"
    case .replaced: "replaced: the identity has joined again"
    case .occupied(let identity): "occupied: the seat is taken by \(identity)"
    case .stale: "stale: that description is not stored"
    case .tooManyRooms: "too many rooms"
    case .invalid(let what): "invalid: \(what)"
    }
  }
}

/// The query of a request target: `name=value` pairs. The first of a name counts.
private struct Query {
  private var values: [String: String] = [:]

  init(_ text: String) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentCoding.decode(parts[0]), values[name] == nil else { continue }
      values[name] = parts.count > 1 ? PercentCoding.decode(parts[1]) : ""
    }
  }

  subscript(name: String) -> String? { values[name] }
}
