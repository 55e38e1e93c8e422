import HTTPGuard
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOWebSocket
import Signaling

/// What a server reads from a client that nobody knows: request heads, bodies, an upgrade, and behind it frames with
/// signalling messages. The pipeline is that of the room server's listener, with smaller limits. The first byte says in
/// how large pieces the rest comes.
func fuzzHTTPServer(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  feed(bytes.dropFirst(), pieces: choice) { channel in
    let collector = RequestCollector()
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: 4096, automaticErrorHandling: false,
      shouldUpgrade: { channel, head in
        channel.eventLoop.makeSucceededFuture(HeadRules.fault(of: head) == nil ? HTTPHeaders() : nil)
      },
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64, maxAccumulatedFrameSize: 4096),
            FrameCollector { frame in
              _ = SignalCoding.request(Array(frame.unmaskedData.readableBytesView), isText: frame.opcode == .text)
            })
        }
      })
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = 1024
    limits.maxHeaderListSize = 2048
    limits.maxHeaderFieldCount = 64
    let bound = NIOLoopBound(collector, eventLoop: channel.eventLoop)
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [upgrader],
        completionHandler: { $0.pipeline.syncOperations.removeHandler(bound.value, promise: nil) }
      ),
      withErrorHandling: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
    try channel.pipeline.syncOperations.addHandler(collector)
  }
}

/// What a client reads from a server that others name: heads and bodies of answers, and once it has upgraded, frames. The
/// first byte says which, and in how large pieces the rest comes.
func fuzzHTTPClient(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  feed(bytes.dropFirst(), pieces: choice & 0x7f) { channel in
    let pipeline = channel.pipeline.syncOperations
    if choice & 0x80 != 0 {
      try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .forwardBytes)
      try pipeline.addHandler(AnswerCollector())
      // The decoder wants a request for each answer.
      for _ in 0..<4 {
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["host": "host"])
        channel.writeAndFlush(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
      }
    } else {
      try pipeline.addHandlers(
        ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 8192)),
        NIOWebSocketFrameAggregator(
          minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: 8192),
        FrameCollector { frame in
          var payload = frame.unmaskedData
          if frame.opcode == .connectionClose { _ = payload.readWebSocketErrorCode() }
          _ = SignalCoding.response(Array(frame.unmaskedData.readableBytesView), isText: frame.opcode == .text)
        })
    }
  }
}

/// Gives bytes to a channel in pieces of 1 to 128 bytes or, with 0, all at once, until it closes.
private func feed(
  _ bytes: Slice<UnsafeRawBufferPointer>, pieces: UInt8, _ configure: (EmbeddedChannel) throws -> Void
) {
  let channel = EmbeddedChannel()
  do {
    try configure(channel)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
  } catch {
    preconditionFailure("\(error)")
  }
  var rest = bytes
  while !rest.isEmpty, channel.isActive {
    let size = pieces == 0 ? rest.count : min(rest.count, Int(pieces))
    // Errors close a channel, as the last handlers do it.
    do { try channel.writeInbound(ByteBuffer(bytes: rest.prefix(size))) } catch { channel.close(promise: nil) }
    rest = rest.dropFirst(size)
    channel.embeddedEventLoop.run()
    while case .some = try? channel.readOutbound(as: IOData.self) {}
  }
  // What is left at the end of a connection is an error of its own.
  _ = try? channel.finish(acceptAlreadyClosed: true)
}

/// Looks at requests, and answers them.
private final class RequestCollector: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard let fault = HeadRules.fault(of: head) else { return }
      precondition([400, 501, 505].contains(fault.status) && !fault.text.isEmpty)
      context.close(promise: nil)
    case .body(let body): precondition(body.readableBytes <= 8192)
    case .end:
      let head = HTTPResponseHead(version: .http1_1, status: .noContent)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Looks at answers.
private final class AnswerCollector: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .body(let body) = unwrapInboundIn(data) else { return }
    precondition(body.readableBytes <= 8192)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Hands whole messages on, which are never larger than the limit.
private final class FrameCollector: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  private let read: (WebSocketFrame) -> Void

  init(read: @escaping (WebSocketFrame) -> Void) { self.read = read }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    precondition(frame.data.readableBytes <= 8192, "a message above the limit")
    read(frame)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
