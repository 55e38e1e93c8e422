import JobsAPI

/// A value of a column or a parameter.
public enum SQLValue: Hashable, Sendable {
  /// NULL.
  case null
  /// A whole number.
  case integer(Int64)
  /// Text, without NUL characters.
  case text(String)
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByNilLiteral {
  /// Text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// NULL.
  public init(nilLiteral: ()) { self = .null }
  /// Text or NULL.
  public init(_ value: String?) { self = value.map { .text($0) } ?? .null }
  /// A whole number or NULL.
  public init(_ value: Int64?) { self = value.map { .integer($0) } ?? .null }
  /// A moment, in microseconds, or NULL.
  public init(_ value: Timestamp?) { self = value.map { .integer($0.microseconds) } ?? .null }
}

/// A row of an answer: values in the order of the statement's columns.
public struct SQLRow: Sendable {
  let values: [SQLValue]

  /// The text of a column, nil when it is NULL or not there.
  public func text(_ column: Int) -> String? {
    guard values.indices.contains(column) else { return nil }
    switch values[column] {
    case .text(let text): return text
    case .integer(let number): return String(number)
    case .null: return nil
    }
  }

  /// The number of a column, nil when it is NULL, not there, or not a number.
  public func integer(_ column: Int) -> Int64? {
    guard values.indices.contains(column) else { return nil }
    switch values[column] {
    case .integer(let number): return number
    case .text(let text): return Int64(text)
    case .null: return nil
    }
  }

  /// The moment of a column.
  public func timestamp(_ column: Int) -> Timestamp? { integer(column).map { Timestamp(microseconds: $0) } }
}

/// Why a statement was not carried out.
public enum SQLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The database can't be reached for the moment, or gave up a transaction: trying again is right.
  case unavailable(String)
  /// A unique key exists already.
  case conflict(String)
  /// The statement or the database is wrong; trying again does not help.
  case failed(String)
  /// The database was closed.
  case closed

  /// One line.
  public var description: String {
    switch self {
    case .unavailable(let text): "the database is not available: \(text)"
    case .conflict(let text): "exists already: \(text)"
    case .failed(let text): "the database refused: \(text)"
    case .closed: "the database is closed"
    }
  }
}

/// What differs between the databases.
public enum SQLDialect: Hashable, Sendable {
  /// SQLite, one writer.
  case sqlite
  /// PostgreSQL, several backends at once.
  case postgres

  /// Added to a SELECT that picks rows to change, so that two backends never pick the same and none waits.
  var skipLocked: String { self == .postgres ? " FOR UPDATE SKIP LOCKED" : "" }
  /// Added to a SELECT of one row that is then changed.
  var forUpdate: String { self == .postgres ? " FOR UPDATE" : "" }
  /// The type of a column that numbers its rows by itself.
  var serial: String { self == .postgres ? "BIGSERIAL PRIMARY KEY" : "INTEGER PRIMARY KEY AUTOINCREMENT" }
}

/// One connection, in a transaction. Confined to the thread that it was handed to.
public protocol SQLConnection: AnyObject {
  /// Which database.
  var dialect: SQLDialect { get }
  /// Carries out one statement with the parameters `?1`, `?2` … and returns its rows.
  func query(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> [SQLRow]
  /// The database's time: all leases count in it, so that machines with different clocks agree.
  func now() throws(SQLError) -> Timestamp
}

extension SQLConnection {
  /// Carries out one statement with the parameters `?1`, `?2` … and returns its rows.
  @discardableResult
  public func callAsFunction(_ sql: String, _ parameters: SQLValue...) throws(SQLError) -> [SQLRow] {
    try query(sql, parameters)
  }
}

/// A database that carries out transactions on threads of its own, never on the caller's.
public protocol SQLDatabase: Sendable {
  /// Which database.
  var dialect: SQLDialect { get }
  /// Carries out `body` as one transaction: all of it is kept, durably, or nothing. What `body` throws undoes it.
  /// A transaction that the database gave up (a lost connection before anything was kept, a conflict with another)
  /// may be run again, so `body` must have no other effect.
  func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> Value
  ) async throws -> Value
  /// Calls `hear` with what a backend said on `channel`, this one too. Only a hint: it may be missed.
  func listen(_ channel: String, _ hear: @escaping @Sendable (String) -> Void)
  /// Ends the threads and connections; what waits fails with `SQLError.closed`.
  func close()
}

/// Where a database's time comes from.
public enum DatabaseClock: Sendable {
  /// The database server's clock (SQLite: this machine's).
  case system
  /// A clock of the caller's: for tests that move time by hand.
  case given(@Sendable () -> Timestamp)
}
