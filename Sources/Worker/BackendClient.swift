import Foundation
import JobsAPI
import Logging
import MediaCore
import NIOCore
import NIOHTTP1
import Platform
import WebClient

/// The backend's HTTP API, from outside: what workers and the command line ask it. May be used on any thread.
///
/// Every request has a time limit; nothing is tried twice here. Requests that change something and may be repeated take
/// an idempotency key or are harmless to repeat (claims excepted: their leases end by themselves).
public final class BackendClient: Sendable {
  /// Larger answers are refused.
  static let maximumBytes = 64 << 20
  private static let limits = JSONLimits(bytes: maximumBytes, values: 4_000_000)

  /// The backend's address, without a path's last slash.
  public let url: String
  /// Certificates to trust instead of the system's.
  let tlsCA: String?
  private let credential: Redacted<String>
  private let http: WebConnections
  private let timeLimit: Duration

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - url: `http://…` or `https://…`, as the backend is reached from here.
  ///   - credential: the bearer token: the worker secret, an API key, or a JWT.
  ///   - tlsCA: certificates (PEM) to trust instead of the system's.
  ///   - timeLimit: for one request, besides what the backend is allowed to wait.
  public init(
    url: String, credential: String, tlsCA: String? = nil, timeLimit: Duration = .seconds(10)
  ) throws(WorkerError) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme, ["http", "https"].contains(scheme),
      let host = parts.host, !host.isEmpty, parts.query == nil, parts.fragment == nil, parts.user == nil
    else { throw WorkerError("'\(url.prefix(200))' is no backend's address: write http(s)://host[:port]") }
    guard !credential.isEmpty, credential.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw WorkerError("the credential for the backend is empty, or has characters that no credential has")
    }
    self.tlsCA = tlsCA
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.credential = Redacted(credential)
    self.timeLimit = timeLimit
    http = WebConnections(.init(authorities: tlsCA, connectTimeout: Self.connectTimeout, keepsOpen: .seconds(20)))
  }

  /// A backend that comes back is found at once.
  static let connectTimeout = Duration.seconds(5)

  /// A request to the backend.
  func request(
    _ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders, body: ByteBuffer? = nil
  ) throws(BackendError) -> WebRequest {
    guard let request = WebRequest(method, url: url + path, headers: headers, body: body) else {
      throw .strange("'\(url)' is no address")
    }
    return request
  }

  /// Closes the connections that wait.
  public func shutdown() async { http.close() }

  // MARK: Workers

  /// Asks for jobs.
  public func claim(_ request: ClaimRequest) async throws(BackendError) -> ClaimAnswer {
    try await send(.POST, "/v1/workers/claim", body: request, wait: request.wait)
  }

  /// Renews the lease of a job, and tells how it stands. The answer may be held up to `wait` seconds, until a command
  /// waits.
  public func heartbeat(
    job: String, _ request: HeartbeatRequest, wait: Int64 = 0
  ) async throws(BackendError) -> HeartbeatAnswer {
    let path = "/v1/workers/jobs/\(PercentCoding.encode(job))/beat"
    return try await send(.POST, wait > 0 ? "\(path)?wait=\(wait)" : path, body: request, wait: wait)
  }

  /// Gives a job back, for another worker to go on with.
  public func release(job: String, _ request: HeartbeatRequest) async throws(BackendError) -> HeartbeatAnswer {
    try await send(.POST, "/v1/workers/jobs/\(PercentCoding.encode(job))/release", body: request)
  }

  /// Says that a job is done; may be repeated.
  public func complete(job: String, _ request: CompleteRequest) async throws(BackendError) -> Job {
    try await send(.POST, "/v1/workers/jobs/\(PercentCoding.encode(job))/complete", body: request)
  }

  /// Says that a job could not be done.
  public func fail(job: String, _ request: FailRequest) async throws(BackendError) -> Job {
    try await send(.POST, "/v1/workers/jobs/\(PercentCoding.encode(job))/fail", body: request)
  }

  /// Says that a file has left the backup folder for where it belongs; may be repeated.
  public func moved(job: String, _ request: MovedRequest) async throws(BackendError) -> Job {
    try await send(.POST, "/v1/workers/jobs/\(PercentCoding.encode(job))/moved", body: request)
  }

  /// A job as the backend knows it, also when it is somebody else's by now.
  public func workerJob(_ job: String) async throws(BackendError) -> Job {
    try await get("/v1/workers/jobs/\(PercentCoding.encode(job))")
  }

  // MARK: Callers

  /// Queues a job. The same key with the same request gives the same job.
  public func submit(_ request: JobRequest, key: String? = nil) async throws(BackendError) -> Job {
    try await send(.POST, "/v1/jobs", body: request, key: key)
  }

  /// A page of jobs, the newest first.
  public func jobs(
    room: String? = nil, isActive: Bool = false, after: String? = nil, limit: Int = 50
  ) async throws(BackendError) -> JobPage {
    try await get(
      "/v1/jobs", ["room": room, "active": isActive ? "true" : nil, "after": after, "limit": "\(limit)"])
  }

  /// A job with what is known of it besides.
  public func detail(of id: String) async throws(BackendError) -> JobDetail {
    try await get("/v1/jobs/\(PercentCoding.encode(id))")
  }

  /// Has the backend send a message to a receiver of webhooks.
  public func test(_ test: WebhookTest) async throws(BackendError) -> WebhookTestAnswer {
    try await send(.POST, "/v1/webhooks/test", body: test, wait: 20)
  }

  /// Makes a schedule fire, or not.
  public func enable(_ isEnabled: Bool, schedule id: String) async throws(BackendError) -> Schedule {
    try await send(
      .POST, "/v1/schedules/\(PercentCoding.encode(id))/\(isEnabled ? "enable" : "disable")", body: [String: String]())
  }

  /// A job.
  public func job(_ id: String) async throws(BackendError) -> Job {
    try await get("/v1/jobs/\(PercentCoding.encode(id))")
  }

  /// Tells a recording something, and waits a few seconds for its answer. Throws what the recording refuses.
  public func command(
    _ verb: JobCommand.Verb, argument: String? = nil, job: String, key: String? = nil
  ) async throws(BackendError) -> Job {
    try await send(
      .POST, "/v1/jobs/\(PercentCoding.encode(job))/commands", body: CommandRequest(verb: verb, argument: argument),
      key: key,
      wait: 5)
  }

  /// What happened, of one job or of all: events after a number. Waits up to `wait` seconds for the first.
  public func events(
    of job: String? = nil, after: Int64 = 0, limit: Int = 100, wait: Int64 = 0
  ) async throws(BackendError) -> EventPage {
    let path = job.map { "/v1/jobs/\(PercentCoding.encode($0))/events" } ?? "/v1/events"
    return try await get(path, ["after": "\(after)", "limit": "\(limit)", "wait": "\(wait)"], wait: wait)
  }

  /// Adds a schedule.
  public func add(_ schedule: Schedule, key: String? = nil) async throws(BackendError) -> Schedule {
    try await send(.POST, "/v1/schedules", body: schedule, key: key)
  }

  /// A page of schedules, the newest first.
  public func schedules(after: String? = nil, limit: Int = 50) async throws(BackendError) -> SchedulePage {
    try await get("/v1/schedules", ["after": after, "limit": "\(limit)"])
  }

  /// A schedule.
  public func schedule(_ id: String) async throws(BackendError) -> Schedule {
    try await get("/v1/schedules/\(PercentCoding.encode(id))")
  }

  /// Removes a schedule.
  public func removeSchedule(_ id: String) async throws(BackendError) {
    try await delete("/v1/schedules/\(PercentCoding.encode(id))")
  }

  /// When a schedule fires next.
  public func fireTimes(of id: String, count: Int = 10) async throws(BackendError) -> [Timestamp] {
    let answer: FireTimes = try await get("/v1/schedules/\(PercentCoding.encode(id))/next", ["count": "\(count)"])
    return answer.times
  }

  /// A page of finished files, the newest first.
  public func recordings(
    room: String? = nil, after: String? = nil, limit: Int = 50
  ) async throws(BackendError) -> RecordingPage {
    try await get("/v1/recordings", ["room": room, "after": after, "limit": "\(limit)"])
  }

  // MARK: Requests

  /// Asks for something and reads the JSON that is answered. `wait`: how long the backend may hold the request, in
  /// seconds.
  public func get<Answer: Decodable>(
    _ path: String, _ query: [String: String?] = [:], wait: Int64 = 0
  ) async throws(BackendError) -> Answer {
    let items = query.sorted { $0.key < $1.key }.compactMap { name, value in
      value.map { "\(name)=\(PercentCoding.encode($0))" }
    }
    return try decode(await ask(.GET, items.isEmpty ? path : "\(path)?\(items.joined(separator: "&"))", wait: wait))
  }

  /// Sends JSON and reads the JSON that is answered. `key`: the idempotency key.
  public func send<Answer: Decodable>(
    _ method: HTTPMethod, _ path: String, body: some Encodable, key: String? = nil, wait: Int64 = 0
  ) async throws(BackendError) -> Answer {
    let bytes: Data
    do {
      bytes = try JSONEncoder().encode(body)
    } catch {
      throw .strange("the request cannot be written as JSON")
    }
    return try decode(await ask(method, path, body: bytes, key: key, wait: wait))
  }

  /// The header with the credential.
  var authorization: String { "Bearer \(credential.wrappedValue)" }

  /// Removes something.
  func delete(_ path: String) async throws(BackendError) { _ = try await ask(.DELETE, path) }

  /// Asks for something, of which only the status counts.
  public func check(_ path: String) async throws(BackendError) { _ = try await ask(.GET, path) }

  private func decode<Answer: Decodable>(_ bytes: ByteBuffer) throws(BackendError) -> Answer {
    do {
      return try BoundedJSON.decode(Answer.self, from: Array(bytes.readableBytesView), limits: Self.limits)
    } catch {
      throw .strange("its answer cannot be read")
    }
  }

  private func ask(
    _ method: HTTPMethod, _ path: String, body: Data? = nil, key: String? = nil, wait: Int64 = 0
  ) async throws(BackendError) -> ByteBuffer {
    var headers: HTTPHeaders = ["authorization": authorization, "accept": "application/json", "user-agent": "recbot"]
    if let key { headers.add(name: "idempotency-key", value: key) }
    if body != nil { headers.add(name: "content-type", value: "application/json") }
    let request = try request(method, path, headers, body: body.map { ByteBuffer(bytes: $0) })
    let (status, bytes): (HTTPResponseStatus, ByteBuffer)
    do {
      let limit = timeLimit + .seconds(max(0, min(wait, 300)))
      (status, bytes) = try await TimeLimit.run(limit) { [http, request] in
        let response = try await http.answer(to: request)
        return (response.status, try await response.body.collect(upTo: Self.maximumBytes))
      }
    } catch {
      throw Self.failure(error)
    }
    if (200..<300).contains(status.code) { return bytes }
    throw Self.refusal(Int(status.code), status.reasonPhrase, bytes)
  }

  /// Why there is no whole answer.
  static func failure(_ error: any Error) -> BackendError {
    switch error {
    case let error as BackendError: return error
    case WebFault.tls(let fault): return .away("\(fault): \(fault.advice)")
    case let error as WebFault: return .away(error.description)
    case is NIOTooManyBytesError: return .strange("its answer is too large")
    case is CancellationError: return .away("the request was given up")
    case is TimeLimit.Exceeded: return .away("its answer takes too long")
    default: return .away(PeerText.line("\(error)", limit: 200))
    }
  }

  /// What an answer says that is none of success.
  static func refusal(_ status: Int, _ phrase: String, _ bytes: ByteBuffer) -> BackendError {
    let problem = try? BoundedJSON.decode(APIProblem.self, from: Array(bytes.readableBytesView), limits: Self.limits)
    // What answers need not be a backend.
    var body = problem?.error ?? APIProblem.Body(code: "http\(status)", message: phrase)
    (body.code, body.message) = (PeerText.line(body.code, limit: 64), PeerText.line(body.message, limit: 2000))
    return .refused(status: status, body)
  }
}
