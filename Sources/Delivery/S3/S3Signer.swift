import Digests
import MediaCore

/// Signs requests for S3 (AWS Signature Version 4). Pure: the same request gives the same signature.
struct S3Signer {
  /// What is signed.
  struct Request {
    var method: String
    /// Percent-encoded path, from the slash.
    var path: String
    /// Names and values as they are, not encoded.
    var query: [(name: String, value: String)] = []
    /// Names in lower case. `host`, `x-amz-date` and `x-amz-content-sha256` must be among them.
    var headers: [(name: String, value: String)]
    /// SHA-256 of the body in hexadecimal.
    var payloadHash: String
  }

  var credentials: S3Credentials
  var region: String
  var service = "s3"

  /// SHA-256 of nothing, in hexadecimal.
  static let emptyHash = Hexadecimal.text(Digest.sha256([]))

  /// The value of the header `Authorization`. `time` is that of `x-amz-date`.
  func authorization(_ request: Request, time: String) -> String {
    let (canonical, signed) = Self.canonical(request)
    return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope(time)), SignedHeaders=\(signed), "
      + "Signature=\(signature(of: canonical, time: time))"
  }

  /// The query with which a request needs no other credential for `seconds` from `time` on (query form). Only its header
  /// `host` is signed, and no body.
  func query(_ request: Request, time: String, seconds: Int64) -> String {
    var request = request
    request.payloadHash = "UNSIGNED-PAYLOAD"
    request.query += [
      ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(credentials.accessKeyID)/\(scope(time))"),
      ("X-Amz-Date", time), ("X-Amz-Expires", "\(seconds)"),
      ("X-Amz-SignedHeaders", request.headers.map(\.name).sorted().joined(separator: ";")),
    ]
    if let token = credentials.sessionToken { request.query.append(("X-Amz-Security-Token", token)) }
    let signature = signature(of: Self.canonical(request).text, time: time)
    return "\(Self.queryText(request.query))&X-Amz-Signature=\(signature)"
  }

  private func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

  private func signature(of canonical: String, time: String) -> String {
    let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope(time))\n\(Hexadecimal.text(Digest.sha256(Array(canonical.utf8))))"
    var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
    for part in [String(time.prefix(8)), region, service, "aws4_request"] {
      key = HMAC.sha256(Array(part.utf8), key: key)
    }
    return Hexadecimal.text(HMAC.sha256(Array(text.utf8), key: key))
  }

  /// The canonical request, and the list of its headers.
  static func canonical(_ request: Request) -> (text: String, signedHeaders: String) {
    let headers = request.headers.sorted { $0.name < $1.name }
    let signed = headers.map(\.name).joined(separator: ";")
    let lines = headers.map { "\($0.name):\(collapsed($0.value))\n" }.joined()
    let text =
      "\(request.method)\n\(request.path)\n\(queryText(request.query))\n\(lines)\n\(signed)\n"
      + request.payloadHash
    return (text, signed)
  }

  /// A query in canonical form, which is also how it is sent.
  static func queryText(_ query: [(name: String, value: String)]) -> String {
    query.map { (PercentCoding.encode($0.name), PercentCoding.encode($0.value)) }.sorted { $0 < $1 }.map {
      "\($0.0)=\($0.1)"
    }
    .joined(separator: "&")
  }

  /// Without spaces at the ends, and with one for several.
  private static func collapsed(_ value: String) -> String {
    value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
  }
}
