import NIOCore
import NIOWebSocket
import Signaling

/// The last handler of a client's channel after the upgrade: WebSocket frames (RFC 6455) to signalling messages and
/// back, pings, and the limits of both directions. Confined to the channel's event loop.
final class SignalHandler: ChannelDuplexHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundIn = SignalOutput
  typealias OutboundOut = WebSocketFrame

  private let sink: any SignalSink
  private let request: JoinRequest
  private let limits: EmbeddedRoomServer.Limits
  private var connection: SignalConnection?
  private var speaksJSON = false
  private var isClosing = false
  /// What is kept back while nothing may be written; nil when all is well.
  private var held: [SignalOutput]?
  /// Frames that had been read when the silence began.
  private var heldFrames: [WebSocketFrame] = []
  private var pendingBytes = 0
  private var heard = NIODeadline.now()
  private var pinging: RepeatedTask?
  private var budget: MessageBudget

  init(sink: any SignalSink, request: JoinRequest, limits: EmbeddedRoomServer.Limits) {
    self.sink = sink
    self.request = request
    self.limits = limits
    budget = MessageBudget(perSecond: limits.messagesPerSecond, now: .now())
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let connection = SignalConnection(channel: context.channel)
    self.connection = connection
    heard = .now()
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    pinging = context.eventLoop.scheduleRepeatedTask(
      initialDelay: .seconds(5), delay: .seconds(5)
    ) { _ in
      let (handler, context) = loopBound.value
      handler.ping(context)
    }
    sink.opened(connection, request)
  }

  func handlerRemoved(context: ChannelHandlerContext) { finish() }

  func channelInactive(context: ChannelHandlerContext) {
    finish()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Frames too large, fragments too many, bad masks: the connection can't be read any further.
    close(context, .protocolError)
  }

  private func finish() {
    pinging?.cancel()
    pinging = nil
    guard let connection else { return }
    self.connection = nil
    sink.closed(connection)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    if held != nil { heldFrames.append(frame) } else { receive(context, frame) }
  }

  private func receive(_ context: ChannelHandlerContext, _ frame: WebSocketFrame) {
    guard !isClosing else { return }
    // Clients mask every frame, and no extension was agreed on (RFC 6455 sections 5.1 and 5.2).
    guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return close(context, .protocolError) }
    heard = .now()
    switch frame.opcode {
    case .binary, .text:
      guard budget.take(now: heard) else { return close(context, .policyViolation) }
      speaksJSON = frame.opcode == .text
      receive(context, frame.unmaskedData)
    case .ping:
      let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .pong: break
    case .connectionClose: close(context, .normalClosure)
    default: close(context, .protocolError)
    }
  }

  private func receive(_ context: ChannelHandlerContext, _ bytes: ByteBuffer) {
    let message = SignalCoding.request(Array(bytes.readableBytesView), isText: speaksJSON)
    guard let message, let connection else { return close(context, .dataInconsistentWithMessage) }
    sink.received(connection, message)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let output = unwrapOutboundIn(data)
    if case .silence(let isSilent) = output {
      promise?.succeed(())
      return setSilent(context, isSilent)
    }
    guard held == nil else {
      promise?.succeed(())
      if (held?.count ?? 0) < Self.heldLimit { held?.append(output) }
      return
    }
    switch output {
    case .message(let response): send(context, response, promise)
    case .close(let code):
      promise?.succeed(())
      close(context, code)
    case .silence: break
    }
  }

  /// The most messages that are kept back; a network loses what is more.
  private static let heldLimit = 10_000

  private func setSilent(_ context: ChannelHandlerContext, _ isSilent: Bool) {
    guard isSilent != (held != nil) else { return }
    _ = context.channel.setOption(.autoRead, value: !isSilent)
    if isSilent {
      held = []
      return
    }
    let waiting = held ?? []
    held = nil
    heard = .now()
    for output in waiting { context.channel.write(output, promise: nil) }
    context.flush()
    let frames = heldFrames
    heldFrames = []
    for frame in frames { receive(context, frame) }
    context.read()
  }

  private func send(
    _ context: ChannelHandlerContext, _ response: Livekit_SignalResponse, _ promise: EventLoopPromise<Void>?
  ) {
    let bytes: [UInt8]? =
      speaksJSON ? try? response.jsonUTF8Bytes() : try? response.serializedBytes()
    guard let bytes, !isClosing else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    // A client that doesn't read must not fill the memory of the server.
    guard pendingBytes + bytes.count <= limits.pendingOutput else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      context.close(promise: nil)
      return
    }
    pendingBytes += bytes.count
    let frame = WebSocketFrame(
      fin: true, opcode: speaksJSON ? .text : .binary, data: context.channel.allocator.buffer(bytes: bytes))
    let written = promise ?? context.eventLoop.makePromise()
    let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
    written.futureResult.whenComplete { _ in loopBound.value.pendingBytes -= bytes.count }
    context.write(wrapOutboundOut(frame), promise: written)
  }

  private func ping(_ context: ChannelHandlerContext) {
    guard !isClosing, held == nil else { return }
    // Pongs count too, so a client is silent only when its machine or its network is gone.
    if NIODeadline.now() - heard > TimeAmount(limits.signalTimeout) {
      context.close(promise: nil)
      return
    }
    let frame = WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }

  private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
    guard !isClosing else { return }
    isClosing = true
    var payload = context.channel.allocator.buffer(capacity: 2)
    payload.write(webSocketErrorCode: code)
    let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: payload)
    let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(frame)).whenComplete { _ in
      // The peer's close frame is not waited for longer than a moment.
      loopBound.eventLoop.scheduleTask(in: .milliseconds(250)) { loopBound.value.close(promise: nil) }
    }
  }
}

/// Allows so many messages per second, and twice as many in a burst.
struct MessageBudget {
  private let perSecond: Double
  private var tokens: Double
  private var last: NIODeadline

  init(perSecond: Int, now: NIODeadline) {
    self.perSecond = Double(max(1, perSecond))
    tokens = self.perSecond * 2
    last = now
  }

  /// Takes one message off the budget; false when it is used up.
  mutating func take(now: NIODeadline) -> Bool {
    let elapsed = Double((now - last).nanoseconds) / 1e9
    last = now
    tokens = min(perSecond * 2, tokens + elapsed * perSecond)
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }
}
