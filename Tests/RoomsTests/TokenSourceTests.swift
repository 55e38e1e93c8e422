import Signaling
import Testing

@testable import Rooms

@Suite struct TokenSourceTests {
  func token(expires: Int64) throws -> String {
    try AccessToken(apiKey: "k", identity: "bot", video: VideoGrant(room: "r"), now: 0, lifetime: expires).signed(
      secret: "s")
  }

  @Test func whatTheServerSentIsUsedUntilItIsTooOld() throws {
    let (long, short) = try (token(expires: 10_000), token(expires: 600))
    let source = TokenSource.given(long)
    #expect(try source.token(now: 100, refreshed: nil) == long)
    #expect(try source.token(now: 100, refreshed: short) == short)
    #expect(try source.token(now: 700, refreshed: short) == long)
    #expect(try TokenSource.given(short).token(now: 20_000, refreshed: long) == long)
    // What cannot be read is the server's business.
    #expect(try source.token(now: 700, refreshed: "opaque") == "opaque")
    #expect(!source.canRenew)
  }

  @Test func aRenewedTokenIsTakenForTheNextJoin() throws {
    let box = RenewedToken(try token(expires: 600))
    let source = TokenSource.renewed(box)
    let (refreshed, newer) = try (token(expires: 700), token(expires: 10_000))
    #expect(try source.token(now: 100, refreshed: refreshed) == refreshed)
    box.current = newer
    #expect(try source.token(now: 100, refreshed: nil) == newer)
    #expect(try source.token(now: 800, refreshed: refreshed) == newer)
    #expect(source.canRenew)
  }

  @Test func mintedTokensAreAlwaysFresh() throws {
    let source = TokenSource.minted(apiKey: "k", apiSecret: "s", room: "r", identity: "bot", name: "Recorder")
    let claims = try AccessToken(reading: source.token(now: 5000, refreshed: "old"))
    #expect(claims.notBefore == 5000 && claims.identity == "bot" && claims.video?.hidden == true)
    #expect(source.canRenew)
  }
}
