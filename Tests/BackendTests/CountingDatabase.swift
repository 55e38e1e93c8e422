import Jobs
import JobsAPI
import MediaCore
import Synchronization

/// How many statements of some kind were carried out. Any thread.
final class StatementCount: Sendable {
  private let text: String
  private let count = Mutex(0)

  /// Counts those that have this in them.
  init(of text: String) { self.text = text }

  var value: Int { count.withLock { $0 } }

  func take(_ sql: String) { if sql.contains(text) { count.withLock { $0 += 1 } } }
}

/// A database whose statements are counted.
struct CountingDatabase: SQLDatabase {
  private let database: any SQLDatabase
  private let count: StatementCount

  init(_ database: any SQLDatabase, _ count: StatementCount) { (self.database, self.count) = (database, count) }

  var dialect: SQLDialect { database.dialect }

  func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> Value
  ) async throws -> Value {
    try await database.transaction { try body(CountingConnection($0, count)) }
  }

  func listen(_ channel: String, _ hear: @escaping @Sendable (String) -> Void) { database.listen(channel, hear) }

  func close() { database.close() }
}

private final class CountingConnection: SQLConnection {
  private let connection: any SQLConnection
  private let count: StatementCount

  init(_ connection: any SQLConnection, _ count: StatementCount) { (self.connection, self.count) = (connection, count) }

  var dialect: SQLDialect { connection.dialect }

  func query(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> [SQLRow] {
    count.take(sql)
    return try connection.query(sql, parameters)
  }

  func now() throws(SQLError) -> Timestamp { try connection.now() }
}
