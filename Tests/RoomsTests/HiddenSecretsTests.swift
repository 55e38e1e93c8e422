import MediaCore
import RoomServer
import Signaling
import Testing
import Transport

@testable import Rooms

/// Types that hold a secret show none, whatever makes text of them.
@Suite struct HiddenSecretsTests {
  private static let secret = "planted-value-0123456789"

  private func expectHidden(_ value: Any) {
    var dumped = ""
    dump(value, to: &dumped)
    for text in ["\(value)", String(reflecting: value), dumped] {
      #expect(!text.contains(Self.secret), "\(type(of: value)): \(text.prefix(300))")
    }
  }

  @Test func tokensAndServersHideTheirSecrets() {
    let sources: [TokenSource] = [
      .given(Self.secret), .renewed(RenewedToken(Self.secret)),
      .minted(apiKey: "k", apiSecret: Self.secret, room: "r", identity: "i", name: "n"),
    ]
    for source in sources {
      var options = RoomOptions(url: "ws://host", tokens: source)
      options.iceServers = [ICEServer(urls: ["turn:host"], username: "u", credential: Self.secret)]
      expectHidden(source)
      expectHidden(options)
    }
    var server = EmbeddedRoomServer.Configuration(apiKeys: ["devkey": Self.secret])
    server.iceServers = [ICEServer(urls: ["turn:host"], username: "u", credential: Self.secret)]
    expectHidden(server)
    #expect(server.apiKeys["devkey"] == Self.secret && server.iceServers[0].credential == Self.secret)
  }

  @Test func aSessionHidesItsTokens() {
    var script = Script(tokens: .given(Self.secret))
    script.joined([Script.person("ann")])
    _ = script.receive { $0.refreshToken = Self.secret }
    #expect(script.session.signal.refreshedToken == Self.secret)
    expectHidden(script.session)
  }
}
