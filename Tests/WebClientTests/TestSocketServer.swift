import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization
import SystemKit

/// A WebSocket server on loopback that notes what comes.
final class TestSocketServer: Sendable {
  /// What has come, of all connections.
  struct Heard: Sendable {
    var targets: [String] = []
    var messages: [[UInt8]] = []
    var pongs: [String] = []
    /// The codes with which the other side has closed.
    var closes: [UInt16] = []
  }

  private final class Log: Sendable {
    let heard = Mutex(Heard())
    let accepted = Mutex<[any Channel]>([])
  }

  let port: Int
  private let channel: any Channel
  private let log: Log

  /// What has come.
  var all: Heard { log.heard.withLock { $0 } }

  /// Listens. `reads`: false: nothing more is read after the upgrade.
  init(tls: TestTLSContext? = nil, reads: Bool = true) async throws {
    let log = Log()
    self.log = log
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.socketOption(.so_rcvbuf), value: 65_536)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(TestTLSHandler(tls)) }
          let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 1 << 24,
            shouldUpgrade: { channel, head in
              log.heard.withLock { $0.targets.append(head.uri) }
              return channel.eventLoop.makeSucceededFuture([:])
            },
            upgradePipelineHandler: { channel, _ in
              channel.eventLoop.makeCompletedFuture {
                log.accepted.withLock { $0.append(channel) }
                try channel.pipeline.syncOperations.addHandler(Listener(log))
              }
              .flatMap {
                reads ? channel.eventLoop.makeSucceededVoidFuture() : channel.setOption(.autoRead, value: false)
              }
            })
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
  }

  /// Says something to everybody who is connected.
  func say(_ opcode: WebSocketOpcode, _ text: String) {
    for channel in log.accepted.withLock({ $0 }) {
      channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, data: ByteBuffer(string: text)), promise: nil)
    }
  }

  /// Breaks all connections off.
  func cut() {
    let channels = log.accepted.withLock { channels in
      defer { channels = [] }
      return channels
    }
    for channel in channels { channel.close(promise: nil) }
  }

  /// Listens no longer.
  func stop() async {
    cut()
    try? await channel.close().get()
  }

  private final class Listener: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let log: Log

    init(_ log: Log) { self.log = log }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      var bytes = frame.unmaskedData
      log.heard.withLock { heard in
        switch frame.opcode {
        case .binary: heard.messages.append(Array(bytes.readableBytesView))
        case .pong: heard.pongs.append(String(buffer: bytes))
        case .connectionClose:
          heard.closes.append(bytes.readWebSocketErrorCode().map { UInt16(webSocketErrorCode: $0) } ?? 0)
        default: break
        }
      }
    }
  }
}
