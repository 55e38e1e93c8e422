import Glibc
import MediaCore
import NIOCore
import NIOHTTP1
import NIOPosix
import Platform
import Synchronization
import TLS

/// Requests over HTTP/1.1 (RFC 9112), in TLS where that is wanted: no redirects, no cookies, no proxies. Any thread.
public final class WebConnections: Sendable {
  /// How connections are made and kept.
  public struct Settings: Sendable {
    /// Certificates (PEM) to trust in place of the system's; nil: the system's.
    public var authorities: String?
    /// For a connection, its name's lookup included, without TLS.
    public var connectTimeout: Duration
    /// How long a server may neither take nor send anything; nil: as long as it likes.
    public var silence: Duration?
    /// How long a connection is kept for the next request; nil: each request has one of its own.
    public var keepsOpen: Duration?

    /// Makes settings; see the properties.
    public init(
      authorities: String? = nil, connectTimeout: Duration = .seconds(5), silence: Duration? = nil,
      keepsOpen: Duration? = nil
    ) {
      self.authorities = authorities
      self.connectTimeout = connectTimeout
      self.silence = silence
      self.keepsOpen = keepsOpen
    }
  }

  /// What a connection is for: only requests of the same kind go over it.
  private struct Key: Hashable {
    var isSecure: Bool
    var host: String
    var port: Int
    var address: String?
  }

  private struct Idle {
    var connection: WebConnection
    var end: Scheduled<Void>
  }

  private struct State {
    var idle: [Key: [Idle]] = [:]
    var tls: TLSContext?
    var isClosed = false
  }

  /// More are closed rather than kept, of one kind.
  private static let mostIdle = 16

  private let settings: Settings
  private let state = Mutex(State())

  /// Makes connections of these settings; none is open yet.
  public init(_ settings: Settings = Settings()) { self.settings = settings }

  deinit { close() }

  /// How many connections wait, and are open.
  var waiting: Int { state.withLock { $0.idle.values.joined().count { $0.connection.channel.isActive } } }

  /// Closes the connections that wait; those with a request under way close after it.
  public func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [:] }
      return state.idle.values.flatMap { $0 }
    }
    for one in idle {
      one.end.cancel()
      one.connection.channel.close(promise: nil)
    }
  }

  /// Asks, and gives the answer as soon as its head has come. Ends with the task that asks: then nothing more is sent.
  ///
  /// - Parameter address: the numeric address to ask, when it has been found already; the name stays what the certificate must be for.
  public func answer(to request: WebRequest, at address: String? = nil) async throws(WebFault) -> WebResponse {
    let key = Key(isSecure: request.isSecure, host: request.host, port: request.realPort, address: address)
    if let connection = take(key) {
      do throws(WebFault) {
        return try await ask(request, over: connection)
      } catch .unanswered where request.isIdempotent {
        // A server may close what waits just when it is wanted (RFC 9112 section 9.3.1): once more, over a new one.
      }
    }
    return try await ask(request, over: try await connect(key))
  }

  /// Asks over a connection of its own, gives the status of the answer, and reads nothing more. For who lives on an event loop, and
  /// must not wait for a thread of Swift's pool.
  public func status(
    of request: WebRequest, within limit: Duration, on loop: any EventLoop
  ) -> EventLoopFuture<HTTPResponseStatus> {
    let status = loop.makePromise(of: HTTPResponseStatus.self)
    let key = Key(isSecure: request.isSecure, host: request.host, port: request.realPort, address: nil)
    let opening = WebOpening()
    do {
      let answered = try open(key, opening).flatMap { connection in
        let answer = connection.channel.eventLoop.makePromise(of: WebResponse.self)
        connection.channel.eventLoop.execute {
          connection.handler.value.start(request, keepsOpen: false, silence: nil, answer)
        }
        return answer.futureResult.map(\.status)
      }
      answered.hop(to: loop).cascade(to: status)
      let alarm = loop.scheduleTask(in: TimeAmount(limit)) {
        status.fail(WebFault.late)
        opening.cancel()
      }
      status.futureResult.whenComplete { _ in alarm.cancel() }
    } catch {
      status.fail(error)
    }
    return status.futureResult
  }

  // MARK: One request

  private func ask(_ request: WebRequest, over connection: WebConnection) async throws(WebFault) -> WebResponse {
    let silence = settings.silence.map { TimeAmount($0) }
    let keepsOpen = settings.keepsOpen != nil
    let loop = connection.channel.eventLoop
    let isCancelled = Mutex(false)
    let result: Result<WebResponse, any Error> = await withTaskCancellationHandler {
      let answer = loop.makePromise(of: WebResponse.self)
      loop.execute {
        // Given up before it began: then `fail` has found nothing to end, and nobody would end it.
        guard !isCancelled.withLock({ $0 }) else {
          answer.fail(WebFault.cancelled)
          return connection.channel.close(promise: nil)
        }
        connection.handler.value.start(request, keepsOpen: keepsOpen, silence: silence, answer)
      }
      do { return .success(try await answer.futureResult.get()) } catch { return .failure(error) }
    } onCancel: {
      isCancelled.withLock { $0 = true }
      loop.execute { connection.handler.value.fail(.cancelled) }
    }
    do { return try result.get() } catch { throw error as? WebFault ?? .unanswered }
  }

  // MARK: Connections

  private func take(_ key: Key) -> WebConnection? {
    state.withLock { state in
      while let one = state.idle[key]?.popLast() {
        one.end.cancel()
        if one.connection.channel.isActive { return one.connection }
      }
      state.idle[key] = nil
      return nil
    }
  }

  private func keep(_ connection: WebConnection, _ key: Key) {
    let channel = connection.channel
    guard let time = settings.keepsOpen else { return channel.close(promise: nil) }
    let isKept = state.withLock { state in
      guard !state.isClosed, state.idle[key, default: []].count < Self.mostIdle else { return false }
      let end = channel.eventLoop.scheduleTask(in: TimeAmount(time)) { [weak self] in self?.drop(channel, key) ?? () }
      state.idle[key, default: []].append(Idle(connection: connection, end: end))
      return true
    }
    if !isKept { channel.close(promise: nil) }
  }

  private func drop(_ channel: any Channel, _ key: Key) {
    let isThere = state.withLock { state in
      guard let index = state.idle[key]?.firstIndex(where: { $0.connection.channel === channel }) else { return false }
      state.idle[key]?.remove(at: index)
      return true
    }
    if isThere { channel.close(promise: nil) }
  }

  private func context() throws(WebFault) -> TLSContext {
    if let made = state.withLock({ $0.tls }) { return made }
    do throws(TLSContext.Failure) {
      let made = try TLSContext(authorities: settings.authorities)
      state.withLock { $0.tls = made }
      return made
    } catch {
      throw .tls(.other(error.description))
    }
  }

  private func connect(_ key: Key) async throws(WebFault) -> WebConnection {
    let opening = WebOpening()
    let connected = try open(key, opening)
    let result: Result<WebConnection, any Error> = await withTaskCancellationHandler {
      do { return .success(try await connected.get()) } catch { return .failure(error) }
    } onCancel: {
      opening.cancel()
    }
    do { return try result.get() } catch { throw Task.isCancelled ? .cancelled : error as? WebFault ?? .unanswered }
  }

  private func open(_ key: Key, _ opening: WebOpening) throws(WebFault) -> EventLoopFuture<WebConnection> {
    let tls = key.isSecure ? try context() : nil
    return ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(TimeAmount(settings.connectTimeout))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.autoRead, value: false)
      .channelInitializer { [weak self] channel in
        channel.eventLoop.makeCompletedFuture {
          let handler = WebExchangeHandler { [weak self] in self?.keep($0, key) ?? $0.channel.close(promise: nil) }
          try opening.add(
            WebConnection(channel: channel, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop)))
          let pipeline = channel.pipeline.syncOperations
          if let tls {
            let isNumeric = (try? SocketAddress(ipAddress: key.host, port: 0)) != nil
            let session = try TLSSession(tls, host: key.host, isNumeric: isNumeric, application: "http/1.1")
            try pipeline.addHandler(TLSHandler(session))
          }
          try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
          try pipeline.addHandler(handler)
        }
      }
      .connect(host: key.address ?? key.host, port: key.port)
      .flatMapThrowing { channel in try opening.connection(of: channel) }
      .flatMapErrorThrowing { error in throw WebFault(connecting: error, to: key.host) }
  }
}

/// A connection that is being made, by way of several addresses perhaps. Any thread.
private final class WebOpening: Sendable {
  private let state = Mutex<(connections: [WebConnection], isCancelled: Bool)>(([], false))

  /// One of those that are tried. Throws when none is wanted any more.
  func add(_ connection: WebConnection) throws(WebFault) {
    let isCancelled = state.withLock { state in
      state.connections.append(connection)
      return state.isCancelled
    }
    if isCancelled { throw .cancelled }
  }

  /// Ends it.
  func cancel() {
    let connections = state.withLock { state in
      state.isCancelled = true
      return state.connections
    }
    for connection in connections { connection.channel.close(promise: nil) }
  }

  /// The one that came about.
  func connection(of channel: any Channel) throws(WebFault) -> WebConnection {
    guard let one = state.withLock({ $0.connections.first { $0.channel === channel } }) else { throw .unanswered }
    return one
  }
}

extension WebFault {
  /// What an error of a connection that is being made means.
  init(connecting error: any Error, to host: String) {
    switch error {
    case let fault as WebFault: self = fault
    case let error as NIOConnectionError:
      if let first = error.connectionErrors.first {
        self.init(connecting: first.error, to: host)
      } else if let refusal = (error.dnsAError ?? error.dnsAAAAError) as? WebClientError {
        self = .unreachable(refusal.description)
      } else {
        self = .unknownHost(host)
      }
    case ChannelError.connectTimeout: self = .late
    case let error as IOError: self = .unreachable(String(cString: strerror(error.errnoCode)))
    case let error as TLSContext.Failure: self = .tls(.other(error.description))
    default: self = .unreachable(PeerText.line("\(error)"))
    }
  }
}
