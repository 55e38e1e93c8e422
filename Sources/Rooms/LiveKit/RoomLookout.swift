import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Signaling

// Sendable: `url`, `tlsCAFile` and `eventLoop` are constants; everything mutable is touched on `eventLoop` only.
/// Asks a LiveKit server for one room (`RoomService.ListRooms`), again and again over one connection that is kept, so
/// that it costs little to ask often. One question at a time. Used on any thread.
final class RoomLookout: @unchecked Sendable {
  /// Whether the room is there. False also for a server that cannot say so now; nil for one that never will: it doesn't
  /// know the question, or doesn't allow it.
  typealias Answer = @Sendable (Bool?) -> Void

  /// How long an answer may take.
  static let patience = TimeAmount.seconds(3)
  /// The longest answer that is read, in bytes.
  static let longestAnswer = 64 << 10

  private let url: SignalURL
  private let tlsCAFile: String?
  private let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

  private var channel: (any Channel)?
  private var question: (room: String, token: String, answer: Answer)?
  /// True when the question went out on a connection that had been used before: the server may have closed it meanwhile.
  private var isReused = false
  private var deadline: Scheduled<Void>?
  private var isClosed = false

  init(url: SignalURL, tlsCAFile: String?) {
    self.url = url
    self.tlsCAFile = tlsCAFile
  }

  /// Asks; `answer` is called once on the event loop's thread, unless it is closed before. Without effect while the
  /// answer to another question is awaited.
  func ask(for room: String, token: String, answer: @escaping Answer) {
    eventLoop.execute { [self] in
      guard !isClosed, question == nil else { return }
      question = (room, token, answer)
      deadline = eventLoop.scheduleTask(in: Self.patience) { [self] in
        finish(false)
        hangUp()
      }
      isReused = channel?.isActive ?? false
      if let channel, isReused {
        send(room, token, on: channel)
      } else {
        connect(room, token)
      }
    }
  }

  /// Ends it. No answer comes any more.
  func close() {
    eventLoop.execute { [self] in
      isClosed = true
      question = nil
      deadline?.cancel()
      hangUp()
    }
  }

  // MARK: On the event loop

  private func connect(_ room: String, _ token: String) {
    let tls: NIOSSLContext?
    do throws(RoomError) {
      tls = url.isSecure ? try TLSSetup.context(caFile: tlsCAFile) : nil
    } catch {
      return finish(nil)
    }
    ClientBootstrap(group: eventLoop)
      .connectTimeout(Self.patience)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls { try pipeline.addHandler(TLSSetup.handler(tls, host: url.host)) }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(
            LookoutHandler { [weak self, weak channel] status, body in
              guard let self, let channel else { return }
              self.heard(status, body, from: channel)
            })
        }
      }
      .connect(host: url.host, port: url.port)
      .whenComplete { [self] result in
        guard case .success(let channel) = result else { return finish(false) }
        guard !isClosed, question != nil else {
          channel.close(promise: nil)
          return
        }
        self.channel = channel
        send(room, token, on: channel)
      }
  }

  private func send(_ room: String, _ token: String, on channel: any Channel) {
    let request = Livekit_ListRoomsRequest.with { $0.names = [room] }
    let bytes = SignalCoding.encode(request, asText: false)
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: url.hostHeader)
    headers.add(name: "Authorization", value: "Bearer \(token)")
    headers.add(name: "User-Agent", value: "recbot")
    headers.add(name: "Content-Type", value: "application/protobuf")
    headers.add(name: "Content-Length", value: String(bytes.count))
    let head = HTTPRequestHead(
      version: .http1_1, method: .POST, uri: "\(url.prefix)/twirp/livekit.RoomService/ListRooms", headers: headers)
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    channel.write(HTTPClientRequestPart.body(.byteBuffer(channel.allocator.buffer(bytes: bytes))), promise: nil)
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
  }

  private func heard(_ status: Int?, _ body: [UInt8], from sender: any Channel) {
    guard let channel, channel === sender else { return }
    guard let (room, token, _) = question else { return }
    // Closed just when it was used again: the server has not seen the question (RFC 9110 section 9.2.2).
    if status == nil, isReused {
      isReused = false
      self.channel = nil
      return connect(room, token)
    }
    switch status {
    case 200:
      let list = SignalCoding.decode(Livekit_ListRoomsResponse.self, body, isText: false)
      finish(list.map { $0.rooms.contains { $0.name == room } })
    case nil, 408, 429, 500, 502, 503, 504: finish(false)
    default: finish(nil)
    }
  }

  private func finish(_ isThere: Bool?) {
    deadline?.cancel()
    let answer = question?.answer
    question = nil
    answer?(isThere)
  }

  private func hangUp() {
    channel?.close(promise: nil)
    channel = nil
  }
}

/// Collects answers. Confined to its channel's event loop.
private final class LookoutHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  /// An answer, whole; nil when the connection is over.
  private let report: (_ status: Int?, _ body: [UInt8]) -> Void
  private var status: Int?
  private var body: [UInt8] = []

  init(_ report: @escaping (_ status: Int?, _ body: [UInt8]) -> Void) { self.report = report }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): (status, body) = (Int(head.status.code), [])
    case .body(let bytes):
      guard body.count + bytes.readableBytes <= RoomLookout.longestAnswer else {
        context.close(promise: nil)
        return
      }
      body += bytes.readableBytesView
    case .end:
      report(status, body)
      (status, body) = (nil, [])
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    report(nil, [])
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
