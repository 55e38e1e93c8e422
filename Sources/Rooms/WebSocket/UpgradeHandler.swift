import MediaCore
import NIOCore
import NIOHTTP1

/// Sends the request for the upgrade (or for the check without upgrade) and collects the answer when it is a refusal;
/// an accepted upgrade removes this handler. Confined to its channel's event loop.
final class UpgradeHandler: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
  // Sendable: made before the channel, then touched on the channel's event loop only.
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let request: SignalSocket.Request
  private let isCheck: Bool
  private let refused: @Sendable (_ status: Int, _ text: String) -> Void
  private let failed: @Sendable (any Error) -> Void
  private var status: Int?
  private var body: [UInt8] = []
  private var isDone = false

  init(
    request: SignalSocket.Request, isCheck: Bool = false,
    refused: @escaping @Sendable (_ status: Int, _ text: String) -> Void,
    failed: @escaping @Sendable (any Error) -> Void
  ) {
    self.request = request
    self.isCheck = isCheck
    self.refused = refused
    self.failed = failed
  }

  func channelActive(context: ChannelHandlerContext) {
    let url = request.url
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: url.hostHeader)
    headers.add(name: "Authorization", value: "Bearer \(request.token)")
    headers.add(name: "User-Agent", value: "recbot")
    let target = isCheck ? url.validateTarget(request.query) : url.target(request.query)
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): status = Int(head.status.code)
    // The reason may stand behind the whole token.
    case .body(let buffer): body += buffer.readableBytesView.prefix(max(0, PeerText.longest - body.count))
    case .end: complete(context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    complete(context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if !isDone {
      isDone = true
      failed(error)
    }
    context.close(promise: nil)
  }

  private func complete(_ context: ChannelHandlerContext) {
    guard !isDone else { return }
    isDone = true
    if let status {
      refused(status, String(String(decoding: body, as: UTF8.self).drop(while: \.isWhitespace)))
    } else {
      failed(RoomError(.notARoomServer, "\(request.url) closed the connection without an answer"))
    }
    if isCheck { context.close(promise: nil) }
  }
}
