import Logging
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import Platform
import Signaling
import SwiftProtobuf
import Synchronization
import WebClient

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
  private let eventLoop: any EventLoop
  private let http = WebConnections(.init(connectTimeout: timeout))
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
  /// After this an event is given up.
  private static let patience = Duration.seconds(30)
  /// For one connection and its answer.
  private static let timeout = Duration.seconds(5)
  /// How long the end of the server waits for the last events.
  private static let farewell = Duration.seconds(2)
  /// A token's lifetime in seconds.
  private static let lifetime: Int64 = 300

  /// Makes a sender; `apiKey` with its secret signs.
  init(urls: [WebhookURL], apiKey: String, secret: String, logger: Logger) {
    self.urls = urls
    self.apiKey = apiKey
    self.secret = Redacted(secret)
    self.logger = logger
    eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    queues = urls.map { _ in Queue() }
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

  /// Lets the events that wait go out, for two seconds at most. Not to be called on its event loop.
  func shutDown() {
    let drained = eventLoop.makePromise(of: Void.self)
    eventLoop.execute { [self] in
      isEnding = true
      onDrained = { drained.succeed(()) }
      noteDrained()
      eventLoop.scheduleTask(in: TimeAmount(Self.farewell)) { drained.succeed(()) }
    }
    try? drained.futureResult.wait()
    // What was still under way is not told any more.
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
        outcome = .failed((error as? WebFault)?.description ?? PeerText.line("\(error)"))
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
    var retryAfter: Duration?
    switch outcome {
    case .taken: break
    case .refused(let reason):
      logger.warning("a webhook was refused", metadata: ["url": "\(urls[index])", "reason": "\(reason)"])
    case .failed(let reason):
      let isOld = NIODeadline.now() - event.at > TimeAmount(Self.patience)
      if isOld || isEnding {
        logger.warning("a webhook was not delivered", metadata: ["url": "\(urls[index])", "reason": "\(reason)"])
      } else {
        // 250 ms, 500 ms, 1 s … 8 s
        retryAfter = .milliseconds(250 << min(event.attempts, 5))
      }
    }
    if let retryAfter {
      if !queues[index].events.isEmpty { queues[index].events[0].attempts += 1 }
      eventLoop.scheduleTask(in: TimeAmount(retryAfter)) { [self] in
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
    let request = WebRequest(
      .POST, isSecure: url.usesTLS, host: url.host, port: url.port, target: url.target,
      // The token without "Bearer", as LiveKit's servers send it.
      headers: ["content-type": "application/webhook+json", "authorization": token, "user-agent": "recbot"],
      body: ByteBuffer(bytes: event.body))
    return http.status(of: request, within: Self.timeout, on: eventLoop).map { Int($0.code) }
  }
}
