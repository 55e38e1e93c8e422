import Compositor
import Testing

@testable import Recording

@Suite struct AvatarRulesTests {
  @Test func nothingIsTakenUnlessItIsAllowed() {
    for reference in ["ada.png", "https://example.org/ada.png"] {
      #expect(AvatarRules().source(of: reference) == nil)
      #expect(AvatarRules(origin: .off, folder: "/srv/avatars").source(of: reference) == nil)
    }
    #expect(AvatarRules(origin: .urls).source(of: "") == nil)
  }

  @Test func filesAreThoseBelowTheFolder() {
    let rules = AvatarRules(origin: .files, folder: "/srv/avatars")
    #expect(rules.source(of: "team/ada.png") == .fileBelow(folder: "/srv/avatars", path: "team/ada.png"))
    #expect(rules.source(of: "/etc/passwd") == .fileBelow(folder: "/srv/avatars", path: "/etc/passwd"))
    #expect(rules.source(of: "https://example.org/ada.png") == nil)
    #expect(AvatarRules(origin: .files).source(of: "ada.png") == nil)
  }

  @Test func addressesAreFetchedOnlyWhenAllowed() {
    let rules = AvatarRules(origin: .urls, folder: "/srv/avatars")
    #expect(rules.source(of: "https://example.org/a.png") == .url("https://example.org/a.png"))
    #expect(rules.source(of: "ada.png") == .fileBelow(folder: "/srv/avatars", path: "ada.png"))
    for reference in ["file:///etc/passwd", "ftp://example.org/a.png", "data:image/png;base64,AA", "javascript:x"] {
      #expect(rules.source(of: reference) == nil, "\(reference)")
    }
  }
}
