import Dispatch
import Foundation
import Logging
import MediaCore
import NIOCore
import NIOHTTP1
import Platform
import Synchronization
import WebClient

/// Requests to one bucket: signed, and repeated with growing pauses when the store or the way to it fails.
///
/// Large: it has a function for each request of the protocol, and their signatures.
final class S3Client: Sendable {
  /// One request.
  struct Request: Sendable {
    var method: HTTPMethod
    /// The object's key; nil: the bucket itself.
    var key: String?
    var query: [(name: String, value: String)] = []
    /// Names in lower case.
    var headers: [(name: String, value: String)] = []
    var body = ByteBuffer()
    /// SHA-256 of the body in hexadecimal.
    var payloadHash = S3Signer.emptyHash
  }

  /// A definite answer: of a status that another attempt would not change.
  struct Answer: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
    var isSuccess: Bool { (200..<300).contains(status) }
    /// The store's name of the error, such as `NoSuchUpload`; empty when there is none.
    var code: String { XMLText(body).value("Code") ?? "" }
  }

  let target: S3Target
  let options: DeliveryOptions
  /// How many requests were repeated.
  var retries: Int { retryCount.load(ordering: .relaxed) }

  private let exchange: WebExchange
  private let host: String
  private let basePath: String
  private let logger: Logger
  private let retryCount = Atomic<Int>(0)
  /// The store's clock less ours, in seconds.
  private let clockOffset = Atomic<Int64>(0)
  private static let longestAnswer = 16 << 20

  init(_ target: S3Target, options: DeliveryOptions, logger: Logger) throws(DeliveryError) {
    self.target = target
    self.options = options
    self.logger = logger
    try Self.check(target)
    let endpoint = target.endpoint ?? "https://s3.\(target.region).amazonaws.com"
    // What stands before an @ may be a password.
    let shown = endpoint.split(separator: "@").last ?? ""
    let named: WebExchange
    do throws(WebExchangeError) {
      named = try WebExchange(endpoint, privateAddresses: target.privateAddresses, silence: options.silence)
      let inPath =
        target.addressing == .path
        || target.addressing == .automatic && (target.endpoint != nil || target.bucket.contains("."))
      if inPath {
        exchange = named
        basePath = "/" + PercentCoding.encode(target.bucket)
      } else {
        exchange = try WebExchange(
          "\(named.scheme)://\(target.bucket).\(named.authority)", privateAddresses: target.privateAddresses,
          silence: options.silence)
        basePath = ""
      }
    } catch {
      throw DeliveryError(error.isRefusal ? .refusedAddress : .configuration, "store \(shown): \(error)")
    }
    guard named.target == "/" else {
      throw DeliveryError(
        .configuration, "store \(shown): an endpoint has no path; the bucket is a setting of its own")
    }
    host = exchange.authority
  }

  /// Sends a request until there is a definite answer. Throws when there is none in time, when the store denies it, or
  /// when the task is cancelled.
  func send(_ request: Request) async throws(DeliveryError) -> Answer {
    var failures = 0
    var hasSetClock = false
    while true {
      if Task.isCancelled { throw Self.cancelled }
      let verdict = try await ask(request)
      switch verdict {
      case .definite(let answer): return answer
      case .clockIsWrong(let offset) where !hasSetClock:
        hasSetClock = true
        clockOffset.store(offset, ordering: .relaxed)
        logger.warning("the store's clock is another than ours", metadata: ["seconds": "\(offset)"])
      case .clockIsWrong:
        throw DeliveryError(.denied, "\(place(request)): the store says that the time is wrong; check both clocks")
      case .passing(let reason, let wish):
        failures += 1
        guard failures < options.attempts else {
          throw DeliveryError(
            .unreachable, "\(place(request)): \(reason), \(failures) times; check the store and the network")
        }
        retryCount.add(1, ordering: .relaxed)
        let pause = pause(after: failures, wish: wish)
        logger.debug("a request is repeated", metadata: ["reason": "\(reason)", "pause": "\(pause) ms"])
        do { try await Task.sleep(for: .milliseconds(pause)) } catch { throw Self.cancelled }
      }
    }
  }

  /// An address with which anybody can make one request without a body for so many seconds. The store is not asked.
  func address(
    _ method: HTTPMethod, _ key: String, query: [(name: String, value: String)] = [], seconds: Int64
  ) async throws(DeliveryError) -> String {
    let credentials = try await BlockingWork.run { () throws(DeliveryError) in try self.target.credentials.load() }
    let now = WallClock.seconds &+ clockOffset.load(ordering: .relaxed)
    let path = basePath + "/" + PercentCoding.encode(key, keepsSlashes: true)
    let signed = S3Signer(credentials: credentials, region: target.region).query(
      S3Signer.Request(
        method: method.rawValue, path: path, query: query, headers: [("host", host)], payloadHash: ""),
      time: CivilTime.texts(microseconds: now &* 1_000_000).time, seconds: seconds)
    return "\(exchange.scheme)://\(host)\(path)?\(signed)"
  }

  /// `s3://bucket/key`.
  func location(of key: String) -> String { "s3://\(target.bucket)/\(key)" }

  /// What an unexpected answer to a request means.
  func failure(_ answer: Answer, _ what: String) -> DeliveryError {
    let xml = XMLText(answer.body)
    var says = "HTTP \(answer.status)"
    if let code = xml.value("Code") { says += " \(code)" }
    if let message = xml.value("Message") { says += ": \(message)" }
    says = PeerText.line(says)
    switch (answer.status, answer.code) {
    case (404, "NoSuchBucket"):
      return DeliveryError(.noBucket, "\(what): there is no bucket \(target.bucket); create it, or correct its name")
    case (301, _), (307, _), (400, "AuthorizationHeaderMalformed"):
      let region = answer.headers.first(name: "x-amz-bucket-region") ?? xml.value("Region")
      let hint = region.map { "set the region to \(PeerText.line($0, limit: 64))" } ?? "check endpoint and region"
      return DeliveryError(.noBucket, "\(what): the bucket is elsewhere (\(says)); \(hint)")
    case (401, _), (403, _):
      return DeliveryError(.denied, "\(what): the store denies it (\(says)); check the credentials and their rights")
    default: return DeliveryError(.refused, "\(what): the store refuses it (\(says))")
    }
  }

  static let cancelled = DeliveryError(.cancelled, "the upload was cancelled")

  // MARK: - One attempt

  private enum Verdict {
    case definite(Answer)
    /// Another attempt can help; the store's own wish how long to wait, in milliseconds.
    case passing(String, wish: Int64?)
    case clockIsWrong(offset: Int64)
  }

  private func ask(_ request: Request) async throws(DeliveryError) -> Verdict {
    let credentials = try await BlockingWork.run { () throws(DeliveryError) in try self.target.credentials.load() }
    let now = WallClock.seconds &+ clockOffset.load(ordering: .relaxed)
    let outgoing = signed(request, credentials, now: now)
    let body = request.method == .PUT || request.method == .POST ? request.body : nil
    let answer: Answer
    do throws(WebExchangeError) {
      answer = try await exchange.perform(
        request.method, outgoing.target, headers: outgoing.headers, body: body
      ) { response in
        var body: [UInt8] = []
        for try await part in response.body {
          body.append(contentsOf: part.readableBytesView)
          if body.count > Self.longestAnswer { break }
        }
        return Answer(status: Int(response.status.code), headers: response.headers, body: body)
      }
    } catch {
      if Task.isCancelled { throw Self.cancelled }
      if error.isRefusal { throw DeliveryError(.refusedAddress, "store \(host): \(error)") }
      return .passing(error.description, wish: nil)
    }
    return judge(answer, now: now)
  }

  private func judge(_ answer: Answer, now: Int64) -> Verdict {
    // A 200 can hold an error: completing takes long, and the head is sent before its end is known.
    let code = answer.body.isEmpty || answer.status == 206 ? "" : answer.code
    let wish = answer.headers.first(name: "retry-after").flatMap { S3Time.pause(retryAfter: $0, now: now) }
    switch (answer.status, code) {
    case (403, "RequestTimeTooSkewed"):
      let date = answer.headers.first(name: "date").flatMap(S3Time.seconds(httpDate:))
      guard let date else { return .definite(answer) }
      return .clockIsWrong(offset: date &- (now &- clockOffset.load(ordering: .relaxed)))
    case (200..<300, "InternalError"), (200..<300, "SlowDown"), (200..<300, "ServiceUnavailable"),
      (200..<300, "RequestTimeout"),
      (400, "RequestTimeout"), (400, "IncompleteBody"), (400, "BadDigest"), (400, "XAmzContentSHA256Mismatch"),
      (400, "XAmzContentChecksumMismatch"), (409, "OperationAborted"), (409, "ConditionalRequestConflict"),
      (408, _), (429, _), (500, _), (502, _), (503, _), (504, _):
      return .passing("the store answers \(answer.status)\(code.isEmpty ? "" : " \(code)")", wish: wish)
    default: return .definite(answer)
    }
  }

  /// Path and query of a request, and its headers with the signature, without `Host`.
  private func signed(
    _ request: Request, _ credentials: S3Credentials, now: Int64
  ) -> (target: String, headers: HTTPHeaders) {
    let path = basePath + "/" + (request.key.map { PercentCoding.encode($0, keepsSlashes: true) } ?? "")
    let time = CivilTime.texts(microseconds: now &* 1_000_000).time
    var headers = request.headers
    headers.append(("host", host))
    headers.append(("x-amz-date", time))
    headers.append(("x-amz-content-sha256", request.payloadHash))
    if let token = credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
    let signer = S3Signer(credentials: credentials, region: target.region)
    let authorization = signer.authorization(
      S3Signer.Request(
        method: request.method.rawValue, path: path, query: request.query, headers: headers,
        payloadHash: request.payloadHash), time: time)
    let query = S3Signer.queryText(request.query)
    var outgoing: HTTPHeaders = ["authorization": authorization, "user-agent": "recbot"]
    for header in headers where header.name != "host" { outgoing.add(name: header.name, value: header.value) }
    return (path + (query.isEmpty ? "" : "?" + query), outgoing)
  }

  private func pause(after failures: Int, wish: Int64?) -> Int64 {
    let doubled = options.firstPause << Int64(min(failures - 1, 20))
    let own = min(max(1, doubled), max(1, options.longestPause))
    return max(Int64.random(in: (own + 1) / 2...own), wish ?? 0)
  }

  private func place(_ request: Request) -> String {
    request.key.map { "\(location(of: $0))" } ?? "s3://\(target.bucket)"
  }

  private static func check(_ target: S3Target) throws(DeliveryError) {
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
    guard (3...63).contains(target.bucket.utf8.count), target.bucket.allSatisfy(letters.contains),
      target.bucket.first.map({ $0 != "-" && $0 != "." }) ?? false, !target.bucket.contains("..")
    else {
      throw DeliveryError(
        .configuration, "bucket '\(target.bucket.prefix(80))': 3 to 63 lower-case letters, digits, dots and hyphens")
    }
    guard (1...64).contains(target.region.utf8.count), target.region.allSatisfy(letters.contains) else {
      throw DeliveryError(
        .configuration, "region '\(target.region.prefix(80))': lower-case letters, digits and hyphens")
    }
    if !target.prefix.isEmpty { try KeyTemplate.checkForDelivery(target.prefix) }
  }
}
