import MediaCore
import Digests
import Signaling

/// Makes tokens that the library itself would never make.
enum TokenForge {
  static func token(header: String, payload: String, secret: String) -> String {
    let encode = { (text: String) in
      String(decoding: Base64URL.encode(Array(text.utf8), padding: false), as: UTF8.self)
    }
    let input = encode(header) + "." + encode(payload)
    let code = HMAC.sha256(Array(input.utf8), key: Array(secret.utf8))
    return input + "." + String(decoding: Base64URL.encode(code, padding: false), as: UTF8.self)
  }
}
