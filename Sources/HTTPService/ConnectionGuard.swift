import HTTPGuard
import NIOCore
import NIOHTTP1

/// Holds one connection to its limits: a request whose head or body comes too slowly is answered with 408 and the
/// connection closed; so is one that is idle for long, that goes on sending a body nobody wants, or that does not read
/// its answer. A head that could be read in more than one way is answered with 400.
///
/// Hummingbird puts it behind its own codec; it brings two handlers to where they see bytes and HTTP parts.
/// Confined to the connection's event loop.
final class ConnectionGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny
  private let limits: RequestLimits
  private let connections: Connections

  init(limits: RequestLimits, connections: Connections) {
    self.limits = limits
    self.connections = connections
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let parts = PartWatch(limits: limits)
    let pipeline = context.pipeline.syncOperations
    do {
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(parts, position: .after(decoder))
      try pipeline.addHandler(ByteWatch(parts: parts, connections: connections), position: .first)
    } catch {
      context.close(promise: nil)
    }
  }
}

/// Sees the bytes: when a request begins, and when the other side has gone.
private final class ByteWatch: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let parts: PartWatch
  private let connections: Connections

  init(parts: PartWatch, connections: Connections) {
    self.parts = parts
    self.connections = connections
  }

  func handlerAdded(context: ChannelHandlerContext) { connections.opened(context.channel) }
  func handlerRemoved(context: ChannelHandlerContext) { connections.closed(context.channel) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    parts.bytesArrived()
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    connections.closed(context.channel)
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { connections.closed(context.channel) }
    context.fireUserInboundEventTriggered(event)
  }
}

/// Sees requests and answers, and has the clock.
private final class PartWatch: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private enum State {
    /// Between requests.
    case idle
    /// Bytes came, the head is not complete.
    case head
    /// The body comes.
    case body
    /// The handler has all of the request.
    case answering
    /// The answer is given, the rest of the request is not read.
    case lingering
    /// It is over.
    case closing
  }

  private let limits: RequestLimits
  private var state = State.idle
  /// What is wrong with a request that came before the one ahead of it was answered: it is told after that.
  private var fault: HeadRules.Fault?
  private var hasAnswered = false
  private var timer: Scheduled<Void>?
  private var context: ChannelHandlerContext?
  private var began = NIODeadline.now()

  init(limits: RequestLimits) { self.limits = limits }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    // Who connects has something to ask.
    start(limits.headerTime)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func bytesArrived() {
    guard state == .idle else { return }
    state = .head
    began = .now()
    start(limits.headerTime)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard state != .closing, fault == nil else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      if let fault = HeadRules.fault(of: head) {
        // What follows can't be told from it: nothing more is read.
        self.fault = fault
        if state != .answering { refuse(fault) }
        return
      }
      // A request that came together with the one before.
      if state != .head { began = .now() }
      state = .body
      hasAnswered = false
      start(max(.zero, limits.requestTime - Duration(NIODeadline.now() - began)))
    case .body: break
    case .end:
      timer?.cancel()
      if state == .lingering { becomeIdle() } else if state != .closing { state = .answering }
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard state != .closing else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .head:
      hasAnswered = true
      // The rest of the answer goes as fast as it is read.
      if state == .answering { start(limits.requestTime) }
    case .body:
      // A long answer is written as fast as it is read: each piece is given the time anew.
      if state == .answering { start(limits.requestTime) }
    case .end:
      if state == .answering {
        becomeIdle()
      } else if state == .body || state == .head {
        // Time for the answer to be read before the connection goes: a close with unread bytes would destroy it.
        state = .lingering
        start(.seconds(1))
      }
    }
    context.write(data, promise: promise)
    if let fault, state == .idle { refuse(fault) }
  }

  private func becomeIdle() {
    state = .idle
    start(limits.idleTime)
  }

  private func start(_ time: Duration) {
    timer?.cancel()
    timer = context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { [weak self] in
      self?.timeIsUp()
    }
  }

  private func timeIsUp() {
    guard let context, state != .closing else { return }
    let isSlow = (state == .head || state == .body) && !hasAnswered
    guard isSlow else {
      state = .closing
      return context.close(promise: nil)
    }
    refuse(status: .requestTimeout, code: "too_slow", "the request came too slowly")
  }

  private func refuse(_ fault: HeadRules.Fault) {
    refuse(status: HTTPResponseStatus(statusCode: fault.status), code: "bad_request", fault.text)
  }

  /// Answers in place of the handlers and closes, a moment later: a close with unread bytes would destroy the answer.
  /// The texts are ours and need no escapes.
  private func refuse(status: HTTPResponseStatus, code: String, _ message: String) {
    guard let context, state != .closing else { return }
    state = .closing
    timer?.cancel()
    let text = #"{"error":{"code":"\#(code)","message":"\#(message)"}}"#
    var headers = HTTPHeaders([("Content-Type", "application/json"), ("Connection", "close")])
    headers.add(name: "Content-Length", value: "\(text.utf8.count)")
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { _ in
      context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(250)) { context.close(promise: nil) }
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
  }
}
