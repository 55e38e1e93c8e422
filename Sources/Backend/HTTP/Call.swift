import Foundation
import Hummingbird
import JobsAPI
import MediaCore
import NIOCore

/// One request on its way through a handler. Cooperative pool; a handler never blocks.
struct Call: Sendable {
  let request: Request
  let context: CallContext
  /// How many bytes the body may have.
  let bodyLimit: Int
  let core: BackendCore

  /// A part of the path that the route leaves open.
  func parameter(_ name: String) throws -> String {
    guard let value = context.parameters.get(name)?.removingPercentEncoding, value.utf8.count <= 256,
      !value.hasControlCharacters
    else {
      throw Refusal.notFound("path")
    }
    return value
  }

  /// A parameter of the query; nil when it is not there or empty.
  func query(_ name: String) throws -> String? {
    guard let value = request.uri.queryParameters[name[...]], !value.isEmpty else { return nil }
    guard value.utf8.count <= 256, !value.hasControlCharacters else {
      throw Refusal.invalid("\(name): at most 256 bytes, no control characters")
    }
    return String(value)
  }

  /// A whole number of the query.
  func number(_ name: String, in range: ClosedRange<Int64>, default fallback: Int64) throws -> Int64 {
    guard let text = try query(name) else { return fallback }
    guard let number = Int64(text), range.contains(number) else {
      throw Refusal.invalid("\(name): a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// How many entries a page has: `limit`, 50 unless said, at most 200.
  func pageSize() throws -> Int { Int(try number("limit", in: 1...200, default: 50)) }

  /// A yes or no of the query.
  func flag(_ name: String) throws -> Bool {
    switch try query(name) {
    case nil, "false", "0": false
    case "true", "1": true
    default: throw Refusal.invalid("\(name): true or false")
    }
  }

  /// How long the request may be held: `wait` in seconds, up to the limit.
  func wait() throws -> Duration {
    let longest = core.configuration.limits.wait.components.seconds
    return .seconds(min(longest, try number("wait", in: 0...3600, default: 0)))
  }

  /// A header by its name, whatever its case.
  func header(_ name: String) -> String? { request.headers.first { $0.name.canonicalName == name.lowercased() }?.value }

  /// The header `Idempotency-Key`, if there is one.
  func idempotencyKey() throws -> String? {
    guard let key = header("Idempotency-Key") else { return nil }
    guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw Refusal.invalid("Idempotency-Key: 1 to 255 printable ASCII characters")
    }
    return key
  }

  /// The media type of the body, without its parameters.
  var contentType: String? {
    request.headers[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
  }

  /// The whole body. 413 when it is too large.
  func body() async throws -> ByteBuffer {
    let tooLarge = Refusal(.contentTooLarge, "too_large", "the body may have at most \(bodyLimit) bytes")
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimit { throw tooLarge }
    do {
      return try await request.body.collect(upTo: bodyLimit)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    } catch {
      throw Refusal(.badRequest, "incomplete", "the body could not be read")
    }
  }

  /// The body as a value. 415 when it isn't JSON; 400 with the field's name when it isn't what is expected, or when there
  /// is no such field: what a caller wrote is done or refused, never passed over. Workers may be newer than the backend.
  func decode<Value: Decodable>(_ type: Value.Type, isFromWorker: Bool = false) async throws -> Value {
    guard contentType == "application/json" else {
      throw Refusal(.unsupportedMediaType, "unsupported_type", "Content-Type: application/json is expected")
    }
    let bytes = try await body()
    do {
      return try BoundedJSON.decode(
        type, from: Array(bytes.readableBytesView), limits: JSONLimits(bytes: bodyLimit),
        isStrict: !isFromWorker)
    } catch let error as DecodingError {
      throw Refusal.invalid(Self.text(error))
    }
  }

  /// Says that the request came with a good credential. Throws when no more of such can be served.
  func enter() throws {
    guard core.door.enter(context.channel) else {
      throw Refusal(.serviceUnavailable, "busy", "there are too many connections; try again")
    }
  }

  /// True as long as the sender is there to read the answer.
  var isConnected: Bool { core.connections.isOpen(context.channel) }

  private static func text(_ error: DecodingError) -> String {
    func path(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
      let keys = (context.codingPath + (key.map { [$0] } ?? [])).map { key in
        key.intValue.map { "[\($0)]" } ?? key.stringValue
      }
      return keys.isEmpty ? "body" : keys.joined(separator: ".").replacing(".[", with: "[")
    }
    switch error {
    case .keyNotFound(let key, let context): return "\(path(context, key)): is missing"
    case .valueNotFound(_, let context): return "\(path(context)): must not be null"
    case .typeMismatch(let type, let context): return "\(path(context)): \(name(of: type)) is expected"
    case .dataCorrupted(let context):
      if let error = context.underlyingError as? JSONError { return "body: is not JSON that is read: \(error)" }
      let text = String(context.debugDescription.prefix(200))
      return "\(path(context)): \(text.prefix(1).lowercased() + text.dropFirst())"
    @unknown default: return "body: cannot be read"
    }
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a text"
    case is Bool.Type: "true or false"
    case is any BinaryInteger.Type: "a whole number"
    case is any BinaryFloatingPoint.Type: "a number"
    case is [String: Any].Type: "an object"
    default: "\(type)".hasPrefix("Dictionary") ? "an object" : "\(type)".hasPrefix("Array") ? "a list" : "another type"
    }
  }
}
