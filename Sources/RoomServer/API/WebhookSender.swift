import Logging
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Platform
import Signaling
import SwiftProtobuf
import Synchronization

// Sendable: the queues are only touched on `eventLoop`.
/// Tells other programs of events as LiveKit's servers do: a POST with the event as proto3 JSON, and in
/// `Authorization` a JWT whose claim `sha256` vouches for the body.
///
/// Events of one URL are sent one after the other, in their order. One that isn't taken is tried again, with growing
/// waits, until it is too old; when too many wait, the oldest go.
final class WebhookSender: @unchecked Sendable {
  private let urls: [WebhookURL]
  private let apiKey: String
  private let secret: Redacted<String>
  private let logger: Logger
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let eventLoop: any EventLoop
  private let tls: NIOSSLContext?
  private var queues: [Queue]
  private var isEnding = false
  private var onDrained: (@Sendable () -> Void)?

  private struct Event {
    var id: String
    var body: [UInt8]
    var at: NIODeadline
    var attempts = 0
  }

  private struct Queue {
    var events: [Event] = []
    var isBusy = false
  }

  /// How many events wait for one URL at most.
  private static let queueLimit = 200
  /// After this an event is given up, in seconds.
  private static let patience: Int64 = 30
  /// For one connection and its answer, in seconds.
  private static let timeout: Int64 = 5
  /// How long the end of the server waits for the last events, in seconds.
  private static let farewell: Int64 = 2
  /// A token's lifetime in seconds.
  private static let lifetime: Int64 = 300

  /// Makes a sender; `apiKey` with its secret signs.
  init(urls: [WebhookURL], apiKey: String, secret: String, logger: Logger) {
    self.urls = urls
    self.apiKey = apiKey
    self.secret = Redacted(secret)
    self.logger = logger
    eventLoop = group.next()
    queues = urls.map { _ in Queue() }
    tls = urls.contains(where: \.usesTLS) ? try? NIOSSLContext(configuration: .makeClientConfiguration()) : nil
  }

  /// Sends an event to every URL. Any thread.
  func send(_ event: Livekit_WebhookEvent) {
    guard let body: [UInt8] = try? event.jsonUTF8Bytes() else { return }
    eventLoop.execute { [self] in
      for index in urls.indices {
        queues[index].events.append(Event(id: event.id, body: body, at: .now()))
        if queues[index].events.count > Self.queueLimit {
          queues[index].events.remove(at: queues[index].isBusy ? 1 : 0)
          logger.warning("a webhook event was dropped: too many wait", metadata: ["url": "\(urls[index])"])
        }
        next(index)
      }
    }
  }

  /// Lets the events that wait go out, for two seconds at most, and ends the thread. Not to be called on it.
  func shutDown() {
    let drained = eventLoop.makePromise(of: Void.self)
    eventLoop.execute { [self] in
      isEnding = true
      onDrained = { drained.succeed(()) }
      noteDrained()
      eventLoop.scheduleTask(in: .seconds(Self.farewell)) { drained.succeed(()) }
    }
    try? drained.futureResult.wait()
    do { try group.syncShutdownGracefully() } catch {
      logger.warning("the webhook thread did not end cleanly", metadata: ["error": "\(error)"])
    }
  }

  private func noteDrained() {
    guard isEnding, queues.allSatisfy(\.events.isEmpty) else { return }
    onDrained?()
    onDrained = nil
  }

  // MARK: On the event loop

  private func next(_ index: Int) {
    guard !queues[index].isBusy, let event = queues[index].events.first else { return }
    queues[index].isBusy = true
    post(event, to: urls[index]).whenComplete { [self] result in
      let outcome: Outcome
      switch result {
      case .success(let status) where (200..<300).contains(status): outcome = .taken
      // What the receiver finds wrong stays wrong; 408 and 429 ask for another try.
      case .success(let status) where (400..<500).contains(status) && status != 408 && status != 429:
        outcome = .refused("HTTP \(status)")
      case .success(let status): outcome = .failed("HTTP \(status)")
      case .failure(let error):
        outcome = .failed(TLSFault(reading: "\(error)")?.description ?? PeerText.line("\(error)"))
      }
      finished(index, event, outcome)
    }
  }

  private enum Outcome {
    case taken
    case refused(String)
    case failed(String)
  }

  private func finished(_ index: Int, _ event: Event, _ outcome: Outcome) {
    var retryAfter: Int64?
    switch outcome {
    case .taken: break
    case .refused(let reason):
      logger.warning("a webhook was refused", metadata: ["url": "\(urls[index])", "reason": "\(reason)"])
    case .failed(let reason):
      let isOld = NIODeadline.now() - event.at > .seconds(Self.patience)
      if isOld || isEnding {
        logger.warning("a webhook was not delivered", metadata: ["url": "\(urls[index])", "reason": "\(reason)"])
      } else {
        // 250 ms, 500 ms, 1 s … 8 s
        retryAfter = 250 << Int64(min(event.attempts, 5))
      }
    }
    if let retryAfter {
      if !queues[index].events.isEmpty { queues[index].events[0].attempts += 1 }
      eventLoop.scheduleTask(in: .milliseconds(retryAfter)) { [self] in
        queues[index].isBusy = false
        next(index)
      }
      return
    }
    queues[index].events.removeFirst(min(1, queues[index].events.count))
    queues[index].isBusy = false
    noteDrained()
    next(index)
  }

  /// One POST; gives the status.
  private func post(_ event: Event, to url: WebhookURL) -> EventLoopFuture<Int> {
    let token: String
    do throws(AccessTokenError) {
      token = try AccessToken(
        vouchingFor: event.body, apiKey: apiKey, now: WallClock.seconds, lifetime: Self.lifetime
      ).signed(secret: secret.wrappedValue)
    } catch {
      return eventLoop.makeFailedFuture(error)
    }
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: url.hostHeader)
    headers.add(name: "Content-Type", value: "application/webhook+json")
    headers.add(name: "Content-Length", value: String(event.body.count))
    // Without "Bearer", as LiveKit's servers send it.
    headers.add(name: "Authorization", value: token)
    headers.add(name: "User-Agent", value: "recbot")
    headers.add(name: "Connection", value: "close")
    let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: url.target, headers: headers)
    let status = eventLoop.makePromise(of: Int.self)
    let tls = url.usesTLS ? tls : nil
    let deadline = eventLoop.scheduleTask(in: .seconds(Self.timeout)) {
      status.fail(ChannelError.connectTimeout(.seconds(Self.timeout)))
    }
    ClientBootstrap(group: eventLoop)
      .connectTimeout(.seconds(Self.timeout))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls {
            // An address is no server name (RFC 6066 section 3).
            let name = (try? SocketAddress(ipAddress: url.host, port: 0)) == nil ? url.host : nil
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
          }
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          try channel.pipeline.syncOperations.addHandler(WebhookHandler(head: head, body: event.body, status: status))
        }
      }
      .connect(host: url.host, port: url.port)
      .whenComplete { result in
        switch result {
        case .failure(let error): status.fail(error)
        case .success(let channel): status.futureResult.whenComplete { _ in channel.close(promise: nil) }
        }
      }
    status.futureResult.whenComplete { _ in deadline.cancel() }
    return status.futureResult
  }
}

/// Sends one request and waits for the head of its answer. Confined to its channel's event loop.
private final class WebhookHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let head: HTTPRequestHead
  private let body: [UInt8]
  private let status: EventLoopPromise<Int>

  init(head: HTTPRequestHead, body: [UInt8], status: EventLoopPromise<Int>) {
    self.head = head
    self.body = body
    self.status = status
  }

  func channelActive(context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: body)))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let answer) = unwrapInboundIn(data) { status.succeed(Int(answer.status.code)) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    status.fail(ChannelError.eof)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    status.fail(error)
    context.close(promise: nil)
  }
}
