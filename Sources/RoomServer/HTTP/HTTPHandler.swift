import Glibc
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Answers plain HTTP requests: health, the check of a token without joining, and every refusal. A request that was
/// good for an upgrade never comes here. Confined to the channel's event loop.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let gate: JoinGate
  private var head: HTTPRequestHead?
  private var bodyBytes = 0

  /// The largest request body that is read past, in bytes; nothing here takes a body.
  static let longestBody = 64 * 1024

  init(gate: JoinGate) { self.gate = gate }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      bodyBytes = 0
    case .body(let bytes):
      bodyBytes += bytes.readableBytes
      if bodyBytes > Self.longestBody { context.close(promise: nil) }
    case .end:
      guard let head else { return }
      self.head = nil
      let reply = Self.reply(to: head, gate: gate)
      send(context, head, reply)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The upgrader's word for a refused upgrade; the request itself follows and gets its answer.
    if error is NIOWebSocketUpgradeError { return }
    context.close(promise: nil)
  }

  /// Status and text for a request that isn't upgraded. Other pages may read the answers of `validate`.
  static func reply(to head: HTTPRequestHead, gate: JoinGate) -> (status: Int, text: String, isOpen: Bool) {
    let target = RequestTarget(head.uri)
    guard head.method == .GET || head.method == .HEAD else { return (404, "404 page not found\n", false) }
    switch target.path {
    case "/": return (200, "OK", false)
    case "/rtc/validate", "/rtc":
      do throws(JoinGate.Refusal) {
        _ = try gate.admit(
          authorization: head.headers["authorization"].first, query: target.query, now: Int64(time(nil)))
      } catch {
        return (error.status, error.text, true)
      }
      // A good token without an upgrade.
      return target.path == "/rtc" ? (404, "", false) : (200, "success", true)
    // Also `/rtc/v1`: from exactly this answer, SDKs know that they must use two peer connections.
    default: return (404, "404 page not found\n", target.path.hasPrefix("/rtc"))
    }
  }

  private func send(
    _ context: ChannelHandlerContext, _ head: HTTPRequestHead, _ reply: (status: Int, text: String, isOpen: Bool)
  ) {
    var headers = HTTPHeaders()
    headers.add(name: "Content-Type", value: "text/plain; charset=utf-8")
    headers.add(name: "Content-Length", value: String(reply.text.utf8.count))
    headers.add(name: "X-Content-Type-Options", value: "nosniff")
    if reply.isOpen { headers.add(name: "Access-Control-Allow-Origin", value: "*") }
    let keepsAlive = head.isKeepAlive && reply.status < 400
    headers.add(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
    let status = HTTPResponseStatus(statusCode: reply.status)
    let response = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    if head.method != .HEAD, !reply.text.isEmpty {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.text)))), promise: nil)
    }
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      if !keepsAlive { loopBound.value.close(promise: nil) }
    }
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

/// Closes a connection that hasn't sent a whole request, or hasn't been upgraded, in time; so that slow or silent
/// clients don't hold descriptors. Confined to the channel's event loop.
final class HandshakeDeadline: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let limit: TimeAmount
  private var deadline: Scheduled<Void>?

  init(limit: TimeAmount) { self.limit = limit }

  func handlerAdded(context: ChannelHandlerContext) {
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    deadline = context.eventLoop.scheduleTask(in: limit) { loopBound.value.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    deadline?.cancel()
    deadline = nil
  }
}
