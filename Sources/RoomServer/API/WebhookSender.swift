import AsyncHTTPClient
import Logging
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
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
  private let http: HTTPClient
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
    eventLoop = group.next()
    queues = urls.map { _ in Queue() }
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(Self.timeout)))
    configuration.httpVersion = .http1Only
    // A receiver that refuses is asked again by the rules here.
    configuration.connectionPool.retryConnectionEstablishment = false
    http = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
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
      eventLoop.scheduleTask(in: TimeAmount(Self.farewell)) { drained.succeed(()) }
    }
    try? drained.futureResult.wait()
    // Its connections end; what was still under way is not told any more.
    try? http.syncShutdown()
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
    let status = eventLoop.makePromise(of: Int.self)
    do {
      var request = try HTTPClient.Request(url: url.text, method: .POST, body: .bytes(event.body))
      request.headers.add(name: "Content-Type", value: "application/webhook+json")
      // Without "Bearer", as LiveKit's servers send it.
      request.headers.add(name: "Authorization", value: token)
      request.headers.add(name: "User-Agent", value: "recbot")
      request.headers.add(name: "Connection", value: "close")
      let answer = http.execute(
        request: request, delegate: StatusReader(status), eventLoop: .delegateAndChannel(on: eventLoop),
        deadline: .now() + TimeAmount(Self.timeout))
      // Without effect when the status is known.
      answer.futureResult.whenFailure { status.fail($0) }
    } catch {
      status.fail(error)
    }
    return status.futureResult
  }
}

/// Takes the status of an answer; nothing is read of what follows. On the event loop of its promise.
private final class StatusReader: HTTPClientResponseDelegate {
  private let status: EventLoopPromise<Int>

  init(_ status: EventLoopPromise<Int>) { self.status = status }

  func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
    status.succeed(Int(head.status.code))
    task.cancel()
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) {}
}
