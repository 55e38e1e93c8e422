import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that answers each connection's first bytes with the next of some texts, and closes, unless it
/// is to keep connections alive.
package final class CannedServer: Sendable {
  /// Where it listens.
  package let port: Int
  private let channel: any Channel
  private let requests: RequestLog

  /// What was asked, in order.
  package var heard: [String] { requests.texts.withLock { $0 } }

  /// How many connections it has taken.
  package var connections: Int { requests.ends.withLock { $0.count } }
  /// How many answers the network has taken whole.
  package var sent: Int { requests.sent.load(ordering: .relaxed) }

  private final class RequestLog: Sendable {
    let texts = Mutex<[String]>([])
    let sent = Atomic(0)
    let ends = Mutex<[EventLoopFuture<Void>]>([])
  }

  /// Waits until every connection so far has been closed; false when one is still open after 5 s.
  package func allClosed() async -> Bool {
    for end in requests.ends.withLock({ $0 }) {
      let isClosed = end.eventLoop.makePromise(of: Bool.self)
      end.whenComplete { _ in isClosed.succeed(true) }
      let limit = end.eventLoop.scheduleTask(in: .seconds(5)) { isClosed.succeed(false) }
      defer { limit.cancel() }
      guard (try? await isClosed.futureResult.get()) == true else { return false }
    }
    return true
  }

  /// `answers` are used one per connection; the last one again and again. Nil answers nothing at all.
  ///
  /// - Parameters:
  ///   - tls: it speaks TLS.
  ///   - keepsAlive: a connection stays open after its answer.
  ///   - answersAgain: what is asked again on one has the same answer; false: it is closed without a word, as a server does that
  ///     has just given a connection up.
  ///   - announcesEnd: TLS says that nothing more comes (`close_notify`).
  package init(
    _ answers: [String?], tls: TestTLSContext? = nil, keepsAlive: Bool = false, answersAgain: Bool = false,
    announcesEnd: Bool = true
  ) async throws {
    let log = RequestLog()
    requests = log
    let counter = Counter()
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(TestTLSHandler(tls, announcesEnd: announcesEnd)) }
          let index = counter.next()
          log.ends.withLock { $0.append(channel.closeFuture) }
          try channel.pipeline.syncOperations.addHandler(
            Responder(
              answer: answers[min(index, answers.count - 1)], log: log, keepsAlive: keepsAlive,
              answersAgain: answersAgain))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
  }

  /// Listens no longer.
  package func stop() async { try? await channel.close().get() }

  private final class Counter: Sendable {
    private let value = Mutex(0)
    func next() -> Int {
      value.withLock { value in
        defer { value += 1 }
        return value
      }
    }
  }

  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let answer: String?
    private let log: RequestLog
    private let keepsAlive: Bool
    private let answersAgain: Bool
    private var isAnswered = false
    private var bytes: [UInt8] = []

    init(answer: String?, log: RequestLog, keepsAlive: Bool, answersAgain: Bool) {
      self.answer = answer
      self.log = log
      self.keepsAlive = keepsAlive
      self.answersAgain = answersAgain
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes += unwrapInboundIn(data).readableBytesView
      guard let text = wholeRequest() else { return }
      bytes = []
      guard !isAnswered || answersAgain else { return context.close(promise: nil) }
      isAnswered = true
      log.texts.withLock { $0.append(text) }
      guard let answer else { return }
      let channel = context.channel
      let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)))
      written.whenSuccess { [log] in log.sent.add(1, ordering: .relaxed) }
      if !keepsAlive { written.whenComplete { _ in channel.close(promise: nil) } }
    }

    /// What has come, once head and body are here: they may come apart. What is no request (the beginning of TLS) is whole at
    /// once.
    private func wholeRequest() -> String? {
      guard bytes.first.map({ (65...90).contains($0) }) ?? false else { return String(decoding: bytes, as: UTF8.self) }
      guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
      let head = String(decoding: bytes[..<end.upperBound], as: UTF8.self).lowercased()
      let length = head.firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
      return bytes.count - end.upperBound >= length ? String(decoding: bytes, as: UTF8.self) : nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
