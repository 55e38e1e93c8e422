import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Platform
import Signaling

/// The mailbox of the embedded room server: `/mailbox/v1/…` over HTTP/1.1, watched by requests that wait for a change.
/// One connection a request. Used on any thread; its work is done on a NIO event loop.
public final class HTTPMailbox: Mailbox {
  private let url: SignalURL
  private let room: String
  private let tokens: TokenSource
  private let tlsCAFile: String?
  private let connectTimeout: Int64

  /// How long a request may take, and one that waits for a change (the server answers after 20 s at the latest).
  static let requestTimeout = TimeAmount.seconds(8)
  /// See `requestTimeout`.
  static let watchTimeout = TimeAmount.seconds(30)
  /// The longest answer that is read, in bytes.
  static let maximumAnswer = 512 << 10

  /// A mailbox for one room. Throws when the address is none. `connectTimeout` is in nanoseconds.
  public init(
    url: String, room: String, tokens: TokenSource, tlsCAFile: String? = nil, connectTimeout: Int64 = 5_000_000_000
  ) throws(RoomError) {
    do {
      self.url = try SignalURL(url)
    } catch {
      throw RoomError(.invalidURL, "\(error)")
    }
    self.room = room
    self.tokens = tokens
    self.tlsCAFile = tlsCAFile
    self.connectTimeout = connectTimeout
  }

  /// Sends the request and reads the answer.
  public func perform(
    _ request: MailboxRequest, completion: @escaping @Sendable (Result<MailboxView, MailboxFault>) -> Void
  ) {
    let token: String
    let tls: NIOSSLContext?
    do throws(RoomError) {
      token = try tokens.token(now: WallClock.seconds, refreshed: nil)
      tls = url.isSecure ? try TLSSetup.context(caFile: tlsCAFile) : nil
    } catch {
      completion(.failure(.failed(error)))
      return
    }
    let (message, isSeat, isWatch) = self.message(request, token: token)
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let url = url
    let limit = isWatch ? Self.watchTimeout : Self.requestTimeout
    ClientBootstrap(group: eventLoop)
      .connectTimeout(.nanoseconds(connectTimeout))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls { try pipeline.addHandler(TLSSetup.handler(tls, host: url.host)) }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(
            MailboxExchange(message, limit: limit) { outcome in
              completion(Self.result(outcome, url, isSeat: isSeat))
            })
        }
      }
      .connect(host: url.host, port: url.port)
      .whenFailure { error in completion(.failure(.failed(RoomError(connecting: error, to: url)))) }
  }

  // MARK: The wire

  /// A request as it is sent.
  struct Message: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8]
  }

  private func message(_ request: MailboxRequest, token: String) -> (Message, isSeat: Bool, isWatch: Bool) {
    let path = "\(url.prefix)/mailbox/v1/\(PercentCoding.encode(room))"
    func session(_ session: String) -> String { "?session=\(PercentCoding.encode(session))" }
    var method = HTTPMethod.GET
    var target = path
    var body: [UInt8] = []
    var (isSeat, isWatch) = (false, false)
    switch request {
    case .takeSeat(let seat):
      (method, target, body, isSeat) = (.PUT, "\(path)/seat", MailboxCoding.encode(seat), true)
    case .leave(let own): (method, target) = (.DELETE, "\(path)/seat\(session(own))")
    case .put(let own, let description):
      (method, target, body) = (.PUT, "\(path)/description\(session(own))", MailboxCoding.encode(description))
    case .clear(let own): (method, target) = (.DELETE, "\(path)/description\(session(own))")
    case .add(let own, let candidates):
      (method, target, body) = (.POST, "\(path)/candidates\(session(own))", MailboxCoding.encode(candidates))
    case .watch(let own, let revision):
      (target, isWatch) = ("\(path)\(session(own))&after=\(revision)", true)
    }
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: url.hostHeader)
    headers.add(name: "Authorization", value: "Bearer \(token)")
    headers.add(name: "User-Agent", value: "recbot")
    headers.add(name: "Connection", value: "close")
    if method != .GET {
      headers.add(name: "Content-Type", value: "application/json")
      headers.add(name: "Content-Length", value: String(body.count))
    }
    let head = HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
    return (Message(head: head, body: body), isSeat, isWatch)
  }

  /// What an answer means.
  static func result(
    _ outcome: MailboxExchange.Outcome, _ url: SignalURL, isSeat: Bool
  ) -> Result<MailboxView, MailboxFault> {
    switch outcome {
    case .timeout: return .failure(.failed(RoomError(.timeout, url.hostHeader)))
    case .broken(let error): return .failure(.failed(error.map { RoomError(connecting: $0, to: url) } ?? closed(url)))
    case .answer(200, let body):
      guard let view = MailboxCoding.decode(MailboxView.self, from: body) else {
        return .failure(.failed(RoomError(.protocolError, "the mailbox's answer is not what is expected")))
      }
      return .success(view)
    case .answer(let status, let body):
      let text = String(decoding: body.prefix(PeerText.longest), as: UTF8.self)
      switch (status, text) {
      // A wrong path answers 404 too; only a seat that was taken can be lost.
      case (404, _) where text.hasPrefix("no seat") && !isSeat: return .failure(.noSeat)
      case (404, _): return .failure(.failed(RoomError(.notARoomServer, "\(url) has no mailbox")))
      case (410, _): return .failure(.replaced)
      case (409, _): return .failure(text.hasPrefix("stale") ? .stale : .occupied(RoomError.oneLine(text)))
      default: return .failure(.failed(.refusedUpgrade(status: status, text: text)))
      }
    }
  }

  private static func closed(_ url: SignalURL) -> RoomError {
    RoomError(.refused, "\(url.hostHeader) closed the connection without an answer")
  }
}

/// One request and its answer on a connection of its own. Confined to its channel's event loop.
final class MailboxExchange: ChannelInboundHandler, @unchecked Sendable {
  // Sendable: made before the channel, then touched on the channel's event loop only.
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  /// How it went.
  enum Outcome: Sendable {
    case answer(Int, [UInt8])
    case timeout
    /// The connection ended early; nil for no reason given.
    case broken((any Error)?)
  }

  private let message: HTTPMailbox.Message
  private let limit: TimeAmount
  private let completion: @Sendable (Outcome) -> Void
  private var deadline: Scheduled<Void>?
  private var status: Int?
  private var body: [UInt8] = []
  private var isDone = false

  init(_ message: HTTPMailbox.Message, limit: TimeAmount, completion: @escaping @Sendable (Outcome) -> Void) {
    self.message = message
    self.limit = limit
    self.completion = completion
  }

  func channelActive(context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(.head(message.head)), promise: nil)
    if !message.body.isEmpty {
      let bytes = context.channel.allocator.buffer(bytes: message.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    deadline = context.eventLoop.scheduleTask(in: limit) {
      let (handler, context) = loopBound.value
      handler.finish(.timeout, context)
    }
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): status = Int(head.status.code)
    case .body(let bytes):
      body += bytes.readableBytesView
      if body.count > HTTPMailbox.maximumAnswer { finish(.broken(nil), context) }
    case .end: finish(status.map { .answer($0, body) } ?? .broken(nil), context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish(.broken(nil), context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.broken(error), context) }

  private func finish(_ outcome: Outcome, _ context: ChannelHandlerContext) {
    guard !isDone else { return }
    isDone = true
    deadline?.cancel()
    completion(outcome)
    context.close(promise: nil)
  }
}
