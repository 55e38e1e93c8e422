import Delivery
import Glibc
import HTTPGuard
import JobsAPI
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// What a worker shows of itself over HTTP: `/healthz` (the process lives), `/readyz` (it takes jobs, and the backend
/// answers), and `/metrics` (Prometheus' text); and to the backend alone its finished files. One request a connection, and
/// few connections for a short time: nobody takes the recordings' descriptors.
public final class WorkerPage: Sendable {
  private let channel: any Channel
  /// How long a connection may live, whatever is said on it.
  private static let lifetime = TimeAmount.seconds(10)

  /// Listens at `host:port`. Throws `WorkerError` when that is not possible.
  ///
  /// - Parameter secret: the workers' secret, with which the backend's requests for files are signed.
  public init(at address: String, _ worker: JobWorker, secret: String) async throws(WorkerError) {
    guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]),
      (0...65_535).contains(port), colon > address.startIndex
    else { throw WorkerError("'\(address.prefix(80))' is no address to listen at: write host:port") }
    let host = address[..<colon].filter { $0 != "[" && $0 != "]" }
    var limits = AdmissionLimits()
    // A fair share is then several connections while hundreds of addresses hold some: who comes again before his last
    // one is seen to have gone gets in.
    (limits.perAddress, limits.waiting) = (16, 512)
    let door = ConnectionDoor(limits, logger: Logger(label: "worker"))
    let files = WorkerFiles(worker.keptFiles, secret: secret)
    do {
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          guard door.arrive(channel) else { return channel.eventLoop.makeFailedFuture(ConnectionRefused()) }
          let end = channel.eventLoop.scheduleTask(in: Self.lifetime) { channel.close(promise: nil) }
          channel.closeFuture.whenComplete { _ in end.cancel() }
          return channel.eventLoop.makeCompletedFuture {
            var decoding = NIOHTTPDecoderLimitConfiguration()
            (decoding.maxHeaderFieldSize, decoding.maxHeaderListSize) = (8192, 16_384)
            decoding.maxHeaderFieldCount = 64
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(
              withErrorHandling: true, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: decoding)
            try channel.pipeline.syncOperations.addHandler(
              PageHandler(worker: worker, files: files, door: door, lifetime: end))
          }
        }
        .bind(host: host, port: port).get()
    } catch let error as IOError {
      throw WorkerError("cannot listen on \(address): \(String(cString: strerror(error.errnoCode)))")
    } catch is SocketAddressError.UnknownHost {
      throw WorkerError("cannot listen on \(address): the name is not known")
    } catch {
      throw WorkerError("cannot listen on \(address): \(error)")
    }
  }

  /// The port it listens on.
  public var port: Int? { channel.localAddress?.port }

  /// Stops listening.
  public func close() async { try? await channel.close().get() }
}

/// Answers one request. Confined to its channel's loop.
private final class PageHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let worker: JobWorker
  private let files: WorkerFiles
  private let door: ConnectionDoor
  /// Ends the connection when its time is over.
  private let lifetime: Scheduled<Void>
  private var head: HTTPRequestHead?
  private var hasAnswered = false

  init(worker: JobWorker, files: WorkerFiles, door: ConnectionDoor, lifetime: Scheduled<Void>) {
    self.worker = worker
    self.files = files
    self.door = door
    self.lifetime = lifetime
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end:
      guard let head, !hasAnswered else { return }
      hasAnswered = true
      if HeadRules.fault(of: head) == nil, head.uri.hasPrefix(FileRequest.path + "?"),
        head.method == .GET || head.method == .DELETE
      {
        Self.startFile(head, on: context.channel, files, door, lifetime)
      } else {
        Self.start(head, on: context.channel, worker)
      }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private static func start(_ request: HTTPRequestHead, on channel: any Channel, _ worker: JobWorker) {
    Task { await answer(request, on: channel, worker) }
  }

  private static func startFile(
    _ request: HTTPRequestHead, on channel: any Channel, _ files: WorkerFiles, _ door: ConnectionDoor,
    _ lifetime: Scheduled<Void>
  ) {
    Task {
      switch await files.answer(request.method, request.uri[...], now: Timestamp.now.seconds) {
      case .refused(let status, let text): await write(status, text + "\n", request, on: channel)
      case .removed: await write(.ok, "removed\n", request, on: channel)
      case .bytes(let file, let range):
        guard door.enter(channel), files.begin() else {
          return await write(.serviceUnavailable, "too many files are sent\n", request, on: channel)
        }
        defer { files.end() }
        lifetime.cancel()
        var head = HTTPResponseHead(version: request.version, status: .ok)
        head.headers = ["content-type": "video/webm", "content-length": "\(range.count)", "connection": "close"]
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        do {
          try await WorkerFiles.send(file, range, on: channel)
          try await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
        } catch {}
        try? await channel.close().get()
      }
    }
  }

  private static func answer(_ request: HTTPRequestHead, on channel: any Channel, _ worker: JobWorker) async {
    let path = request.uri.prefix { $0 != "?" }
    var status = HTTPResponseStatus.ok
    var text = "ok\n"
    let fault = HeadRules.fault(of: request)
    switch (request.method, path) {
    case _ where fault != nil:
      (status, text) = (HTTPResponseStatus(statusCode: fault?.status ?? 400), (fault?.text ?? "") + "\n")
    case (.GET, "/healthz"), (.HEAD, "/healthz"): break
    case (.GET, "/readyz"), (.HEAD, "/readyz"):
      let standing = await worker.status
      if standing.worker.isDraining { (status, text) = (.serviceUnavailable, "draining\n") }
      let age = standing.lastContact.map { ContinuousClock.now - $0 }
      if age.map({ $0 > .seconds(30) }) ?? true { (status, text) = (.serviceUnavailable, "the backend is away\n") }
    case (.GET, "/metrics"): text = metrics(await worker.status)
    case (.GET, _), (.HEAD, _): (status, text) = (.notFound, "not found\n")
    default: (status, text) = (.methodNotAllowed, "only GET\n")
    }
    await write(status, text, request, on: channel)
  }

  private static func write(
    _ status: HTTPResponseStatus, _ text: String, _ request: HTTPRequestHead, on channel: any Channel
  ) async {
    var head = HTTPResponseHead(version: request.version, status: status)
    head.headers = ["content-type": "text/plain; version=0.0.4; charset=utf-8", "content-length": "\(text.utf8.count)"]
    head.headers.add(name: "connection", value: "close")
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    if request.method != .HEAD {
      channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
    }
    try? await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
    try? await channel.close().get()
  }

  private static func metrics(_ status: JobWorker.Status) -> String {
    func gauge(_ name: String, _ help: String, _ value: String, kind: String = "gauge") -> String {
      "# HELP recbot_worker_\(name) \(help)\n# TYPE recbot_worker_\(name) \(kind)\nrecbot_worker_\(name) \(value)\n"
    }
    return gauge("recordings", "Recordings that run.", "\(status.worker.running)")
      + gauge("recordings_capacity", "Recordings that can run at once.", "\(status.worker.capacity)")
      + gauge("cores", "Processor time of the recordings, in cores.", "\(status.worker.cores)")
      + gauge("cores_limit", "Processor time that they may use.", "\(status.limits.cores)")
      + gauge("memory_bytes", "Memory of the recordings.", "\(status.worker.memory)")
      + gauge("memory_limit_bytes", "Memory that they may use.", "\(status.limits.memory)")
      + gauge("draining", "1 when nothing more is taken.", status.worker.isDraining ? "1" : "0")
      + gauge("jobs_taken_total", "Jobs that were taken.", "\(status.taken)", kind: "counter")
      + gauge("recorded_bytes_total", "Bytes that were recorded.", "\(status.counts.bytes)", kind: "counter")
      + gauge(
        "dropped_frames_total", "Pictures left out because the machine was too slow.",
        "\(status.counts.droppedFrames)", kind: "counter")
      + gauge(
        "delivery_failures_total", "Attempts to deliver a file that failed.", "\(status.counts.failedDeliveries)",
        kind: "counter")
      + family("jobs_ended_total", "Jobs that left this worker, by how.", "counter")
      + WorkerCounts.End.allCases.map {
        "recbot_worker_jobs_ended_total{end=\"\($0.rawValue)\"} \(status.counts.ends[$0] ?? 0)\n"
      }.joined()
      + "# HELP recbot_build_info 1; the label says which version this is.\n# TYPE recbot_build_info gauge\n"
      + "recbot_build_info{version=\"\(Build.version)\"} 1\n"
  }

  private static func family(_ name: String, _ help: String, _ kind: String) -> String {
    "# HELP recbot_worker_\(name) \(help)\n# TYPE recbot_worker_\(name) \(kind)\n"
  }
}
