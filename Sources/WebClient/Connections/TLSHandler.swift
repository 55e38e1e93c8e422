import MediaCore
public import NIOCore
public import TLS

/// TLS of a connection that this machine opens, below whatever speaks on it. What is written before the handshake is complete
/// waits for it. A failure comes as `TLSFault`; an end that the other side did not announce, as `ChannelError.inputClosed`, for
/// somebody may have cut the connection (RFC 8446 section 6.1). Confined to its event loop.
public final class TLSHandler: ChannelDuplexHandler {
  /// Bytes of the network.
  public typealias InboundIn = ByteBuffer
  /// Plain bytes.
  public typealias InboundOut = ByteBuffer
  /// Plain bytes.
  public typealias OutboundIn = ByteBuffer
  /// Bytes for the network.
  public typealias OutboundOut = ByteBuffer

  private let session: TLSSession
  private var waiting: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
  private var mustFlush = false
  private var hasBegun = false
  private var isOver = false
  /// Whoever is above wants to read on, and has been given nothing since.
  private var isHungry = false

  /// Takes over a session that has not begun.
  public init(_ session: TLSSession) { self.session = session }

  /// Begins when the connection is there already.
  public func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { begin(context) } }

  /// Begins.
  public func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard !hasBegun else { return }
    hasBegun = true
    work(context, ByteBuffer())
    context.read()
  }

  /// Gives on what the bytes hold.
  public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    work(context, unwrapInboundIn(data))
  }

  /// Reads on where what came was nothing yet for whoever is above.
  public func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    // The handshake reads for itself, and a part of a record is nothing yet for whoever is above.
    if !isOver, !session.isOpen || isHungry { context.read() }
  }

  /// Reads; what is given on may come of a later read.
  public func read(context: ChannelHandlerContext) {
    isHungry = true
    context.read()
  }

  private func work(_ context: ChannelHandlerContext, _ bytes: ByteBuffer) {
    let wasOpen = session.isOpen
    var plain: ByteBuffer?
    let end = bytes.withUnsafeReadableBytes { bytes in
      session.receive(bytes) { part in
        if plain == nil { plain = context.channel.allocator.buffer(capacity: part.count) }
        plain?.writeBytes(part)
      }
    }
    send(context, promise: nil)
    context.flush()
    if !wasOpen, session.isOpen {
      for (bytes, promise) in waiting { encrypt(context, bytes, promise) }
      waiting = []
      if mustFlush { context.flush() }
    }
    if let plain {
      isHungry = false
      context.fireChannelRead(wrapInboundOut(plain))
    }
    switch end {
    case nil: break
    case .closed:
      isOver = true
      context.close(promise: nil)
    case .fault(let fault):
      isOver = true
      refuse(fault)
      context.fireErrorCaught(fault)
      context.close(promise: nil)
    }
  }

  /// Tells of an end that the other side did not announce.
  public func channelInactive(context: ChannelHandlerContext) {
    if !isOver {
      isOver = true
      refuse(ChannelError.inputClosed)
      if session.isOpen {
        context.fireErrorCaught(ChannelError.inputClosed)
      } else {
        context.fireErrorCaught(TLSFault.closed)
      }
    }
    context.fireChannelInactive()
  }

  /// Encrypts, or keeps until it can.
  public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = unwrapOutboundIn(data)
    guard !isOver else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    guard session.isOpen else { return waiting.append((bytes, promise)) }
    encrypt(context, bytes, promise)
  }

  /// Sends what is encrypted.
  public func flush(context: ChannelHandlerContext) {
    mustFlush = true
    if session.isOpen { context.flush() }
  }

  /// Announces the end, and closes.
  public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if !isOver {
      isOver = true
      session.close()
      send(context, promise: nil)
      context.flush()
      refuse(ChannelError.ioOnClosedChannel)
    }
    context.close(mode: mode, promise: promise)
  }

  private func encrypt(_ context: ChannelHandlerContext, _ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
    bytes.withUnsafeReadableBytes { session.send($0) }
    send(context, promise: promise)
  }

  /// Writes what the session has for the network.
  private func send(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
    let count = session.pending
    guard count > 0 else {
      promise?.succeed()
      return
    }
    var bytes = context.channel.allocator.buffer(capacity: count)
    bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { session.drain(into: $0) }
    context.write(wrapOutboundOut(bytes), promise: promise)
  }

  private func refuse(_ error: any Error) {
    let refused = waiting
    waiting = []
    for (_, promise) in refused { promise?.fail(error) }
  }
}
