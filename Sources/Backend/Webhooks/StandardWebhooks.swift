import Digests
import Foundation
import MediaCore

/// The signatures of Standard Webhooks (https://www.standardwebhooks.com, version 1): HMAC-SHA256 over the message's id,
/// the time and the body.
struct StandardWebhooks: Sendable {
  @Redacted private var key: [UInt8]

  /// Reads a signing secret: `whsec_` and base64 of 24 to 64 bytes. Nil for anything else.
  init?(secret: String) {
    let prefix = "whsec_"
    guard secret.hasPrefix(prefix), let bytes = Data(base64Encoded: String(secret.dropFirst(prefix.count))),
      (24...64).contains(bytes.count)
    else { return nil }
    _key = Redacted([UInt8](bytes))
  }

  /// The headers of a message. `time` is the time of the attempt, in seconds since 1970: receivers refuse old ones.
  func headers(id: String, time: Int64, body: [UInt8]) -> [(name: String, value: String)] {
    [
      ("webhook-id", id), ("webhook-timestamp", "\(time)"),
      ("webhook-signature", "v1," + Data(code(id: id, time: time, body: body)).base64EncodedString()),
    ]
  }

  private func code(id: String, time: Int64, body: [UInt8]) -> [UInt8] {
    HMAC.sha256(Array("\(id).\(time).".utf8) + body, key: key)
  }
}
