import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A receiver of webhooks: a real server on loopback that keeps what it gets and answers as it is told.
final class Receiver: Sendable {
  /// What somebody sent.
  struct Post: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8]
    func header(_ name: String) -> String { head.headers[name].first ?? "" }
  }
  /// What it answers.
  struct Reply: Sendable {
    var status = HTTPResponseStatus.ok
    var headers: [(String, String)] = []
    var body: [UInt8] = []
    /// False: it never answers.
    var answers = true
  }

  let port: Int
  /// What came, one after the other.
  let posts: AsyncStream<Post>
  private let continuation: AsyncStream<Post>.Continuation
  private let state = Mutex<[Post]>([])
  private let channel: any Channel
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

  init(_ reply: @escaping @Sendable (Post) -> Reply = { _ in Reply() }) async throws {
    (posts, continuation) = AsyncStream.makeStream(of: Post.self)
    let box = Box()
    channel = try await ServerBootstrap(group: group)
      .childChannelInitializer { child in
        child.eventLoop.makeCompletedFuture {
          try child.pipeline.syncOperations.configureHTTPServerPipeline()
          try child.pipeline.syncOperations.addHandler(Handler(box: box, reply: reply))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
    box.receiver.withLock { $0 = self }
  }

  /// Where it is.
  func url(_ path: String = "/hook") -> String { "http://127.0.0.1:\(port)\(path)" }
  /// Everything that came so far.
  var all: [Post] { state.withLock { $0 } }

  /// The next post. Nil when the receiver was stopped.
  func next() async -> Post? {
    for await post in posts { return post }
    return nil
  }

  func stop() async {
    continuation.finish()
    try? await channel.close()
    try? await group.shutdownGracefully()
  }

  private func take(_ post: Post) {
    state.withLock { $0.append(post) }
    continuation.yield(post)
  }

  private final class Box: Sendable {
    let receiver = Mutex<Receiver?>(nil)
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let box: Box
    private let reply: @Sendable (Post) -> Reply
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(box: Box, reply: @escaping @Sendable (Post) -> Reply) {
      self.box = box
      self.reply = reply
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        self.head = head
        body = []
      case .body(let part): body += part.readableBytesView
      case .end:
        guard let head else { return }
        let post = Post(head: head, body: body)
        let reply = reply(post)
        box.receiver.withLock { $0 }?.take(post)
        guard reply.answers else { return }
        var headers = HTTPHeaders(reply.headers)
        headers.add(name: "content-length", value: "\(reply.body.count)")
        headers.add(name: "connection", value: "close")
        let answer = HTTPResponseHead(version: .http1_1, status: reply.status, headers: headers)
        context.write(wrapOutboundOut(.head(answer)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
        // The other end may have heard enough and be gone.
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
          context.close(promise: nil)
        }
      }
    }
  }
}
