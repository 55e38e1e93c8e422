import Glibc
import NIOCore
import NIOHTTP1
import Signaling
import Synchronization

/// Answers what begins with `/mailbox/v1/`, and hands out the page of two-party rooms; everything else goes on to the
/// next handler. Confined to the channel's event loop.
final class MailboxHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// An answer, ready to be sent.
  struct Answer {
    var status: Int
    var type = "text/plain; charset=utf-8"
    var body: [UInt8]
    var headers: [(String, String)] = []

    /// A refusal: one line of text.
    static func refusal(_ status: Int, _ text: String) -> Answer { Answer(status: status, body: Array(text.utf8)) }
  }

  /// How long a connection may stay without a request, or take for one.
  static let idleTime = TimeAmount.seconds(30)
  private static let numbers = Atomic<Int>(0)

  private let mailbox: MailboxService
  private let gate: JoinGate
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  /// The number of the request that waits in the mailbox.
  private var waiting: Int?
  private var idle: Scheduled<Void>?

  init(mailbox: MailboxService, gate: JoinGate) {
    self.mailbox = mailbox
    self.gate = gate
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard Self.isMine(RequestTarget(head.uri).path) else { return context.fireChannelRead(data) }
      self.head = head
      body = []
    case .body(let bytes):
      guard head != nil else { return context.fireChannelRead(data) }
      body += bytes.readableBytesView
      if body.count > MailboxCoding.maximumBody { context.close(promise: nil) }
    case .end:
      guard let head else { return context.fireChannelRead(data) }
      self.head = nil
      takeOver(context)
      answer(head, body, context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    gone()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { gone() }

  private func gone() {
    idle?.cancel()
    idle = nil
    if let waiting { mailbox.cancel(waiting) }
    waiting = nil
  }

  static func isMine(_ path: Substring) -> Bool { path.hasPrefix("/mailbox/") || PeerPage.isPart(path) }

  /// From the first whole request on, this handler watches over the connection instead of the deadline for handshakes.
  private func takeOver(_ context: ChannelHandlerContext) {
    idle?.cancel()
    idle = nil
    let pipeline = context.pipeline.syncOperations
    if let deadline = try? pipeline.context(handlerType: HandshakeDeadline.self) {
      pipeline.removeHandler(context: deadline, promise: nil)
    }
  }

  // MARK: Answers

  private func answer(_ head: HTTPRequestHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
    let target = RequestTarget(head.uri)
    if let page = PeerPage.answer(head.method, target.path) { return send(page, to: head, context) }
    let call: MailboxService.Call
    do throws(JoinGate.Refusal) {
      call = try Self.call(head, target, body, gate)
    } catch {
      return send(.refusal(error.status, error.text), to: head, context)
    }
    let number = Self.numbers.add(1, ordering: .relaxed).newValue
    waiting = number
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let eventLoop = context.eventLoop
    mailbox.perform(call, number: number) { result in
      eventLoop.execute {
        let (handler, context) = loopBound.value
        guard handler.waiting == number else { return }
        handler.waiting = nil
        handler.send(Self.answer(result), to: head, context)
      }
    }
  }

  /// What a request asks, once its token was found good for its room.
  static func call(
    _ head: HTTPRequestHead, _ target: RequestTarget, _ body: [UInt8], _ gate: JoinGate
  ) throws(JoinGate.Refusal) -> MailboxService.Call {
    let parts = target.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard parts.count >= 3, parts.count <= 4, parts.prefix(2).elementsEqual(["mailbox", "v1"]),
      let room = PercentCoding.decode(parts[parts.startIndex + 2]), !room.isEmpty
    else { throw .init(status: 404, text: "404 page not found\n") }
    let request = try gate.admit(
      authorization: head.headers["authorization"].first, query: "", now: Int64(time(nil)))
    guard request.room == room else {
      throw .init(status: 403, text: "permissions denied: the token's grant is for another room")
    }
    let query = Query(target.query)
    var call = MailboxService.Call(
      room: room, identity: request.token.identity, session: query["session"] ?? "", action: .clear)
    switch (head.method, parts.count == 4 ? String(parts[parts.endIndex - 1]) : "") {
    case (.PUT, "seat"):
      var seat = try read(SeatRequest.self, body)
      if seat.name == nil { seat.name = request.token.name }
      call.session = seat.session
      call.action = .takeSeat(seat)
    case (.DELETE, "seat"): call.action = .leave
    case (.PUT, "description"): call.action = .put(try read(MailboxDescription.self, body))
    case (.DELETE, "description"): call.action = .clear
    case (.POST, "candidates"): call.action = .add(try read(MailboxCandidates.self, body))
    case (.GET, ""): call.action = .watch(after: query["after"].flatMap { UInt64($0) } ?? 0)
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

  private static func answer(_ result: Result<MailboxView, MailboxState.Refusal>) -> Answer {
    switch result {
    case .success(let view): Answer(status: 200, type: "application/json", body: MailboxCoding.encode(view))
    case .failure(let refusal): .refusal(refusal.status, refusal.text)
    }
  }

  private func send(_ answer: Answer, to head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    var headers = HTTPHeaders()
    headers.add(name: "Content-Type", value: answer.type)
    headers.add(name: "Content-Length", value: String(answer.body.count))
    headers.add(name: "Cache-Control", value: "no-store")
    headers.add(name: "X-Content-Type-Options", value: "nosniff")
    for (name, value) in answer.headers { headers.add(name: name, value: value) }
    let keepsAlive = head.isKeepAlive
    headers.add(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
    let status = HTTPResponseStatus(statusCode: answer.status)
    context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
    if head.method != .HEAD {
      let bytes = context.channel.allocator.buffer(bytes: answer.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      if !keepsAlive { loopBound.value.close(promise: nil) }
    }
    idle = context.eventLoop.scheduleTask(in: Self.idleTime) { loopBound.value.close(promise: nil) }
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

  init(_ text: Substring) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentCoding.decode(parts[0]), values[name] == nil else { continue }
      values[name] = parts.count > 1 ? PercentCoding.decode(parts[1]) : ""
    }
  }

  subscript(name: String) -> String? { values[name] }
}
