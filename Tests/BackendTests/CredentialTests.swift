import Foundation
import JobsAPI
import Signaling
import Testing

@testable import Backend

/// Who is let in: every defect of a credential, and what a good one doesn't allow, is the same 401.
@Suite struct CredentialTests {
  /// The one answer to all defects.
  static let text = #"{"error":{"code":"unauthorized","message":"the credential is not valid"}}"#

  /// What says no tells nothing but that.
  static func expectRefusal(_ answer: TestBackend.Answer, _ name: String) {
    #expect(answer.status == 401 && answer.text == text, "\(name): \(answer.status) \(answer.text)")
    #expect(answer.headers["www-authenticate"] == "Bearer", "\(name)")
  }

  /// Credentials that must not be let in, by what is wrong with them.
  static var defects: [(name: String, token: String)] {
    let secret = TestBackend.apiSecret
    let good = TestToken.claims()
    let now = TestToken.now
    let grants = #""recbot":{"grants":["jobs:read","admin"]}"#
    func claims(_ text: String) -> String { TestToken.make(claims: text, secret: secret) }
    func header(_ text: String, _ key: String?) -> String { TestToken.make(header: text, claims: good, secret: key) }
    let room = try? AccessToken(
      apiKey: "devkey", identity: "ann", video: VideoGrant(room: "a", roomJoin: true), now: now
    ).signed(secret: TestBackend.service.apiSecret)
    let foreign = try? AccessToken(
      apiKey: "devkey", identity: "ann", video: VideoGrant(room: "a", roomJoin: true), now: now
    ).signed(secret: secret)
    let valid = TestToken.caller()
    return [
      ("nothing", ""), ("a word", "secret"), ("two dots", ".."), ("dots", "....."),
      ("alg none", header(#"{"alg":"none","typ":"JWT"}"#, nil)), ("alg None", header(#"{"alg":"None"}"#, nil)),
      ("alg none, signed", header(#"{"alg":"none"}"#, secret)), ("no alg", header(#"{"typ":"JWT"}"#, secret)),
      ("alg HS384", header(#"{"alg":"HS384"}"#, secret)), ("alg RS256", header(#"{"alg":"RS256"}"#, secret)),
      ("alg as a list", header(#"{"alg":["HS256"]}"#, secret)),
      ("signature cut off", valid.split(separator: ".").prefix(2).joined(separator: ".") + "."),
      ("signature changed", String(valid.dropLast(4)) + (valid.hasSuffix("AAAA") ? "BBBB" : "AAAA")),
      ("wrong key", TestToken.make(claims: good, secret: secret + "x")),
      ("empty key", TestToken.make(claims: good, secret: "")),
      ("the room service's key", TestToken.make(claims: good, secret: TestBackend.service.apiSecret)),
      ("the workers' key", TestToken.make(claims: good, secret: TestBackend.workerSecret)),
      ("kid as a path, empty key", header(#"{"alg":"HS256","kid":"/dev/null"}"#, "")),
      ("kid as a path upward", header(#"{"alg":"HS256","kid":"../../../../dev/null"}"#, "\0")),
      ("kid as SQL", header(#"{"alg":"HS256","kid":"x' UNION SELECT 'key' --"}"#, "key")),
      ("a key of its own", header(#"{"alg":"HS256","jwk":{"kty":"oct","k":"a2V5"}}"#, "key")),
      ("a key's address", header(#"{"alg":"HS256","jku":"http://127.0.0.1:1/keys"}"#, "key")),
      ("a header's number that fits nothing", header(#"{"alg":"HS256","z":1e19}"#, "other")),
      ("a header that ends at the 513th bracket", header(String(repeating: "[", count: 513), secret)),
      ("claims that end at the 513th bracket", claims(String(repeating: "[", count: 513))),
      ("sub twice", claims("{\"sub\":\"ann\",\"sub\":\"bob\",\"exp\":\(now + 60),\(grants)}")),
      ("critical extension", header(#"{"alg":"HS256","crit":["b64"],"b64":false}"#, secret)),
      ("no exp", claims("{\"sub\":\"ann\",\(grants)}")),
      ("exp as text", claims("{\"sub\":\"ann\",\"exp\":\"\(now + 60)\",\(grants)}")),
      ("exp huge", claims("{\"sub\":\"ann\",\"exp\":1e400,\(grants)}")),
      ("expired", claims("{\"sub\":\"ann\",\"exp\":\(now - 3600),\(grants)}")),
      ("not yet valid", claims("{\"sub\":\"ann\",\"exp\":\(now + 7200),\"nbf\":\(now + 3600),\(grants)}")),
      ("no sub", claims("{\"exp\":\(now + 60),\(grants)}")),
      ("empty sub", claims("{\"sub\":\"\",\"exp\":\(now + 60),\(grants)}")),
      ("sub with a NUL", claims("{\"sub\":\"ann\\u0000x\",\"exp\":\(now + 60),\(grants)}")),
      ("no grants", claims("{\"sub\":\"ann\",\"exp\":\(now + 60)}")),
      ("an unknown grant", claims("{\"sub\":\"ann\",\"exp\":\(now + 60),\"recbot\":{\"grants\":[\"root\"]}}")),
      ("grants as text", claims("{\"sub\":\"ann\",\"exp\":\(now + 60),\"recbot\":{\"grants\":\"admin\"}}")),
      ("rooms as a list", claims("{\"sub\":\"ann\",\"exp\":\(now + 60),\"recbot\":{\"grants\":[],\"rooms\":[]}}")),
      ("a room token", room ?? "?"), ("a room token under the API's key", foreign ?? "?"),
      ("oversized", TestToken.caller(String(repeating: "a", count: 20_000))),
      ("claims that are no JSON", TestToken.make(claims: "sub=ann", secret: secret)),
      ("deep claims", claims(String(repeating: "[", count: 5000))),
      ("an API key that isn't there", "rbk_aaaaaaaa_" + String(repeating: "a", count: 52)),
      ("an API key without its end", "rbk_"), ("an oversized API key", "rbk_" + String(repeating: "a", count: 9000)),
    ]
  }

  @Test func everyDefectOfACredentialIsTheSame401() async throws {
    try await TestBackend.run { api in
      #expect(try await api.ask("GET", "/v1/jobs", TestToken.caller()).status == 200)
      for (name, token) in Self.defects {
        let answer = try await api.ask("GET", "/v1/jobs", token)
        Self.expectRefusal(answer, name)
        let claim = try await api.ask("POST", "/v1/workers/claim", token, json: "{}")
        #expect(claim.status == 401 && claim.text == Self.text, "\(name), as a worker")
      }
      for value in ["", "Basic YW5uOmFubg==", "Bearer", "bearer  ", TestToken.caller()] {
        let answer = try await api.ask("GET", "/v1/jobs", nil, headers: [("Authorization", value)])
        #expect(answer.status == 401 && answer.text == Self.text, "\(value.prefix(20))")
      }
      #expect(try await api.ask("GET", "/v1/jobs", nil).status == 401)
      // Callers are no workers, and workers are no callers.
      #expect(try await api.ask("GET", "/v1/jobs", TestBackend.workerSecret).status == 401)
      #expect(try await api.ask("POST", "/v1/workers/claim", TestToken.caller(), json: "{}").status == 401)
      // It was not for the path's sake.
      #expect(try await api.ask("GET", "/v1/jobs", TestToken.caller()).status == 200)
    }
  }

  @Test func withoutSecretsNothingIsOpen() async throws {
    try await TestBackend.run {
      $0.apiSecret = nil
      $0.workerSecret = nil
    } _: { api in
      for token in [TestToken.caller(), TestToken.make(claims: TestToken.claims(), secret: ""), "", "nil"] {
        let (read, claimed) = try await (
          api.ask("GET", "/v1/jobs", token), api.ask("POST", "/v1/workers/claim", token, json: "{}")
        )
        #expect(read.status == 401 && claimed.status == 401)
      }
    }
  }

  @Test func eachRouteWantsItsGrantAndNoOther() async throws {
    try await TestBackend.run { api in
      for route in api.backend.routes {
        let path = route.path.replacing("{id}", with: "none")
        guard case .caller(let needed) = route.access else { continue }
        for grant in Grant.allCases {
          let answer = try await api.ask(
            route.method, path, TestToken.caller(grants: [grant]), json: route.method == "POST" ? "{}" : nil)
          if grant == needed || grant == .admin {
            #expect(answer.status != 401, "\(grant) \(route.method) \(path): \(answer.status)")
          } else {
            Self.expectRefusal(answer, "\(grant) \(route.method) \(path)")
          }
        }
        for credential in [TestToken.caller(grants: []), nil] {
          Self.expectRefusal(try await api.ask(route.method, path, credential), "\(route.method) \(path)")
        }
      }
      let open = api.backend.routes.filter { $0.access == .open }.map(\.path)
      #expect(Set(open) == ["/healthz", "/readyz", "/metrics", "/openapi.yaml"])
    }
  }

  @Test func anAPIKeyIsKeptAsAHashAndEnds() async throws {
    try await TestBackend.run { api in
      let keys = api.backend.queue.keys
      let made = APIKeySecret.make(name: "app", grants: [.jobsRead, .jobsWrite], rooms: "team-*")
      try await keys.add(made.key, hash: made.hash)
      #expect(!made.hash.contains(made.text) && made.text.hasPrefix("rbk_\(made.key.id)_"))
      #expect(try await api.ask("GET", "/v1/jobs", made.text).status == 200)
      Self.expectRefusal(try await api.ask("GET", "/v1/events", made.text), "a key without the grant")
      #expect(try await api.submit("team-1", made.text).owner == "app")
      Self.expectRefusal(
        try await api.send("POST", "/v1/jobs", made.text, JobRequest(room: "other")), "a key for other rooms")
      #expect(try await api.ask("GET", "/v1/jobs", String(made.text.dropLast()) + "!").status == 401)

      let ended = APIKeySecret.make(name: "old", grants: [.admin], expiresAt: .now - .seconds(1))
      try await keys.add(ended.key, hash: ended.hash)
      #expect(try await api.ask("GET", "/v1/jobs", ended.text).status == 401)
      #expect(try await keys.list().map(\.name) == ["app", "old"])
      #expect(try await keys.remove(named: "app") == 1)
      // What was found a moment ago may be known for two seconds.
      let end = ContinuousClock.now + .seconds(10)
      var status = 200
      while status == 200, .now < end { status = try await api.ask("GET", "/v1/jobs", made.text).status }
      #expect(status == 401)
    }
  }

  @Test func roomTokensAllowWhatIsAskedAndNoMore() async throws {
    try await TestBackend.run {
      $0.publicRoomURL = "wss://rooms.example.com"
    } _: { api in
      let caller = TestToken.caller(rooms: "team-*")
      let typo = try await api.ask(
        "POST", "/v1/tokens", caller, json: #"{"room":"team-1","identity":"ann","can_pubish":false}"#)
      #expect(typo.status == 400)
      #expect(typo.problem?.message == "can_pubish: is no field of this; did you mean 'can_publish'?")
      let answer = try await api.ask(
        "POST", "/v1/tokens", caller,
        json: #"{"room":"team-1","identity":"ann","name":"Ann","ttl_seconds":60,"can_publish":false}"#)
      #expect(answer.status == 201, "\(answer.text)")
      let made = try answer.value(TokenAnswer.self)
      #expect(made.url == "wss://rooms.example.com")
      let token = try AccessToken(verifying: made.token, now: TestToken.now) { _ in TestBackend.service.apiSecret }
      #expect(token.identity == "ann" && token.name == "Ann" && token.apiKey == "devkey")
      #expect(token.video?.room == "team-1" && token.video?.roomJoin == true && token.video?.allowsPublish == false)
      #expect(token.video?.allowsData == false && token.video?.allowsSubscribe == true)
      #expect(token.video?.roomAdmin == nil && token.video?.recorder == nil && token.video?.hidden == nil)
      #expect(made.expiresAt.seconds - TestToken.now <= 60)

      Self.expectRefusal(
        try await api.ask("POST", "/v1/tokens", caller, json: #"{"room":"other","identity":"ann"}"#), "another room")
      for (json, field) in [
        (#"{"room":"team-1"}"#, "identity"), (#"{"identity":"ann"}"#, "room"),
        (#"{"room":"team-1","identity":"ann","ttl":0}"#, "ttl"),
        (#"{"room":"team-1","identity":"ann","ttl":99999999999}"#, "ttl"),
        (#"{"room":"team-1","identity":"ann","ttl":"1h"}"#, "ttl"),
        (#"{"room":"team-1","identity":""}"#, "identity"),
        (#"{"room":"team-1","identity":"recbot-job_1"}"#, "identity"),
      ] {
        let answer = try await api.ask("POST", "/v1/tokens", caller, json: json)
        #expect(answer.status == 400 && answer.problem?.message.hasPrefix(field) == true, "\(json): \(answer.text)")
      }
    }
  }
}
