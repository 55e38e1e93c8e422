import Digests
import MediaCore
import Signaling

/// A token as a server reads it: the three parts, the header, the claims, the signature. The first byte says whether the
/// rest is a token as it is, or what its parts are encoded from, with line feeds between, and whether it is then signed.
func fuzzTokens(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  var token = Array(bytes.dropFirst())
  if choice & 1 != 0 {
    let parts = token.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    token = Array(parts.map { Base64URL.encode(Array($0), padding: choice & 2 != 0) }.joined(separator: [0x2e]))
  }
  if choice & 4 != 0 {
    token = Array(token.split(separator: 0x2e, omittingEmptySubsequences: false).prefix(2).joined(separator: [0x2e]))
    token += [0x2e] + Base64URL.encode(HMAC.sha256(token, key: Array("secret".utf8)), padding: false)
  }
  let text = String(decoding: token, as: UTF8.self)
  let claims = try? AccessToken(reading: text)
  guard let read = try? CompactToken(text) else { return precondition(claims == nil, "claims of what is no token") }
  precondition(read.signed.count < token.count && read.claims.members?.count ?? 0 <= 1024)
  // One token has one spelling.
  let signature = Base64URL.encode(read.signature, padding: false)
  precondition(Array(read.signed) + [0x2e] + signature == token, "another spelling of the same token")
  let signed = try? AccessToken(signed: text) { $0 == "devkey" ? "secret" : nil }
  if let signed { precondition(signed.apiKey == "devkey" && claims != nil, "claims that nobody signed") }
  if let claims {
    _ = (claims.isValid(at: 0), claims.isValid(at: .max), claims.isValid(at: .min))
    precondition(claims.apiKey == (read.text(of: "iss") ?? ""), "another key than the one that is looked up")
  }
}
