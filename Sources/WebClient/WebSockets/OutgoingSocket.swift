import Glibc
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization
import TLS

/// A WebSocket (RFC 6455) over which only this side has something to say: binary messages. What comes is left out, and pings are
/// answered. Made and used on its event loop.
final class OutgoingSocket: Sendable {
  /// What happens to it; told on its event loop.
  enum Event: Sendable {
    /// It takes messages.
    case opened
    /// It takes more, having been full.
    case writable
    /// It is over, or did not come about, and why. The last one.
    case closed(String)
  }

  private struct State {
    var channels: [any Channel] = []
    /// The one that is upgraded.
    var channel: (any Channel)?
    var isOver = false
  }

  /// So long it may take until it is open, and until what was sent has been received.
  private static let patience = TimeAmount.seconds(10)
  /// A message that comes may have so many bytes in one frame.
  private static let longestFrame = 1 << 20

  private let address: WebSocketAddress
  private let authorities: String?
  private let loop: any EventLoop
  private let report: @Sendable (Event) -> Void
  private let state = Mutex(State())

  /// Begins to connect. `authorities`: certificates (PEM) to trust in place of the system's.
  init(
    _ address: WebSocketAddress, authorities: String?, on loop: any EventLoop,
    report: @escaping @Sendable (Event) -> Void
  ) {
    self.address = address
    self.authorities = authorities
    self.loop = loop
    self.report = report
    connect()
    loop.scheduleTask(in: Self.patience) { [weak self] in self?.giveUp() }
  }

  /// False when a message would have to wait.
  var isWritable: Bool { state.withLock { $0.channel?.isWritable ?? false } }

  /// Sends a message with the next `flush`.
  func send(_ message: ByteBuffer) {
    guard let channel = state.withLock({ $0.channel }) else { return }
    channel.write(WebSocketFrame(fin: true, opcode: .binary, maskKey: .random(), data: message), promise: nil)
  }

  /// Lets go what was sent.
  func flush() { state.withLock { $0.channel }?.flush() }

  /// Closes after everything that was sent; no event comes afterwards. `completion`: all of it is on its way, or is lost.
  func close(_ completion: @escaping @Sendable () -> Void = {}) {
    let (channels, channel) = end()
    guard let channel else {
      for channel in channels { channel.close(promise: nil) }
      return completion()
    }
    channel.writeAndFlush(Conversation.end(.normalClosure, on: channel)).whenComplete { _ in
      channel.close(promise: nil)
      completion()
    }
  }

  // MARK: Connecting

  private func connect() {
    let tls: TLSContext?
    do {
      tls = address.isSecure ? try TLSContext(authorities: authorities) : nil
    } catch {
      // Not before `init` is done.
      return loop.execute { self.finish(error.description) }
    }
    ClientBootstrap(group: loop)
      .resolver(address.policy == .allow ? nil : GuardedResolver(address.host, on: loop))
      .connectTimeout(Self.patience)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      // Of a network that is gone the kernel says nothing for a quarter of an hour (tcp(7)).
      .channelOption(
        .tcpOption(NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT)), value: Int(Self.patience.nanoseconds / 1_000_000)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try self.add(channel)
          let pipeline = channel.pipeline.syncOperations
          if let tls {
            let isNumeric = (try? SocketAddress(ipAddress: self.address.host, port: 0)) != nil
            let session = try TLSSession(tls, host: self.address.host, isNumeric: isNumeric, application: "http/1.1")
            try pipeline.addHandler(TLSHandler(session))
          }
          let request = UpgradeRequest(self.address) { self.finish($0) }
          let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: Self.longestFrame) { channel, _ in
            self.upgraded(channel)
          }
          try pipeline.addHTTPClientHandlers(
            leftOverBytesStrategy: .forwardBytes,
            withClientUpgrade: (
              upgraders: [upgrader],
              completionHandler: { $0.pipeline.syncOperations.removeHandler(request, promise: nil) }
            ))
          try pipeline.addHandler(request)
        }
      }
      .connect(host: address.host, port: address.port)
      .whenFailure { self.finish(WebFault(connecting: $0, to: self.address.host).description) }
  }

  /// A channel that is tried. Throws when none is wanted any more.
  private func add(_ channel: any Channel) throws(WebFault) {
    let isWanted = state.withLock { state in
      if !state.isOver { state.channels.append(channel) }
      return !state.isOver
    }
    if !isWanted { throw .cancelled }
  }

  private func upgraded(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let isWanted = state.withLock { state in
        if !state.isOver { state.channel = channel }
        return !state.isOver
      }
      guard isWanted else { return channel.close(promise: nil) }
      try channel.pipeline.syncOperations.addHandler(
        Conversation(writable: { self.report(.writable) }, over: { self.finish($0) }))
      report(.opened)
    }
    .flatMap { channel.setOption(.autoRead, value: false) }
    .map { channel.read() }
  }

  private func giveUp() {
    if state.withLock({ $0.channel == nil && !$0.isOver }) { finish("it does not answer in time") }
  }

  private func finish(_ reason: String) {
    guard !state.withLock({ $0.isOver }) else { return }
    for channel in end().channels { channel.close(promise: nil) }
    report(.closed(reason))
  }

  private func end() -> (channels: [any Channel], upgraded: (any Channel)?) {
    state.withLock { state in
      defer { (state.channels, state.channel, state.isOver) = ([], nil, true) }
      return (state.channels, state.channel)
    }
  }
}

/// Asks for the upgrade; an accepted one removes this handler. Confined to its channel's event loop.
private final class UpgradeRequest: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let address: WebSocketAddress
  private let failed: @Sendable (String) -> Void

  init(_ address: WebSocketAddress, failed: @escaping @Sendable (String) -> Void) {
    self.address = address
    self.failed = failed
  }

  func channelActive(context: ChannelHandlerContext) {
    let headers: HTTPHeaders = ["Host": address.authority, "User-Agent": "recbot"]
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.target, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // A refusal: what is accepted does not come here.
    if case .head(let head) = unwrapInboundIn(data) { failed("it answers \(head.status.code) instead of a WebSocket") }
  }

  func channelInactive(context: ChannelHandlerContext) {
    failed(WebFault.unanswered.description)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let fault as TLSFault: failed(fault.description)
    case is HTTPParserError, is NIOHTTPClientUpgradeError: failed("what answers there speaks no WebSocket")
    default: failed(WebFault.unanswered.description)
    }
    context.close(promise: nil)
  }
}

/// Hears what the other side says, a hundred times a second at most: who floods costs little, and gets its answers and its end
/// so much later. Confined to its channel's event loop.
private final class Conversation: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  /// Between two looks.
  private static let pause = TimeAmount.milliseconds(10)

  private let writable: () -> Void
  private let over: (String) -> Void

  init(writable: @escaping () -> Void, over: @escaping (String) -> Void) {
    self.writable = writable
    self.over = over
  }

  /// The frame that ends a WebSocket (RFC 6455 section 5.5.1).
  static func end(_ code: WebSocketErrorCode, on channel: any Channel) -> WebSocketFrame {
    var data = channel.allocator.buffer(capacity: 2)
    data.write(webSocketErrorCode: code)
    return WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: data)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    // Who reads nothing misses no answer.
    case .ping where context.channel.isWritable:
      let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .connectionClose:
      var data = frame.unmaskedData
      let code = data.readWebSocketErrorCode().map { " (\(UInt16(webSocketErrorCode: $0)))" } ?? ""
      context.writeAndFlush(wrapOutboundOut(Self.end(.normalClosure, on: context.channel)), promise: nil)
      over("it closed the WebSocket\(code)")
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    let channel = context.channel
    context.eventLoop.scheduleTask(in: Self.pause) { channel.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { writable() }
    context.fireChannelWritabilityChanged()
  }

  func channelInactive(context: ChannelHandlerContext) {
    over("the connection ended")
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let error as IOError: over(String(cString: strerror(error.errnoCode)))
    case is NIOWebSocketError: over("what it says is no WebSocket frame, or too long")
    default: over("the connection ended")
    }
    context.close(promise: nil)
  }
}
