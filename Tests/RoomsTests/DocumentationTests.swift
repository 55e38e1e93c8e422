import Foundation
import Testing

@testable import Rooms

/// The pages that are made from code hold what the code says. `RECBOT_UPDATE_GOLDENS=1 swift test …` writes them.
@Suite struct DocumentationTests {
  static let pages = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/recbot/Documentation.docc")

  /// Checks, or brings up to date, the part of a page between two texts.
  func check(_ name: String, from start: String, to end: String, holds expected: String) throws {
    let page = Self.pages.appending(path: name)
    let text = try String(contentsOf: page, encoding: .utf8)
    let first = try #require(text.range(of: start), "\(name) has no '\(start)'")
    let last = try #require(text.range(of: end), "\(name) has no '\(end)'")
    if ProcessInfo.processInfo.environment["RECBOT_UPDATE_GOLDENS"] != nil {
      let updated = text[..<first.lowerBound] + expected + text[last.lowerBound...]
      try updated.write(to: page, atomically: true, encoding: .utf8)
      return
    }
    #expect(text[first.lowerBound..<last.lowerBound] == expected, "\(name) is not what the code says")
  }

  @Test func thePageOfExitCodesHoldsTheTable() throws {
    try check(
      "ExitCodes.md", from: "| code | name | phase", to: "\n\nWhat the server said", holds: RoomError.documentation)
  }

  @Test func thePageOnReconnectionHoldsTheMachine() throws {
    try check(
      "Reconnection.md", from: "### States", to: "\n\n## See also", holds: ReconnectPolicy.documentation)
  }

  @Test func exitCodesAreDistinctAndInTheirRange() {
    let codes = RoomError.Kind.allCases.compactMap { RoomError($0).exitCode }
    #expect(Set(codes).count == codes.count)
    #expect(codes.allSatisfy { (10...39).contains($0) })
  }
}
