import MediaCore
import NIOCore
import NIOHTTP1

/// One request after the other on one connection, and their answers. Confined to its event loop.
///
/// It reads only what somebody takes: no part of a body is asked for while those before it wait.
final class WebExchangeHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  /// What is under way.
  private struct Exchange {
    /// Tells it from those before it on the same connection.
    var number: Int
    /// Nil once it is kept: it holds the answer, and so what lets the connection go with it.
    var answer: EventLoopPromise<WebResponse>?
    /// Of the request's body, what has not been written.
    var rest: ByteBuffer?
    var isSent = false
    /// How long the other side may neither take nor send anything; nil: as long as it likes.
    var silence: TimeAmount?
    /// Of the answer's body; nil before its head.
    var source: WebBody.Producer.Source?
    var staysOpen = true
  }

  /// The bytes of a request's body that are written at once.
  private static let slice = 64 << 10

  private var exchange: Exchange?
  private var count = 0
  /// Whoever reads the body has taken what came of it.
  private var isTaken = true
  /// When the other side last took or sent something.
  private var progress = NIODeadline.now()
  private var alarm: Scheduled<Void>?
  private var context: ChannelHandlerContext?
  /// Why the connection ended before anything was asked.
  private var failure: WebFault?
  /// Called when the connection is free for the next request.
  private let free: @Sendable (WebConnection) -> Void

  init(free: @escaping @Sendable (WebConnection) -> Void) { self.free = free }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    end(.unanswered)
    self.context = nil
  }

  /// Sends a request. Only while no other is under way.
  func start(_ request: WebRequest, keepsOpen: Bool, silence: TimeAmount?, _ answer: EventLoopPromise<WebResponse>) {
    guard let context, exchange == nil, context.channel.isActive else { return answer.fail(failure ?? .unanswered) }
    // A blank or a line's end in it would make another request of it (RFC 9112 section 3.2).
    guard request.target.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      answer.fail(WebFault.unreachable("'\(PeerText.line(request.target))' is no path"))
      return context.close(promise: nil)
    }
    count += 1
    exchange = Exchange(number: count, answer: answer, rest: request.body, silence: silence, staysOpen: keepsOpen)
    var headers = request.headers
    headers.replaceOrAdd(name: "host", value: request.authority)
    headers.replaceOrAdd(name: "connection", value: keepsOpen ? "keep-alive" : "close")
    headers.remove(name: "transfer-encoding")
    headers.remove(name: "content-length")
    // What has no body by its meaning says nothing of one (RFC 9110 section 8.6).
    let count = request.body?.readableBytes ?? 0
    if request.body != nil || ![.GET, .HEAD, .DELETE, .OPTIONS].contains(request.method) {
      headers.add(name: "content-length", value: "\(count)")
    }
    let head = HTTPRequestHead(version: .http1_1, method: request.method, uri: request.target, headers: headers)
    progress = .now()
    watch()
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    send(context)
    context.read()
  }

  /// Writes the body a slice at a time, so that it is seen whether the other side takes any of it.
  private func send(_ context: ChannelHandlerContext) {
    guard exchange?.isSent == false else { return }
    guard var rest = exchange?.rest, let slice = rest.readSlice(length: min(Self.slice, rest.readableBytes)),
      slice.readableBytes > 0
    else {
      exchange?.isSent = true
      return context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
    exchange?.rest = rest
    let written = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(slice))), promise: written)
    written.futureResult.assumeIsolated().whenSuccess { [weak self] in
      guard let self, let context = self.context else { return }
      progress = .now()
      send(context)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    progress = .now()
    switch unwrapInboundIn(data) {
    case .head(let head): begin(head, context)
    case .body(let bytes):
      switch exchange?.source?.yield(bytes) {
      case .stopProducing: isTaken = false
      case .dropped: give(up: context)
      default: break
      }
    case .end: complete(context)
    }
  }

  private func begin(_ head: HTTPResponseHead, _ context: ChannelHandlerContext) {
    // Of an answer that only prepares another (RFC 9110 section 15.2) nobody wants to know; what nobody asked for is the end.
    if (100..<200).contains(head.status.code) { return }
    guard let exchange, exchange.source == nil else { return context.close(promise: nil) }
    let made = WebBody.Producer.makeSequence(
      backPressureStrategy: .init(lowWatermark: 1, highWatermark: 8), finishOnDeinit: true,
      delegate: WebBodyFlow(
        loop: context.eventLoop, handler: NIOLoopBound(self, eventLoop: context.eventLoop), number: exchange.number))
    isTaken = true
    self.exchange?.source = made.source
    self.exchange?.staysOpen = exchange.staysOpen && head.isKeepAlive
    self.exchange?.answer = nil
    let body = WebBody(producer: made.sequence)
    exchange.answer?.succeed(WebResponse(status: head.status, headers: head.headers, body: body))
  }

  private func complete(_ context: ChannelHandlerContext) {
    guard let done = exchange, let source = done.source else { return }
    exchange = nil
    isTaken = true
    alarm?.cancel()
    // Who has answered before it had all of the request takes no other. Before whoever asked knows of the end: so their next
    // request finds it.
    if done.staysOpen, done.isSent {
      free(WebConnection(channel: context.channel, handler: NIOLoopBound(self, eventLoop: context.eventLoop)))
    } else {
      context.close(promise: nil)
    }
    source.finish()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // While nothing is under way, too: so the end of a connection that waits is seen before it is wanted.
    if isTaken { context.read() }
    context.fireChannelReadComplete()
  }

  /// More is wanted of a body.
  func produceMore(of number: Int) {
    guard let context, exchange?.number == number, !isTaken else { return }
    isTaken = true
    progress = .now()
    context.read()
  }

  /// Nobody wants the rest of a body.
  func terminate(_ number: Int) {
    guard let context, exchange?.number == number else { return }
    give(up: context)
  }

  private func give(up context: ChannelHandlerContext) {
    end(.cancelled)
    context.close(promise: nil)
  }

  /// Ends what is under way, and the connection.
  func fail(_ fault: WebFault) {
    guard exchange != nil else { return }
    end(fault)
    context?.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(exchange?.source == nil ? .unanswered : .cut)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let isBegun = exchange?.source != nil
    switch error {
    case let fault as TLSFault: end(.tls(fault))
    case HTTPParserError.invalidEOFState: end(isBegun ? .cut : .unanswered)
    case is HTTPParserError: end(isBegun ? .cut : .notHTTP)
    case is IOError, is ChannelError: end(isBegun ? .cut : .unanswered)
    default: end(isBegun ? .cut : .notHTTP)
    }
    context.close(promise: nil)
  }

  private func end(_ fault: WebFault) {
    guard let ended = exchange else {
      // TLS may have failed already.
      if count == 0, failure == nil { failure = fault }
      return
    }
    exchange = nil
    alarm?.cancel()
    if let source = ended.source { source.finish(fault) } else { ended.answer?.fail(fault) }
  }

  // MARK: Silence

  private func watch() {
    alarm?.cancel()
    guard let context, let silence = exchange?.silence else { return }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    alarm = context.eventLoop.scheduleTask(deadline: progress + silence) { bound.value.look() }
  }

  private func look() {
    guard let silence = exchange?.silence else { return }
    // Who has not taken what came holds up the other side.
    if !isTaken { progress = .now() }
    if NIODeadline.now() - progress >= silence { fail(.late) } else { watch() }
  }
}

/// A connection and who speaks on it. Any thread.
struct WebConnection: Sendable {
  let channel: any Channel
  let handler: NIOLoopBound<WebExchangeHandler>
}

/// Lets a body flow as it is taken. Any thread.
struct WebBodyFlow: NIOAsyncSequenceProducerDelegate {
  let loop: any EventLoop
  let handler: NIOLoopBound<WebExchangeHandler>
  /// Whose body it is.
  let number: Int

  func produceMore() { loop.execute { handler.value.produceMore(of: number) } }
  func didTerminate() { loop.execute { handler.value.terminate(number) } }
}
