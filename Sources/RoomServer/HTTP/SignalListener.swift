import Glibc
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// The listening socket and its network threads: carries bytes, checks tokens, and hands admitted clients over.
final class SignalListener: Sendable {
  private let group: MultiThreadedEventLoopGroup
  private let gate: JoinGate
  private let limits: RoomServer.Limits
  private let logger: Logger
  private let sink: any SignalSink
  private let services: [any HTTPService]
  private let channel = Mutex<(any Channel)?>(nil)
  private let open = Atomic<Int>(0)

  init(
    gate: JoinGate, limits: RoomServer.Limits, logger: Logger, sink: any SignalSink, services: [any HTTPService]
  ) {
    self.gate = gate
    self.services = services
    self.limits = limits
    self.logger = logger
    self.sink = sink
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  }

  /// Binds and listens; returns the port. Waits for the operating system, so never call it on an event loop.
  func listen(host: String, port: Int) throws(RoomServerError) -> Int {
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 128)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
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
    guard open.add(1, ordering: .relaxed).newValue <= limits.connections else {
      open.subtract(1, ordering: .relaxed)
      return channel.close()
    }
    channel.closeFuture.whenComplete { [self] _ in _ = self.open.subtract(1, ordering: .relaxed) }
    let (gate, limits, sink, services) = (gate, limits, sink, services)
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: limits.messageSize, automaticErrorHandling: false,
      shouldUpgrade: { channel, head in
        guard let request = try? Self.admit(head, gate) else { return channel.eventLoop.makeSucceededFuture(nil) }
        let promise = channel.eventLoop.makePromise(of: HTTPHeaders?.self)
        sink.admit(request) { refusal in promise.succeed(refusal == nil ? HTTPHeaders() : nil) }
        return promise.futureResult
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          // The same check again, since the upgrader hands nothing from one closure to the other.
          let request = try Self.admit(head, gate)
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
        gate: gate, sink: sink, services: services, limit: .seconds(limits.handshakeTimeout))
      let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
      try pipeline.configureHTTPServerPipeline(
        withServerUpgrade: (
          upgraders: [upgrader],
          completionHandler: { context in
            context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
          }
        ), withEncoderConfiguration: .init(), withDecoderLimitConfiguration: decoderLimits)
      try pipeline.addHandler(handler)
    }
  }

  private static func admit(_ head: HTTPRequestHead, _ gate: JoinGate) throws -> JoinRequest {
    let target = RequestTarget(head.uri)
    guard target.path == "/rtc", head.method == .GET else { throw JoinGate.Refusal(status: 404, text: "") }
    return try gate.admit(
      authorization: head.headers["authorization"].first, query: target.query, now: Int64(time(nil)))
  }
}
