import HTTPGuard
import HummingbirdCore
import Logging
import NIOCore

/// A connection of the server, made only when the door lets it in.
struct GuardedChannel: ServerChildChannel {
  let door: ConnectionDoor
  let inner: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    guard door.arrive(channel) else { return channel.eventLoop.makeFailedFuture(ConnectionRefused()) }
    return inner.setup(channel: channel, logger: logger)
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async { await inner.handle(value: value, logger: logger) }
}

extension HTTPServerBuilder {
  /// A server for HTTP/1.1 behind a door.
  static func guarded(by door: ConnectionDoor, configuration: HTTP1Channel.Configuration) -> HTTPServerBuilder {
    HTTPServerBuilder { responder in
      GuardedChannel(door: door, inner: HTTP1Channel(responder: responder, configuration: configuration))
    }
  }
}
