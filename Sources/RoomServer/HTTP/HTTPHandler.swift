import Glibc
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Answers plain HTTP requests: health, the check of a token without joining, what services are there for, and every
/// refusal. A request that was good for an upgrade never comes here.
///
/// It also closes connections whose request doesn't come, or isn't upgraded, in time; so that slow or silent clients
/// don't hold descriptors. Confined to the channel's event loop.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let gate: JoinGate
  private let sink: any SignalSink
  private let services: [any HTTPService]
  private let limit: TimeAmount
  private var deadline: Scheduled<Void>?
  private var head: HTTPRequestHead?
  private var service: (any HTTPService)?
  private var body: [UInt8] = []
  private var isTooLong = false
  /// The request that a service has not answered yet.
  private var waiting: Int?

  /// `limit` is the time for a whole request or an upgrade.
  init(gate: JoinGate, sink: any SignalSink, services: [any HTTPService], limit: TimeAmount) {
    self.gate = gate
    self.sink = sink
    self.services = services
    self.limit = limit
  }

  func handlerAdded(context: ChannelHandlerContext) { expectRequest(context) }

  func handlerRemoved(context: ChannelHandlerContext) { requestCame() }

  func channelInactive(context: ChannelHandlerContext) {
    if let waiting { service?.gone(waiting) }
    waiting = nil
    context.fireChannelInactive()
  }

  private func expectRequest(_ context: ChannelHandlerContext) {
    deadline?.cancel()
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    deadline = context.eventLoop.scheduleTask(in: limit) { loopBound.value.close(promise: nil) }
  }

  private func requestCame() {
    deadline?.cancel()
    deadline = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      body.removeAll()
      isTooLong = false
      let path = RequestTarget(head.uri).path
      service = services.first { path.hasPrefix($0.prefix) }
    case .body(let bytes):
      // Only services take bodies; of others a little is read past, so that the refusal can be heard.
      guard body.count + bytes.readableBytes <= service?.longestBody ?? 64 * 1024 else {
        isTooLong = true
        body.removeAll()
        return
      }
      body += bytes.readableBytesView
    case .end:
      guard let head else { return }
      self.head = nil
      requestCame()
      answer(context, head)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The upgrader's word for a refused upgrade; the request itself follows and gets its answer.
    if error is NIOWebSocketUpgradeError { return }
    context.close(promise: nil)
  }

  private func answer(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
    if isTooLong { return send(context, head, HTTPReply(413, "the request is too long\n"), closes: true) }
    let target = RequestTarget(head.uri)
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    if let service {
      let request = HTTPRequest(
        method: head.method.rawValue, path: String(target.path), query: String(target.query), headers: head.headers,
        body: body)
      body.removeAll()
      waiting = request.number
      service.answer(request) { reply in
        loopBound.execute { handler, context in handler.send(context, head, reply) }
      }
      return
    }
    switch Self.answer(to: head, target, gate: gate) {
    case .reply(let reply): send(context, head, reply)
    case .ask(let request):
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
  private static func answer(to head: HTTPRequestHead, _ target: RequestTarget, gate: JoinGate) -> Answer {
    guard head.method == .GET || head.method == .HEAD else { return .reply(HTTPReply(404, "404 page not found\n")) }
    switch target.path {
    case "/": return .reply(HTTPReply(200, "OK"))
    case "/rtc/validate", "/rtc":
      do throws(JoinGate.Refusal) {
        return .ask(
          try gate.admit(
            authorization: head.headers["authorization"].first, query: target.query, now: Int64(time(nil))))
      } catch {
        return .reply(HTTPReply(error.status, error.text, isOpen: true))
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
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      let (handler, context) = loopBound.value
      if keepsAlive { handler.expectRequest(context) } else { context.close(promise: nil) }
    }
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
