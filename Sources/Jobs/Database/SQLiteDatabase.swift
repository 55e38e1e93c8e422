import GRDB
import Glibc
import JobsAPI

/// A queue in one file, for one machine: GRDB's serial connection, rollback journal, one writer.
///
/// Transactions that wait together are kept together: one commit (and one `fsync`) for all of them, each in a
/// savepoint of its own, so that one that fails does not touch the others. Nobody is answered before the commit.
public final class SQLiteDatabase: SQLDatabase {
  /// How many transactions one commit takes at most.
  static let groupSize = 256

  /// SQLite's spelling of what the two databases write differently.
  public let dialect = SQLDialect.sqlite
  private let queue = TransactionQueue(limit: 10_000)

  /// Opens the file, or makes it. A second process that opens the same file for writing waits at most 5 s and then
  /// fails with `unavailable`. Throws `SQLError`.
  public init(path: String, clock: DatabaseClock = .system) throws {
    var configuration = GRDB.Configuration()
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      // Debian's 3.40.1 may corrupt a file in WAL mode (the WAL-reset bug), so: rollback journal, full synchronization.
      try database.execute(sql: "PRAGMA journal_mode = TRUNCATE")
      try database.execute(sql: "PRAGMA synchronous = FULL")
      try database.execute(sql: "PRAGMA foreign_keys = ON")
    }
    // For this user only, whatever the folder is: SQLite itself takes what the umask allows, and gives a journal the
    // same rights as the file.
    let made = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if made >= 0 { Glibc.close(made) }
    let database: DatabaseQueue
    do {
      database = try DatabaseQueue(path: path, configuration: configuration)
    } catch {
      throw SQLiteConnection.error(error)
    }
    let queue = queue
    queue.serve(name: "sqlite") {
      while let group = queue.take(most: Self.groupSize) { Self.perform(group, on: database, clock: clock) }
      try? database.close()
    }
  }

  /// Runs `body` in a transaction, beside others of the same commit. Throws what `body` throws.
  public func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> Value
  ) async throws -> Value {
    try await queue.run(body)
  }

  /// One process has all the state: whoever changes something wakes the others itself.
  public func listen(_ channel: String, _ hear: @escaping @Sendable (String) -> Void) {}

  /// Lets what waits end, and takes nothing more.
  public func close() { queue.close() }

  /// Carries out a group on the database's thread and answers all of it.
  private static func perform(_ group: [TransactionQueue.Entry], on database: DatabaseQueue, clock: DatabaseClock) {
    var failures: [Int: any Error] = [:]
    do {
      try database.write { database in
        let connection = SQLiteConnection(database: database, clock: clock)
        for (index, entry) in group.enumerated() {
          do {
            try database.inSavepoint {
              try entry.run(connection)
              return .commit
            }
          } catch let error as SQLError {
            failures[index] = error
          } catch let error as DatabaseError {
            failures[index] = SQLiteConnection.error(error)
          } catch {
            failures[index] = error
          }
        }
      }
    } catch {
      // Nothing of the group was kept.
      let cause = SQLiteConnection.error(error)
      for index in group.indices { failures[index] = failures[index] ?? cause }
    }
    for (index, entry) in group.enumerated() { entry.finish(failures[index]) }
  }
}

/// The connection of `SQLiteDatabase`, for the time of one group.
private final class SQLiteConnection: SQLConnection {
  let dialect = SQLDialect.sqlite
  private let database: Database
  private let clock: DatabaseClock

  init(database: Database, clock: DatabaseClock) {
    self.database = database
    self.clock = clock
  }

  func query(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> [SQLRow] {
    do {
      let statement = try database.cachedStatement(sql: sql)
      statement.arguments = StatementArguments(parameters.map(Self.databaseValue))
      if statement.columnCount == 0 {
        try statement.execute()
        return []
      }
      return try Row.fetchAll(statement).map { row in SQLRow(values: row.databaseValues.map(Self.value)) }
    } catch {
      throw Self.error(error)
    }
  }

  func now() -> Timestamp {
    if case .given(let clock) = clock { return clock() }
    return .now
  }

  private static func databaseValue(_ value: SQLValue) -> DatabaseValue {
    switch value {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .text(let text): text.databaseValue
    }
  }

  private static func value(_ value: DatabaseValue) -> SQLValue {
    switch value.storage {
    case .null, .blob: .null
    case .int64(let number): .integer(number)
    case .double(let number): .text("\(number)")
    case .string(let text): .text(text)
    }
  }

  static func error(_ error: any Error) -> SQLError {
    if let error = error as? SQLError { return error }
    guard let error = error as? DatabaseError else { return .failed("\(error)") }
    let text = error.message ?? "\(error.resultCode)"
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN: return .unavailable(text)
    case .SQLITE_CONSTRAINT: return .conflict(text)
    default: return .failed(text)
    }
  }
}
