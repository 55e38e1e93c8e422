import Delivery
import HTTPGuard
import HTTPService
import Hummingbird
import HummingbirdCore
import JobsAPI
import Logging
import NIOCore

/// What a worker shows of itself over HTTP: `/healthz` (the process lives), `/readyz` (it takes jobs, and the backend
/// answers), and `/metrics` (Prometheus' text); and to the backend alone its finished files. Few connections that have shown
/// no signed request: nobody takes the recordings' descriptors.
public final class WorkerPage: Sendable {
  /// The port it listens on.
  public let port: Int
  private let serving: Task<Void, any Error>

  /// Listens at `host:port`. Throws `WorkerError` when that is not possible.
  ///
  /// - Parameter secret: the workers' secret, with which the backend's requests for files are signed.
  public init(at address: String, _ worker: JobWorker, secret: String) async throws(WorkerError) {
    guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]),
      (0...65_535).contains(port), colon > address.startIndex
    else { throw WorkerError("'\(address.prefix(80))' is no address to listen at: write host:port") }
    let host = address[..<colon].filter { $0 != "[" && $0 != "]" }
    var admission = AdmissionLimits()
    // A fair share is then several connections while hundreds of addresses hold some: who comes again before his last
    // one is seen to have gone gets in.
    (admission.perAddress, admission.waiting) = (16, 512)
    var limits = RequestLimits()
    (limits.headers, limits.headerField, limits.idleTime) = (16_384, 8192, .seconds(10))
    var logger = Logger(label: "worker")
    // Hummingbird says more of itself than anybody wants to know of a page.
    logger.logLevel = max(logger.logLevel, .notice)
    let door = ConnectionDoor(admission, logger: logger)
    let bound = Promise<Int>()
    let application = Application(
      responder: PageResponder(worker: worker, files: WorkerFiles(worker.keptFiles, secret: secret), door: door),
      server: .guarded(by: door, limits: limits, connections: Connections()),
      configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
      onServerRunning: { channel in bound.complete(.success(channel.localAddress?.port ?? port)) },
      logger: logger)
    serving = Task {
      do {
        try await application.run()
      } catch {
        bound.complete(.failure(error))
        throw error
      }
    }
    do {
      self.port = try await bound.value
    } catch {
      throw WorkerError(ListenFault.text(of: error, at: host, port: port) ?? "cannot listen on \(address): \(error)")
    }
  }

  /// Stops listening, and ends what is being answered.
  public func close() async {
    serving.cancel()
    _ = await serving.result
  }
}

/// Hummingbird's context of a request, with its connection.
private struct PageContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}

/// Answers requests. Any thread.
private struct PageResponder: HTTPResponder {
  let worker: JobWorker
  let files: WorkerFiles
  let door: ConnectionDoor

  func respond(to request: Request, context: PageContext) async throws -> Response {
    let path = request.uri.path
    // Without a query there is no signature: it is a path like others that are not there.
    let isFile = path == FileRequest.path && request.uri.query != nil
    switch request.method {
    case .get where isFile, .delete where isFile: return await file(request, context.channel)
    case .get: return await page(path)
    case .head: return await page(path).createHeadResponse()
    default: return Self.text("only GET", .methodNotAllowed)
    }
  }

  private func page(_ path: String) async -> Response {
    switch path {
    case "/healthz": return Self.text("ok")
    case "/readyz":
      let standing = await worker.status
      if standing.worker.isDraining { return Self.text("draining", .serviceUnavailable) }
      let isHeard = standing.lastContact.map { .now - $0 <= .seconds(30) } ?? false
      return isHeard ? Self.text("ok") : Self.text("the backend is away", .serviceUnavailable)
    case "/metrics":
      return Self.text(worker.metrics.text(await worker.status), type: "text/plain; version=0.0.4; charset=utf-8")
    default: return Self.text("not found", .notFound)
    }
  }

  private func file(_ request: Request, _ channel: any Channel) async -> Response {
    switch await files.answer(request.method, request.uri.description[...], now: Timestamp.now.seconds) {
    case .refused(let status, let text): return Self.text(text, status)
    case .removed: return Self.text("removed")
    case .bytes(let file, let range):
      guard let place = files.place(), door.enter(channel) else {
        return Self.text("too many files are sent", .serviceUnavailable)
      }
      return Response(
        status: .ok, headers: [.contentType: "video/webm"],
        body: ResponseBody(contentLength: range.count) { [door] writer in
          defer { door.leave(channel) }
          try await place.send(file, range, to: &writer)
          try await writer.finish(nil)
        })
    }
  }

  private static func text(
    _ text: String, _ status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
  ) -> Response {
    let line = text.hasSuffix("\n") ? text : text + "\n"
    return Response(
      status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: line)))
  }
}
