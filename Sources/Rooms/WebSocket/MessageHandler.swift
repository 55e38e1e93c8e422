import NIOCore
import NIOWebSocket
import Signaling
import SwiftProtobuf

/// Turns WebSocket messages into signalling messages: binary ones are protobuf, text ones are the same in JSON.
/// Confined to its channel's event loop.
final class MessageHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  private let report: (SignalSocket.Event) -> Void
  private let pong: (ByteBuffer) -> Void
  private let over: (String) -> Void

  init(
    report: @escaping (SignalSocket.Event) -> Void, pong: @escaping (ByteBuffer) -> Void,
    over: @escaping (String) -> Void
  ) {
    self.report = report
    self.pong = pong
    self.over = over
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary, .text:
      let bytes = Array(frame.unmaskedData.readableBytesView)
      if let message = SignalCoding.response(bytes, isText: frame.opcode == .text) {
        report(.message(message))
      } else {
        report(.malformed("\(bytes.count) bytes"))
      }
    case .ping: pong(frame.unmaskedData)
    case .connectionClose:
      var payload = frame.unmaskedData
      let code = payload.readWebSocketErrorCode().map { Int(UInt16(webSocketErrorCode: $0)) }
      over("closed by the server\(code.map { " (\($0))" } ?? "")")
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    report(.readComplete)
    context.fireChannelReadComplete()
  }

  func channelInactive(context: ChannelHandlerContext) {
    over("the connection ended")
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if case ChannelError.inputClosed = error { over("the connection ended") } else { over("\(error)") }
    context.close(promise: nil)
  }
}
