import HTTPGuard
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Platform
import Signaling

/// Answers plain HTTP requests: health, the check of a token without joining, what services are there for, and every
/// refusal. A request that was good for an upgrade never comes here.
///
/// It also closes connections whose request doesn't come, isn't upgraded, or whose answer isn't taken in time; so that
/// slow or silent clients don't hold descriptors. Confined to the channel's event loop.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let gate: JoinGate
  private let decision: JoinDecision
  private let sink: any SignalSink
  private let services: [any HTTPService]
  private let door: ConnectionDoor
  private let limit: TimeAmount
  private var deadline: Scheduled<Void>?
  private var head: HTTPRequestHead?
  private var service: (any HTTPService)?
  private var body: [UInt8] = []
  private var isTooLong = false
  /// The request that a service has not answered yet.
  private var waiting: Int?
  /// Nothing more is read: the connection closes.
  private var isRefused = false

  /// `limit` is the time for a whole request or an upgrade, and for an answer to be taken.
  init(
    gate: JoinGate, decision: JoinDecision, sink: any SignalSink, services: [any HTTPService], door: ConnectionDoor,
    limit: TimeAmount
  ) {
    self.gate = gate
    self.decision = decision
    self.sink = sink
    self.services = services
    self.door = door
    self.limit = limit
  }

  func handlerAdded(context: ChannelHandlerContext) { startDeadline(context) }

  func handlerRemoved(context: ChannelHandlerContext) { requestCame() }

  func channelInactive(context: ChannelHandlerContext) {
    if let waiting { service?.gone(waiting) }
    waiting = nil
    context.fireChannelInactive()
  }

  private func startDeadline(_ context: ChannelHandlerContext) {
    deadline?.cancel()
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    deadline = context.eventLoop.scheduleTask(in: limit) { loopBound.value.close(promise: nil) }
  }

  private func requestCame() {
    deadline?.cancel()
    deadline = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isRefused else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      if let fault = HeadRules.fault(of: head) {
        isRefused = true
        return send(context, head, HTTPReply(fault.status, fault.text + "\n"), closes: true)
      }
      self.head = head
      body.removeAll()
      isTooLong = false
      let path = RequestTarget(head.uri).path
      service = services.first { path.hasPrefix($0.prefix) }
    case .body(let bytes):
      // Only services take bodies; of others a little is read past, so that the refusal can be heard.
      let length = body.count + bytes.readableBytes
      guard length <= service?.longestBody ?? Self.shortBody else {
        isTooLong = true
        body.removeAll()
        return
      }
      // Strangers' bodies must not fill the memory: a long one is kept for who has a token only.
      if body.count <= Self.shortBody, length > Self.shortBody, let head, let refusal = refusal(of: head) {
        isRefused = true
        body.removeAll()
        return send(context, head, refusal, closes: true)
      }
      body += bytes.readableBytesView
    case .end:
      guard let head else { return }
      self.head = nil
      requestCame()
      answer(context, head)
    }
  }

  /// So many bytes of a body are read before anybody looks at the token.
  private static let shortBody = 64 * 1024

  private func refusal(of head: HTTPRequestHead) -> HTTPReply? {
    do throws(JoinGate.Refusal) {
      let query = SignalQuery(parsing: RequestTarget(head.uri).query)
      _ = try gate.verify(JoinGate.token(head.headers["authorization"].first, query), now: WallClock.seconds)
      return nil
    } catch {
      return HTTPReply(error.status, error.text)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The upgrader's word for a refused upgrade; the request itself follows and gets its answer.
    if error is NIOWebSocketUpgradeError { return }
    // What is refused has its answer, and closes by itself.
    if isRefused { return }
    guard error is HTTPParserError, waiting == nil else { return context.close(promise: nil) }
    isRefused = true
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
    send(context, head, HTTPReply(400, "the request is malformed\n"), closes: true)
  }

  private func answer(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
    if isTooLong { return send(context, head, HTTPReply(413, "the request is too long\n"), closes: true) }
    let target = RequestTarget(head.uri)
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    if let service {
      let (door, channel) = (door, context.channel)
      let request = HTTPRequest(
        method: head.method.rawValue, path: String(target.path), query: String(target.query), headers: head.headers,
        body: body, enter: { door.enter(channel) })
      body.removeAll()
      waiting = request.number
      service.answer(request) { reply in
        loopBound.execute { handler, context in handler.send(context, head, reply) }
      }
      return
    }
    switch Self.answer(to: head, target, decision) {
    case .reply(let reply): send(context, head, reply)
    case .ask(let request):
      guard door.enter(context.channel) else { return send(context, head, .full) }
      sink.admit(request) { refusal in
        let good = target.path == "/rtc" ? HTTPReply(404, "") : HTTPReply(200, "success", isOpen: true)
        let reply = refusal.map { HTTPReply($0.status, $0.text, isOpen: true) } ?? good
        loopBound.execute { handler, context in handler.send(context, head, reply) }
      }
    }
  }

  /// What is done about a request that no service answers.
  private enum Answer {
    case reply(HTTPReply)
    /// The token is good: the rooms have the last word.
    case ask(JoinRequest)
  }

  /// Other pages may read the answers of `validate`.
  private static func answer(to head: HTTPRequestHead, _ target: RequestTarget, _ decision: JoinDecision) -> Answer {
    guard head.method == .GET || head.method == .HEAD else { return .reply(HTTPReply(404, "404 page not found\n")) }
    switch target.path {
    case "/": return .reply(HTTPReply(200, "OK"))
    case "/rtc/validate", "/rtc":
      switch decision.take(head) {
      case .success(let request): return .ask(request)
      case .failure(let refusal): return .reply(HTTPReply(refusal.status, refusal.text, isOpen: true))
      }
    // Also `/rtc/v1`: from exactly this answer, SDKs know that they must use two peer connections.
    default: return .reply(HTTPReply(404, "404 page not found\n", isOpen: target.path.hasPrefix("/rtc")))
    }
  }

  private func send(
    _ context: ChannelHandlerContext, _ head: HTTPRequestHead, _ reply: HTTPReply, closes: Bool = false
  ) {
    waiting = nil
    guard context.channel.isActive else { return }
    var headers = HTTPHeaders()
    headers.add(name: "Content-Type", value: reply.contentType)
    headers.add(name: "Content-Length", value: String(reply.body.count))
    headers.add(name: "X-Content-Type-Options", value: "nosniff")
    if reply.isOpen { headers.add(name: "Access-Control-Allow-Origin", value: "*") }
    for (name, value) in reply.headers { headers.add(name: name, value: value) }
    let keepsAlive = head.isKeepAlive && (reply.status < 400 || service != nil) && !closes
    headers.add(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
    let status = HTTPResponseStatus(statusCode: reply.status)
    let response = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    if head.method != .HEAD, !reply.body.isEmpty {
      let body = context.channel.allocator.buffer(bytes: reply.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    startDeadline(context)
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      let (handler, context) = loopBound.value
      guard keepsAlive else { return handler.close(context) }
      handler.startDeadline(context)
      handler.door.leave(context.channel)
    }
  }

  /// Closes when the client has had time to read the answer: unread bytes of a request would destroy it.
  private func close(_ context: ChannelHandlerContext) {
    guard isRefused else { return context.close(promise: nil) }
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: .milliseconds(250)) { loopBound.value.close(promise: nil) }
  }
}

extension NIOLoopBound where Value == (HTTPHandler, ChannelHandlerContext) {
  /// Does something with the handler on its event loop; nothing when its channel is gone.
  fileprivate func execute(_ work: @escaping @Sendable (HTTPHandler, ChannelHandlerContext) -> Void) {
    eventLoop.execute { work(self.value.0, self.value.1) }
  }
}

/// A request target (RFC 9112 section 3.2) cut into path and query.
struct RequestTarget {
  /// Path; a doubled slash at its beginning counts as one.
  var path: Substring
  /// What stands behind the question mark.
  var query: Substring

  init(_ uri: String) {
    let mark = uri.firstIndex(of: "?")
    path = uri[..<(mark ?? uri.endIndex)]
    query = mark.map { uri[uri.index(after: $0)...] } ?? ""
    while path.hasPrefix("//") { path = path.dropFirst() }
  }
}
