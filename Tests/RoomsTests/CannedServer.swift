import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on loopback that answers each connection's first bytes with the next of some texts, and closes, unless it
/// is to keep connections alive.
final class CannedServer: Sendable {
  let port: Int
  private let channel: any Channel
  private let requests: RequestLog

  /// What was asked, in order.
  var heard: [String] { requests.texts.withLock { $0 } }

  private final class RequestLog: Sendable {
    let texts = Mutex<[String]>([])
    let ends = Mutex<[EventLoopFuture<Void>]>([])
  }

  /// Waits until every connection so far has been closed; false when one is still open after 5 s.
  func allClosed() async -> Bool {
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
  init(_ answers: [String?], tls: NIOSSLContext? = nil, keepsAlive: Bool = false) async throws {
    let log = RequestLog()
    requests = log
    let counter = Counter()
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
          let index = counter.next()
          log.ends.withLock { $0.append(channel.closeFuture) }
          try channel.pipeline.syncOperations.addHandler(
            Responder(answer: answers[min(index, answers.count - 1)], log: log, keepsAlive: keepsAlive))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
  }

  func stop() async { try? await channel.close().get() }

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
    private var isAnswered = false
    private var bytes: [UInt8] = []

    init(answer: String?, log: RequestLog, keepsAlive: Bool) {
      self.answer = answer
      self.log = log
      self.keepsAlive = keepsAlive
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes += unwrapInboundIn(data).readableBytesView
      guard let text = wholeRequest() else { return }
      bytes = []
      // Asked again, it closes without a word, as a server does that has just given up a connection.
      guard !isAnswered else { return context.close(promise: nil) }
      isAnswered = true
      log.texts.withLock { $0.append(text) }
      guard let answer else { return }
      let channel = context.channel
      let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)))
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

/// A certificate for `localhost` that nobody has signed but itself, made for one test.
struct TestCertificate {
  let directory: String
  var certificate: String { directory + "/cert.pem" }

  /// Good from `from` until `until` (`YYYYMMDDHHMMSSZ`); without, from now on. Nil when there is no `openssl` command.
  init?(from: String? = nil, until: String? = nil) {
    var template = Array("/tmp/recbot-tls-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return nil }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let command =
      "cd \(directory) && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem "
      + "-out cert.pem -days 2 -subj /CN=test -addext subjectAltName=DNS:localhost 2>/dev/null"
    guard system(command) == 0 else { return nil }
    guard let from, let until else { return }
    // `openssl req` can only count from now on.
    let again =
      "cd \(directory) && touch index && echo 01 > serial && printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nserial=serial"
      + "\\nnew_certs_dir=.\\npolicy=p\\ndefault_md=sha256\\n[p]\\ncommonName=supplied\\n[x]\\nsubjectAltName=DNS:localhost\\n"
      + "basicConstraints=CA:TRUE\\n' > ca.cnf && openssl req -new -key key.pem -subj /CN=test -out test.csr 2>/dev/null "
      + "&& openssl ca -batch -config ca.cnf -selfsign -keyfile key.pem -in test.csr -startdate \(from) -enddate \(until) "
      + "-extensions x -notext -out cert.pem 2>/dev/null"
    guard system(again) == 0 else { return nil }
  }

  func serverContext() throws -> NIOSSLContext {
    try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: directory + "/key.pem", format: .pem))))
  }

  func remove() { _ = system("rm -r \(directory)") }
}
