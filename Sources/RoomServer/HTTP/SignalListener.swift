import HTTPGuard
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// The listening socket and its network threads: carries bytes, checks tokens, and hands admitted clients over. Who has
/// shown no token holds few connections, apart from those of the clients that joined (`ConnectionDoor`).
final class SignalListener: Sendable {
  private let group: MultiThreadedEventLoopGroup
  private let gate: JoinGate
  private let limits: EmbeddedRoomServer.Limits
  private let logger: Logger
  private let sink: any SignalSink
  private let services: [any HTTPService]
  private let channel = Mutex<(any Channel)?>(nil)
  private let door: ConnectionDoor

  init(
    gate: JoinGate, limits: EmbeddedRoomServer.Limits, logger: Logger, sink: any SignalSink, services: [any HTTPService]
  ) {
    self.gate = gate
    self.services = services
    self.limits = limits
    self.logger = logger
    self.sink = sink
    var admission = AdmissionLimits()
    admission.perAddress = limits.connectionsPerAddress
    admission.entered = limits.connections
    door = ConnectionDoor(admission, logger: logger)
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  }

  /// Binds and listens; returns the port. Waits for the operating system, so never call it on an event loop.
  func listen(host: String, port: Int) throws(RoomServerError) -> Int {
    let bootstrap = ServerBootstrap(group: group)
      // The system's own limit holds: while many come at once, nobody's first packet shall be lost.
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { [self] in self.configure($0) }
    do {
      let bound = try bootstrap.bind(host: host, port: port).wait()
      channel.withLock { $0 = bound }
      return bound.localAddress?.port ?? port
    } catch {
      throw RoomServerError(binding: host, port: port, error: error)
    }
  }

  /// Stops listening; the clients' connections go on.
  func stopListening() { channel.withLock { $0 }?.close(promise: nil) }

  /// Closes every connection and ends the network threads. Never call it on an event loop.
  func shutDown() {
    do { try group.syncShutdownGracefully() } catch {
      logger.warning("network threads did not end cleanly", metadata: ["error": "\(error)"])
    }
  }

  private func configure(_ channel: any Channel) -> EventLoopFuture<Void> {
    guard door.arrive(channel) else { return channel.eventLoop.makeFailedFuture(ConnectionRefused()) }
    let (gate, limits, sink, services, door) = (gate, limits, sink, services, door)
    let decision = JoinDecision(gate: gate)
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: limits.messageSize, automaticErrorHandling: false,
      shouldUpgrade: { channel, head in
        // What is wrong, the answer to the plain request says.
        guard HeadRules.fault(of: head) == nil, Self.isJoin(head), let request = try? decision.decide(head).get(),
          door.enter(channel)
        else {
          return channel.eventLoop.makeSucceededFuture(nil)
        }
        let promise = channel.eventLoop.makePromise(of: HTTPHeaders?.self)
        sink.admit(request) { refusal in promise.succeed(refusal == nil ? HTTPHeaders() : nil) }
        return promise.futureResult
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          // The upgrader hands nothing from one closure to the other.
          let request = try decision.take(head).get()
          try channel.pipeline.syncOperations.addHandlers(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: limits.messageSize),
            SignalHandler(sink: sink, request: request, limits: limits))
        }
      })
    return channel.eventLoop.makeCompletedFuture {
      var decoderLimits = NIOHTTPDecoderLimitConfiguration()
      decoderLimits.maxHeaderFieldSize = limits.headerSize
      decoderLimits.maxHeaderListSize = 2 * limits.headerSize
      decoderLimits.maxHeaderFieldCount = 64
      let pipeline = channel.pipeline.syncOperations
      let handler = HTTPHandler(
        gate: gate, decision: decision, sink: sink, services: services, door: door,
        limit: TimeAmount(limits.handshakeTimeout))
      let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
      try pipeline.configureHTTPServerPipeline(
        withServerUpgrade: (
          upgraders: [upgrader],
          completionHandler: { context in
            context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
          }
        ),
        // The handler does it: NIO's own would answer what is malformed behind a request that was refused already.
        withErrorHandling: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: decoderLimits)
      try pipeline.addHandler(handler)
    }
  }

  private static func isJoin(_ head: HTTPRequestHead) -> Bool {
    RequestTarget(head.uri).path == "/rtc" && head.method == .GET
  }
}
