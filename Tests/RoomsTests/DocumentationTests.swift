import Foundation
import Testing

@testable import Rooms

@Suite struct DocumentationTests {
  /// `RECBOT_UPDATE_GOLDENS=1 swift test …` writes the table into the page.
  @Test func thePageOfExitCodesHoldsTheTable() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/recbot/Documentation.docc/ExitCodes.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    if ProcessInfo.processInfo.environment["RECBOT_UPDATE_GOLDENS"] != nil,
      let start = text.range(of: "| code | name | phase"), let end = text.range(of: "\n\n## Other codes")
    {
      let updated = text[..<start.lowerBound] + RoomError.documentation + text[end.lowerBound...]
      try updated.write(to: page, atomically: true, encoding: .utf8)
      return
    }
    #expect(text.contains(RoomError.documentation + "\n\n"), "ExitCodes.md does not hold the table of RoomError")
  }

  @Test func exitCodesAreDistinctAndInTheirRange() {
    let codes = RoomError.Kind.allCases.map { RoomError($0).exitCode }
    #expect(Set(codes).count == codes.count)
    #expect(codes.allSatisfy { (10...39).contains($0) })
  }
}
