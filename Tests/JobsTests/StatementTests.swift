import DatabaseKit
import Testing

@testable import Jobs
@testable import JobsAPI

/// What is a parameter, and what only looks like one.
@Suite struct StatementTests {
  @Test(arguments: [
    ("SELECT ?1, ?12", "SELECT $1, $12"),
    ("SELECT '?1', ?1", "SELECT '?1', $1"),
    ("SELECT 'it''s ?1', ?1", "SELECT 'it''s ?1', $1"),
    ("SELECT ?1 AS \"a ?2 \"\" ?3\", ?2", "SELECT $1 AS \"a ?2 \"\" ?3\", $2"),
    ("SELECT ?1 -- not '?2\n, ?2", "SELECT $1 -- not '?2\n, $2"),
    ("SELECT /* ?1 /* ?2 */ ?3 */ ?4 /*/ ?5 */", "SELECT /* ?1 /* ?2 */ ?3 */ $4 /*/ ?5 */"),
    ("SELECT 6 / 3 - ?1 * 2", "SELECT 6 / 3 - $1 * 2"),
    ("SELECT body ? 'a', ?", "SELECT body ? 'a', ?"),
    ("SELECT 'ends ?1", "SELECT 'ends ?1"), ("/* ?1 *", "/* ?1 *"), ("é '?1' ?1", "é '?1' $1"), ("?1", "$1"), ("", ""),
  ])
  func onlyParametersAreNumbered(sql: String, expected: String) { #expect(PostgresStatement.numbered(sql) == expected) }

  /// The same statement means the same to both databases.
  @Test(arguments: DatabaseKind.allCases) func whatIsQuotedStays(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let row = try await queue.database.transaction { connection in
      try connection("SELECT 'why?1', \"a?1\" /* ?2 */ FROM (SELECT ?1 AS \"a?1\") AS t -- ?3", "because").first
    }
    #expect(row?.text(0) == "why?1")
    #expect(row?.text(1) == "because")
  }
}
