import Foundation
import Testing

/// The page of symptoms keeps to the table of exit codes.
@Suite struct TroubleshootingTests {
  @Test func everyCodeThatItNamesIsInTheTable() throws {
    func page(_ name: String) throws -> String {
      try String(contentsOf: LinkTests.root.appending(path: "\(LinkTests.pages)/\(name).md"), encoding: .utf8)
    }
    let table = Set(try page("ExitCodes").matches(of: #/(?m)^\| (\d+) \|/#).map { String($0.output.1) })
    let rows = try page("Troubleshooting").split(separator: "\n").filter { $0.hasPrefix("| exit code ") }
    var named: Set<String> = []
    for row in rows {
      // Codes stand before the first comma that a word follows.
      for match in row.split(separator: "|")[0].matches(of: #/\b(\d+)\b/#) { named.insert(String(match.output.1)) }
    }
    #expect(rows.count > 8 && named.count > 15)
    #expect(named.subtracting(table).isEmpty, "no exit codes: \(named.subtracting(table).sorted())")
    // What one meets when joining for the first time has a row.
    for code in ["10", "11", "12", "13", "14", "20", "21", "23", "24", "28", "29", "31", "43", "45", "46", "48", "64"] {
      #expect(named.contains(code), "\(code) has no row")
    }
  }
}
