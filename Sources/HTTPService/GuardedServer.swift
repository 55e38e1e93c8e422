import HTTPGuard
public import HummingbirdCore
import Logging
import NIOCore

/// How large a request's head may be, and how long each part of it may take.
public struct RequestLimits: Hashable, Sendable {
  /// Bytes of all headers of a request.
  public var headers = 131_072
  /// Bytes of one of them.
  public var headerField = 65_536
  /// How long the headers may take.
  public var headerTime = Duration.seconds(10)
  /// How long headers and body may take, and how long the sender may take to read the answer; of a file, each 128 KiB.
  public var requestTime = Duration.seconds(30)
  /// How long a connection may be idle between requests.
  public var idleTime = Duration.seconds(75)
  /// The usual limits.
  public init() {}
}

extension HTTPServerBuilder {
  /// A server for HTTP/1.1 that holds the connections which the door lets in, each of them to the limits. `connections` is
  /// told which are open.
  public static func guarded(
    by door: ConnectionDoor, limits: RequestLimits, connections: Connections
  ) -> HTTPServerBuilder {
    let configuration = HTTP1Channel.Configuration(
      additionalChannelHandlers: [ConnectionGuard(limits: limits, connections: connections)],
      httpDecoderConfiguration: .init(
        maxHeaderFieldSize: limits.headerField, maxHeaderListSize: limits.headers, maxHeaderFieldCount: 100))
    return HTTPServerBuilder { responder in
      GuardedChannel(door: door, inner: HTTP1Channel(responder: responder, configuration: configuration))
    }
  }
}

/// A connection of the server, made only when the door lets it in.
private struct GuardedChannel: ServerChildChannel {
  let door: ConnectionDoor
  let inner: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    guard door.arrive(channel) else { return channel.eventLoop.makeFailedFuture(ConnectionRefused()) }
    return inner.setup(channel: channel, logger: logger)
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async { await inner.handle(value: value, logger: logger) }
}
