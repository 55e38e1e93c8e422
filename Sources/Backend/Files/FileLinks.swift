import Digests
import JobsAPI

/// Links to files that need no credential, and end. Pure but for the secret. All backends of one room service make and
/// take the same ones; nothing of them is kept.
struct FileLinks: Sendable {
  /// How long a link may be good, in seconds.
  static let lifetimes: ClosedRange<Int64> = 1...(7 * 86_400)
  /// How long it is good unless said.
  static let usualLifetime: Int64 = 3600
  private static let purpose = "recording link"

  private let key: [UInt8]

  /// The links of a room service: with a new API secret all of them end.
  init(secret: String) { key = SignedRequest.key(from: secret, purpose: Self.purpose) }

  /// The query of a link to a file of a job, or to what is beside it.
  func query(job: String, number: Int, beside: JobSideFile.Kind? = nil, until: Int64) -> String {
    let signature = request(job, number, beside, until).signature(key: key)
    let side = beside.map { "&beside=\($0.rawValue)" } ?? ""
    return "number=\(number)\(side)&until=\(until)&signature=\(signature)"
  }

  /// What a signature is worth.
  enum Verdict: Hashable {
    case good
    /// It was good until then.
    case ended
    case forged
  }

  /// Judges a link.
  func verdict(
    job: String, number: Int, beside: JobSideFile.Kind? = nil, until: Int64, signature: String, now: Int64
  ) -> Verdict {
    // Nobody but a backend makes one, and none that is good for longer.
    guard request(job, number, beside, until).isSigned(signature, key: key),
      until <= now &+ Self.lifetimes.upperBound
    else { return .forged }
    return now < until ? .good : .ended
  }

  private func request(
    _ job: String, _ number: Int, _ beside: JobSideFile.Kind?, _ until: Int64
  ) -> SignedRequest {
    SignedRequest(
      purpose: Self.purpose, fields: [job, "\(number)"] + (beside.map { [$0.rawValue] } ?? []), until: until)
  }
}
