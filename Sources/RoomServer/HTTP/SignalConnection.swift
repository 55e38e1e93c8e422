import NIOCore
import NIOWebSocket
import Signaling
import SwiftProtobuf

/// On which a room speaks to one client.
protocol SignalSender: AnyObject {
  /// Which signal connection it is.
  var link: SignalID { get }
  /// False while nothing arrives of what is sent, though the connection is there.
  var isHeard: Bool { get }
  /// Sends a message. Messages of one thread arrive in order.
  func send(_ message: Livekit_SignalResponse)
  /// Sends news of the room.
  func tell(_ news: Livekit_SignalResponse)
  /// Sends an offer, an answer or a candidate, in this order and no other.
  func describe(_ message: Livekit_SignalResponse)
  /// Closes after everything sent so far.
  func close()
  /// Ends the TCP connection without a word, as a broken network does.
  func abort()
}

/// The room's end of one client's WebSocket. Sends from any thread; what comes in is posted to the room's loop.
final class SignalConnection: SignalSender, Sendable {
  private let channel: any Channel

  /// Wraps an upgraded channel.
  init(channel: any Channel) { self.channel = channel }

  var link: SignalID { SignalID(self) }
  var isHeard: Bool { true }

  func send(_ message: Livekit_SignalResponse) { channel.writeAndFlush(SignalOutput.message(message), promise: nil) }
  func tell(_ news: Livekit_SignalResponse) { send(news) }
  func describe(_ message: Livekit_SignalResponse) { send(message) }

  func close() { channel.writeAndFlush(SignalOutput.close(.normalClosure), promise: nil) }

  func abort() { channel.close(promise: nil) }

  /// Silent: reads nothing more, and keeps back whatever is sent or closed, until that ends.
  func setSilent(_ isSilent: Bool) { channel.writeAndFlush(SignalOutput.silence(isSilent), promise: nil) }
}

/// What the room gives to the channel's last handler.
enum SignalOutput: Sendable {
  /// A message, in the form (binary or JSON) in which the client speaks.
  case message(Livekit_SignalResponse)
  /// A close frame, then the end of the connection.
  case close(WebSocketErrorCode)
  /// Begins or ends a time in which nothing is read or written.
  case silence(Bool)
}

/// What the network side tells the room. Called on a network thread.
protocol SignalSink: AnyObject, Sendable {
  /// A client with a good token wants to join: nil lets it in. `reply` is called once, on any thread.
  func admit(_ request: JoinRequest, _ reply: @escaping @Sendable (JoinGate.Refusal?) -> Void)
  /// A client was admitted and its WebSocket is open.
  func opened(_ connection: SignalConnection, _ request: JoinRequest)
  /// A well-formed message came.
  func received(_ connection: SignalConnection, _ request: Livekit_SignalRequest)
  /// The connection is gone; nothing follows.
  func closed(_ connection: SignalConnection)
}
