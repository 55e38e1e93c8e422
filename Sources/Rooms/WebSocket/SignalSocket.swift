import Logging
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Signaling
import Synchronization
import TLS

/// One WebSocket to a LiveKit server, from name look-up to close. Made, used and heard on any thread; all of its work
/// is done on one NIO event loop.
final class SignalSocket: Sendable {
  /// What happens. `reached` may come first; then `opened`, or `failed` as the last; `closed` is the last after `opened`.
  enum Event: Sendable {
    /// TCP stands, with this numeric address.
    case reached(String?)
    /// Upgraded (RFC 6455 section 4).
    case opened
    /// A message that could be read.
    case message(Livekit_SignalResponse)
    /// A message that could not be read; it is dropped.
    case malformed(String)
    /// Everything read so far was reported; `readMore` lets it go on.
    case readComplete
    /// No connection came about.
    case failed(RoomError)
    /// The connection is over; the text says why.
    case closed(String)
  }

  /// Where and how to connect.
  struct Request: Sendable {
    var url: SignalURL
    var query: SignalQuery
    @Redacted var token: String
    var tlsCAFile: String?
    /// For TCP; the session has its own deadline for all of it.
    var connectTimeout: Duration
    /// A numeric address to connect to instead of looking the name up; name and certificate are those of `url` still.
    var address: String?
  }

  /// Longest message that is taken. A server's own limit is 2 MiB for what it takes; what it says of three thousand
  /// people who publish is more.
  static let maximumMessageSize = 8 << 20

  private let eventLoop: any EventLoop
  private let request: Request
  private let report: @Sendable (Event) -> Void
  private let state = Mutex(State())

  private struct State {
    var channel: (any Channel)?
    var isOpen = false
    var isOver = false
  }

  /// Begins to connect. `report` is called on the event loop's thread, in order; it must be quick.
  init(_ request: Request, report: @escaping @Sendable (Event) -> Void) {
    eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    self.request = request
    self.report = report
    eventLoop.execute { self.connect() }
  }

  /// Sends one message; without effect when the socket is not open.
  func send(_ message: Livekit_SignalRequest) {
    guard let bytes: [UInt8] = try? message.serializedBytes() else { return }
    eventLoop.execute {
      guard let channel = self.state.withLock({ $0.isOpen ? $0.channel : nil }) else { return }
      let frame = WebSocketFrame(
        fin: true, opcode: .binary, maskKey: .random(), data: channel.allocator.buffer(bytes: bytes))
      channel.writeAndFlush(frame, promise: nil)
    }
  }

  /// Closes after everything sent before; no event comes afterwards. `completion` is called on the event loop's thread
  /// when all of it is on its way, or can't be sent any more.
  func close(_ completion: @escaping @Sendable () -> Void = {}) {
    eventLoop.execute {
      let (channel, wasOpen) = self.state.withLock { state in
        defer { (state.isOver, state.isOpen) = (true, false) }
        return (state.channel, state.isOpen)
      }
      guard let channel, wasOpen else {
        channel?.close(promise: nil)
        completion()
        return
      }
      self.writeClose(.normalClosure, on: channel).whenComplete { _ in
        channel.close(promise: nil)
        completion()
      }
    }
  }

  /// Lets the socket read on; until then nothing more is read. The one that hears calls it when it has worked off
  /// what it heard, so that a fast server cannot fill the memory.
  func readMore() {
    eventLoop.execute { self.state.withLock { $0.channel }?.read() }
  }

  // MARK: On the event loop

  /// `isAgain`: the server refused once.
  private func connect(isAgain: Bool = false) {
    let tls: TLSContext?
    do {
      tls = request.url.isSecure ? try TLSSetup.context(caFile: request.tlsCAFile) : nil
    } catch {
      finish(.failed(error))
      return
    }
    let http = UpgradeHandler(
      request: request,
      refused: { status, text in self.refused(status, text, tls, isAgain: isAgain) },
      failed: { self.failed($0) })
    let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: Self.maximumMessageSize) { channel, _ in
      self.upgraded(channel)
    }
    bootstrap(tls) { channel in
      try channel.pipeline.syncOperations.addHTTPClientHandlers(
        leftOverBytesStrategy: .forwardBytes,
        withClientUpgrade: (
          upgraders: [upgrader],
          completionHandler: { context in
            context.pipeline.syncOperations.removeHandler(http, promise: nil)
          }
        ))
      try channel.pipeline.syncOperations.addHandler(http)
    }
    .whenComplete { result in
      switch result {
      case .failure(let error):
        self.finish(.failed(RoomError(connecting: error, to: self.request.url)))
      case .success(let channel):
        if !self.state.withLock({ $0.isOver }) { self.report(.reached(channel.remoteAddress?.ipAddress)) }
      }
    }
  }

  private func bootstrap(
    _ tls: TLSContext?, _ addHandlers: @escaping @Sendable (any Channel) throws -> Void
  ) -> EventLoopFuture<any Channel> {
    let url = request.url
    return ClientBootstrap(group: eventLoop)
      .connectTimeout(TimeAmount(request.connectTimeout))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          self.state.withLock { $0.channel = channel }
          if let tls {
            try channel.pipeline.syncOperations.addHandler(TLSSetup.handler(tls, host: url.host))
          }
          try addHandlers(channel)
        }
      }
      .connect(host: request.address ?? url.host, port: url.port)
      .map { channel in
        // A name with several addresses had a channel for each (RFC 8305 section 5); this is the one that is left.
        let isWanted = self.state.withLock { state in
          if !state.isOver { state.channel = channel }
          return !state.isOver
        }
        // Closed meanwhile: nobody wants it any more.
        if !isWanted { channel.close(promise: nil) }
        return channel
      }
  }

  private func upgraded(_ channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let isWanted = state.withLock { state in
        if !state.isOver { state.isOpen = true }
        return state.isOpen
      }
      guard isWanted else {
        channel.close(promise: nil)
        return
      }
      report(.opened)
      try channel.pipeline.syncOperations.addHandlers([
        NIOWebSocketFrameAggregator(
          minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024,
          maxAccumulatedFrameSize: Self.maximumMessageSize),
        MessageHandler(
          report: { self.report($0) }, pong: { self.writePong($0, on: channel) },
          over: { self.finish(.closed($0)) }),
      ])
    }
    .flatMap { channel.setOption(.autoRead, value: false) }
    .map { channel.read() }
  }

  /// The server refused the upgrade. Its text is in the body; some proxies swallow it, then the check without
  /// upgrade gets it.
  private func refused(_ status: Int, _ text: String, _ tls: TLSContext?, isAgain: Bool) {
    guard text.isEmpty, (400..<600).contains(status), !state.withLock({ $0.isOver }) else {
      finish(.failed(.refusedUpgrade(status: status, text: text)))
      return
    }
    // A server that keeps connections alive would keep this one for as long as it likes.
    state.withLock { $0.channel }?.close(promise: nil)
    let check = UpgradeHandler(
      request: request, isCheck: true,
      refused: { checked, text in
        // The check may pass where the upgrade did not; then the first status is all there is, or the room has begun meanwhile.
        let passes = checked == 200
        if passes, status == 404, !isAgain { return self.connect(isAgain: true) }
        self.finish(
          .failed(passes ? .refusedWithoutReason(status: status) : .refusedUpgrade(status: checked, text: text)))
      },
      failed: { _ in self.finish(.failed(.refusedUpgrade(status: status, text: ""))) })
    bootstrap(tls) { channel in
      try channel.pipeline.syncOperations.addHTTPClientHandlers()
      try channel.pipeline.syncOperations.addHandler(check)
    }
    .whenFailure { _ in self.finish(.failed(.refusedUpgrade(status: status, text: ""))) }
  }

  /// The connection failed before there was an answer.
  private func failed(_ error: any Error) {
    finish(.failed(RoomError(connecting: error, to: request.url)))
  }

  private func finish(_ event: Event) {
    let (isNews, channel) = state.withLock { state in
      defer { (state.isOver, state.isOpen) = (true, false) }
      return (!state.isOver, state.channel)
    }
    if isNews { report(event) }
    channel?.close(promise: nil)
  }

  private func writePong(_ data: ByteBuffer, on channel: any Channel) {
    channel.writeAndFlush(
      WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: data), promise: nil)
  }

  private func writeClose(_ code: WebSocketErrorCode, on channel: any Channel) -> EventLoopFuture<
    Void
  > {
    var data = channel.allocator.buffer(capacity: 2)
    data.write(webSocketErrorCode: code)
    return channel.writeAndFlush(
      WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: data))
  }
}
