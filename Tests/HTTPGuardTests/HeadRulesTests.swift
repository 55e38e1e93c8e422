import NIOHTTP1
import Testing

@testable import HTTPGuard

/// One meaning of a request's head for everybody who reads it (RFC 9112).
@Suite struct HeadRulesTests {
  private static func status(_ version: HTTPVersion, _ headers: [(String, String)]) -> Int? {
    HeadRules.fault(
      of: HTTPRequestHead(version: version, method: .POST, uri: "/", headers: HTTPHeaders(headers)))?.status
  }

  @Test func aRequestHasExactlyOneHost() {
    #expect(Self.status(.http1_1, [("Host", "a")]) == nil)
    #expect(Self.status(.http1_1, []) == 400)
    #expect(Self.status(.http1_1, [("Host", "a"), ("host", "a")]) == 400)
    #expect(Self.status(.http1_1, [("HOST", "")]) == nil)
    // Which HTTP/1.0 needn't have, but not twice either.
    #expect(Self.status(.http1_0, []) == nil)
    #expect(Self.status(.http1_0, [("Host", "a"), ("Host", "b")]) == 400)
  }

  @Test(arguments: [
    ("example.com", true), ("example.com:7880", true), ("127.0.0.1:1", true), ("[::1]", true), ("[::1]:80", true),
    ("a_b-c~d", true), ("xn--bcher-kva.example:", true), ("a b", false), ("a/b", false), ("user@host", false),
    ("a:80:80", false), ("a:http", false), ("[::1", false), ("[]", false), ("::1", false), ("a\u{7f}", false),
    ("bücher.example", false), ("a?b", false), ("a#b", false), ("a\\b", false), ("[::1]x", false),
  ]) func hostIsAHostAndAPort(text: String, isGood: Bool) { #expect(HeadRules.isHost(text) == isGood) }

  @Test func aBodyHasOneLength() {
    let host = ("Host", "a")
    #expect(Self.status(.http1_1, [host, ("Content-Length", "5")]) == nil)
    #expect(Self.status(.http1_1, [host, ("Transfer-Encoding", "chunked")]) == nil)
    #expect(Self.status(.http1_1, [host, ("Transfer-Encoding", "Chunked")]) == nil)
    #expect(Self.status(.http1_1, [host, ("Content-Length", "5"), ("Transfer-Encoding", "chunked")]) == 400)
    #expect(Self.status(.http1_1, [host, ("Content-Length", "5"), ("Content-Length", "5")]) == 400)
    #expect(Self.status(.http1_0, [("Transfer-Encoding", "chunked")]) == 400)
    #expect(Self.status(.http1_1, [host, ("Transfer-Encoding", "gzip, chunked")]) == 501)
    #expect(Self.status(.http1_1, [host, ("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]) == 501)
  }

  @Test func onlyTheFirstMajorVersionIsSpoken() {
    #expect(Self.status(HTTPVersion(major: 2, minor: 0), [("Host", "a")]) == 505)
    #expect(Self.status(HTTPVersion(major: 0, minor: 9), []) == 505)
  }
}
