import Glibc
import MediaCore
import NIOCore
import NIOPosix
import Platform
import Synchronization

/// Gives what a sink has on over a WebSocket, each block as a message, from its first connection on until the sink ends. Where nobody
/// answers, or no longer, it dials again. It reads no faster than it can write: what that makes it lose is lost as for every reader
/// that does not read. Any thread.
public final class SinkRelay: Sendable {
  /// How what comes is put together: heads of 16 bytes, of which the four from the ninth on are a count, and then the block.
  public struct Form: Sendable, Hashable {
    /// Bytes of a block for each of what its head counts.
    public var bytesPerCount: Int
    /// True when messages begin with the head.
    public var hasHeads: Bool

    /// Makes a form; see the properties.
    public init(bytesPerCount: Int, hasHeads: Bool) {
      self.bytesPerCount = bytesPerCount
      self.hasHeads = hasHeads
    }
  }

  /// What a person should know.
  public enum News: Hashable, Sendable {
    /// The WebSocket takes messages, after it had not.
    case connected
    /// It does not, for this reason in a line; it is dialled again.
    case lost(String)
  }

  private struct State {
    var machine = RelayMachine()
    var socket: OutgoingSocket?
    /// The sink's end.
    var source: (any Channel)?
  }

  private let address: WebSocketAddress
  private let form: Form
  private let authorities: String?
  private let give: @Sendable (Int32) -> Bool
  private let tell: @Sendable (News) -> Void
  private let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
  private let state = Mutex(State())
  private let over: EventLoopPromise<Void>

  /// Begins to dial.
  ///
  /// - Parameters:
  ///   - address: whom.
  ///   - form: of what the sink gives, and of the messages.
  ///   - authorities: a file of certificates (PEM) to trust in place of the system's.
  ///   - give: makes the connected socket a reader of the sink, and owns it; false when the sink is over. Any thread.
  ///   - tell: is told the news, on the event loop.
  public init(
    to address: WebSocketAddress, form: Form, authorities: String? = nil, give: @escaping @Sendable (Int32) -> Bool,
    tell: @escaping @Sendable (News) -> Void
  ) {
    self.address = address
    self.form = form
    self.authorities = authorities
    self.give = give
    self.tell = tell
    over = loop.makePromise()
    loop.execute { self.perform([RelayMachine.beginning]) }
  }

  /// Why nothing is given on now, in a line; nil while it is, and before the first attempt has failed. Any thread.
  public var trouble: String? { state.withLock { $0.machine.trouble } }

  /// Waits, after the end of the sink, until all that it gave is on its way, at most so long, and closes.
  public func finish(within limit: Duration) async {
    loop.execute {
      // Without a connection there is nothing to wait for.
      if self.state.withLock({ $0.source == nil }) { self.handle(.ended) }
    }
    let alarm = loop.scheduleTask(in: TimeAmount(limit)) {
      self.handle(.ended)
      self.over.succeed()
    }
    try? await over.futureResult.get()
    alarm.cancel()
  }

  // MARK: On the event loop

  private func handle(_ event: RelayMachine.Event) {
    perform(state.withLock { $0.machine.handle(event, at: MonotonicClock.now) })
  }

  private func perform(_ actions: [RelayMachine.Action]) {
    for action in actions {
      switch action {
      case .dial(let delay): loop.scheduleTask(in: TimeAmount(delay)) { self.dial() }
      case .carry: carry()
      case .tell(let news): tell(news)
      case .end: end()
      }
    }
  }

  private func dial() {
    // Ended meanwhile.
    guard !state.withLock({ $0.machine.isOver }) else { return }
    let socket = OutgoingSocket(address, authorities: authorities, on: loop) { event in
      switch event {
      case .opened: self.handle(.opened)
      case .writable: self.state.withLock { $0.source }?.read()
      case .closed(let reason):
        let source = self.state.withLock { state in
          defer { (state.socket, state.source) = (nil, nil) }
          return state.source
        }
        source?.close(promise: nil)
        self.handle(.closed(reason))
      }
    }
    state.withLock { $0.socket = socket }
  }

  private func carry() {
    guard let pair = UnixSocket.pair() else {
      return lose("no descriptor is left for it")
    }
    guard give(pair.writer) else {
      close(pair.reader)
      return handle(.ended)
    }
    let form = form
    ClientBootstrap(group: loop)
      .channelOption(.autoRead, value: false)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          self.state.withLock { $0.source = channel }
          try channel.pipeline.syncOperations.addHandlers([
            ByteToMessageHandler(BlockDecoder(form: form)), SourceHandler(self),
          ])
        }
      }
      .withConnectedSocket(pair.reader)
      .whenFailure { self.lose("\($0)") }
  }

  /// The WebSocket is of no use.
  private func lose(_ reason: String) {
    state.withLock { state in
      defer { state.socket = nil }
      return state.socket
    }?.close()
    handle(.closed(reason))
  }

  private func end() {
    let (socket, source) = state.withLock { state in
      defer { (state.socket, state.source) = (nil, nil) }
      return (state.socket, state.source)
    }
    source?.close(promise: nil)
    guard let socket else { return over.succeed() }
    socket.close { self.over.succeed() }
  }

  /// A block has come.
  fileprivate func send(_ block: ByteBuffer) { state.withLock { $0.socket }?.send(block) }

  /// All that was there has come; true when there may be more.
  fileprivate func sent() -> Bool {
    guard let socket = state.withLock({ $0.socket }) else { return false }
    socket.flush()
    return socket.isWritable
  }

  /// The sink's end was closed: by the sink, unless it was this relay.
  fileprivate func closed(_ channel: any Channel) {
    let isMine = state.withLock { state in
      guard state.source === channel else { return false }
      state.source = nil
      return true
    }
    if isMine { handle(.ended) }
  }
}

/// Takes blocks apart.
private struct BlockDecoder: ByteToMessageDecoder {
  typealias InboundOut = ByteBuffer

  let form: SinkRelay.Form
  private static let head = 16

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
    guard let count = buffer.getInteger(at: buffer.readerIndex + 8, endianness: .little, as: UInt32.self),
      var block = buffer.readSlice(length: Self.head + Int(count) * form.bytesPerCount)
    else { return .needMoreData }
    if !form.hasHeads { block.moveReaderIndex(forwardBy: Self.head) }
    context.fireChannelRead(wrapInboundOut(block))
    return .continue
  }
}

/// Gives blocks on. Confined to the event loop.
private final class SourceHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let relay: SinkRelay

  init(_ relay: SinkRelay) { self.relay = relay }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { relay.send(unwrapInboundIn(data)) }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    if relay.sent() { context.read() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    relay.closed(context.channel)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
