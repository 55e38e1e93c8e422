import Synchronization

/// The databases that a queue may be in. What holds of one holds of the other: the same tests run on both.
package enum DatabaseKind: String, CaseIterable, Sendable {
  /// A file.
  case sqlite
  /// A server that several backends share.
  case postgres

  private static let counter = Atomic<Int>(0)

  /// An empty database in the server that all tests share: its address. Nil when there is no PostgreSQL here; the reason
  /// is printed.
  package static func sharedPostgresDatabase() throws -> String? {
    switch PostgresServer.shared {
    case .failure(let missing):
      print("skipped on PostgreSQL: \(missing.reason)")
      return nil
    case .success(let server):
      return try server.makeDatabase("shared\(counter.wrappingAdd(1, ordering: .relaxed).newValue)")
    }
  }
}
