import Digests
import Foundation
import Jobs
import JobsAPI
import MediaCore
import Synchronization

/// Says who a bearer credential (RFC 6750) belongs to. Any thread.
final class Authenticator: Sendable {
  private struct Known {
    var caller: Caller
    var until: Timestamp
  }

  private let keys: KeyStore
  private let apiSecret: Redacted<String?>
  private let workerSecret: Redacted<String?>
  private let metricsSecret: Redacted<String?>
  /// Keys that were found a moment ago, by hash: a busy caller must not cost a look-up each time. So long may it take
  /// until a key that was removed is refused.
  private let known = Mutex<[String: Known]>([:])
  private static let knownFor = Duration.seconds(2)

  init(keys: KeyStore, configuration: BackendConfiguration) {
    self.keys = keys
    apiSecret = Redacted(configuration.apiSecret)
    workerSecret = Redacted(configuration.workerSecret)
    metricsSecret = Redacted(configuration.metricsSecret)
  }

  /// The caller of a request. Throws `Refusal.unauthorized` for any defect.
  func caller(_ authorization: String?) async throws -> Caller {
    guard let credential = Self.bearer(authorization) else { throw Refusal.unauthorized }
    let now = Timestamp.now
    if credential.hasPrefix(APIKey.prefix) { return try await caller(key: credential, now: now) }
    guard let secret = apiSecret.wrappedValue,
      let caller = CallerToken.caller(credential, secret: secret, now: now)
    else { throw Refusal.unauthorized }
    return caller
  }

  /// Lets a worker in, or throws.
  func worker(_ authorization: String?) throws {
    guard let workerSecret = workerSecret.wrappedValue else { throw Refusal.unauthorized }
    try Self.check(authorization, workerSecret)
  }

  /// Lets Prometheus in, or throws; everybody where no secret is set.
  func metrics(_ authorization: String?) throws {
    if let metricsSecret = metricsSecret.wrappedValue { try Self.check(authorization, metricsSecret) }
  }

  private static func check(_ authorization: String?, _ secret: String) throws {
    guard let credential = Self.bearer(authorization) else { throw Refusal.unauthorized }
    // Codes of equal length are compared, in constant time: neither content nor length leaks.
    var generator = SystemRandomNumberGenerator()
    let key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let code = HMAC.sha256(Array(secret.utf8), key: key)
    guard HMAC.isSHA256(code, of: Array(credential.utf8), key: key) else {
      throw Refusal.unauthorized
    }
  }

  private func caller(key text: String, now: Timestamp) async throws -> Caller {
    guard text.utf8.count <= 256 else { throw Refusal.unauthorized }
    let hash = APIKeySecret.hash(text)
    if let found = known.withLock({ $0[hash] }), found.until > now { return found.caller }
    let key: APIKey
    do {
      key = try await keys.key(hash: hash)
    } catch StoreError.notFound {
      throw Refusal.unauthorized
    }
    guard key.expiresAt.map({ now < $0 }) ?? true else { throw Refusal.unauthorized }
    let caller = Caller(
      name: key.name, grants: Set(key.grants.compactMap(Grant.init(rawValue:))), rooms: key.rooms)
    let until = min(now + Self.knownFor, key.expiresAt ?? now + Self.knownFor)
    known.withLock { known in
      if known.count >= 1024 { known = known.filter { $0.value.until > now } }
      if known.count < 1024 { known[hash] = Known(caller: caller, until: until) }
    }
    return caller
  }

  private static func bearer(_ authorization: String?) -> String? {
    guard let authorization, authorization.utf8.count <= 16_384 else { return nil }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
