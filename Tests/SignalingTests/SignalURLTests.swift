import Testing

@testable import Signaling

@Suite struct SignalURLTests {
  @Test(arguments: [
    ("ws://localhost:7880", "ws://localhost:7880"),
    ("http://localhost:7880/", "ws://localhost:7880"),
    ("https://Example.COM", "wss://example.com"),
    ("wss://example.com:443/a/b//", "wss://example.com/a/b"),
    ("ws://[::1]:7880/x?y#z", "ws://[::1]:7880/x"), ("WSS://10.0.0.1", "wss://10.0.0.1"),
    ("ws://host", "ws://host"), ("ws://host?token=x", "ws://host"),
  ])
  func addressesAreBroughtToOneForm(text: String, form: String) throws {
    #expect(try SignalURL(text).description == form)
  }

  @Test(arguments: [
    ("", SignalURL.Fault.scheme), ("localhost:7880", .scheme), ("ftp://host", .scheme),
    ("ws:host", .scheme),
    ("ws://", .host), ("ws://:80", .host), ("ws:///path", .host), ("ws://a b", .host),
    ("ws://[::1", .host),
    ("ws://[::1]x", .host), ("ws://[zz]", .host), ("ws://a:b:c", .host), ("ws://host:0", .port),
    ("ws://host:65536", .port), ("ws://host:-1", .port), ("ws://host:99999999999999999999", .port),
    ("ws://user:pw@host", .userInfo), ("ws://host/a b", .host), ("ws://host/\r\nX: y", .host),
  ])
  func otherTextsAreRefusedWithTheReason(text: String, fault: SignalURL.Fault) {
    #expect(throws: fault) { try SignalURL(text) }
  }

  @Test func targetsKeepThePrefix() throws {
    var query = SignalQuery()
    query.protocolVersion = 16
    #expect(
      try SignalURL("wss://h/p/").target(query)
        == "/p/rtc?protocol=16&auto_subscribe=1&adaptive_stream=0")
    #expect(
      try SignalURL("ws://h").validateTarget(query)
        == "/rtc/validate?protocol=16&auto_subscribe=1&adaptive_stream=0")
  }

  @Test func queriesComeBackAsTheyWere() {
    var query = SignalQuery()
    query.protocolVersion = 17
    query.autoSubscribe = false
    query.adaptiveStream = true
    query.reconnect = true
    query.participantSID = "PA_x y&z=ü"
    query.reconnectReason = .rrSubscriberFailed
    query.accessToken = "a.b-c_d"
    query.attributes = "e30="
    #expect(SignalQuery(parsing: query.text) == query)
  }

  @Test func oddQueriesAreTolerated() {
    let query = SignalQuery(
      parsing: "&&=&protocol=abc&auto_subscribe=yes&reconnect&sid=%4&x=%zz+%41&reconnect_reason=99")
    #expect(query.protocolVersion == 0)
    #expect(!query.autoSubscribe && !query.reconnect)
    #expect(query.participantSID == "%4")
    #expect(query.reconnectReason == .UNRECOGNIZED(99))
    #expect(SignalQuery(parsing: "") == SignalQuery())
  }
}
