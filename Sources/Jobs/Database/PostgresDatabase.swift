import CPostgres
import Glibc
import JobsAPI
import MediaCore
import Platform
import Synchronization

/// A queue in PostgreSQL, for several backends at once: libpq, one thread and connection per parallel transaction.
///
/// A lost connection is made again for as long as it takes; a transaction that finds none within `patience` fails with
/// `unavailable`. One whose COMMIT was cut off may have been kept: it fails too, and every write of the store can be
/// repeated safely.
public final class PostgresDatabase: SQLDatabase {
  /// PostgreSQL's spelling of what the two databases write differently.
  public let dialect = SQLDialect.postgres
  private let queue = TransactionQueue(limit: 10_000)
  /// May hold a password.
  private let address: Redacted<String>
  private let isClosed = Atomic<Bool>(false)

  /// Starts the threads. The connections are made when they are needed.
  ///
  /// - Parameters:
  ///   - address: a connection URI, `postgres://user@host/database`. Passwords may come from `PGPASSWORD` or a
  ///     password file, as with every client of PostgreSQL.
  ///   - connections: how many transactions run at once.
  ///   - clock: where time comes from; the server's unless a test moves it.
  public init(address: String, connections: Int = 4, clock: DatabaseClock = .system) {
    self.address = Redacted(address)
    let queue = queue
    queue.serve(name: "postgres", threads: connections) {
      let connection = PostgresConnection(address: address, clock: clock)
      while let entries = queue.take(most: 1) {
        for entry in entries { entry.finish(connection.perform(entry.run)) }
      }
    }
  }

  /// Runs `body` in a transaction on a connection of the pool. Throws what `body` throws, and `unavailable`.
  public func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> Value
  ) async throws -> Value {
    try await queue.run(body)
  }

  /// Calls `hear`, on a thread of its own, with what any process says on `channel` (LISTEN).
  public func listen(_ channel: String, _ hear: @escaping @Sendable (String) -> Void) {
    let address = address.wrappedValue
    // Without a thread, what others say is found by polling.
    _ = DetachedThread.isStarted(name: "postgres-listen") { [weak self] in
      while self?.isClosed.load(ordering: .relaxed) == false {
        let connection = PostgresConnection(address: address, clock: .system)
        connection.listen(channel, while: { self?.isClosed.load(ordering: .relaxed) == false }, hear)
        // The connection is gone; what was said meanwhile is found by polling.
        sleep(1)
      }
    }
  }

  /// Ends the connections; what comes later fails with `unavailable`.
  public func close() {
    isClosed.store(true, ordering: .relaxed)
    queue.close()
  }
}

/// One libpq connection. Confined to its thread.
private final class PostgresConnection: SQLConnection {
  let dialect = SQLDialect.postgres
  private let address: Redacted<String>
  private let clock: DatabaseClock
  private var connection: OpaquePointer?
  /// `?1` written as `$1`, by statement: there are few, and each is used often.
  private var statements: [String: String] = [:]

  init(address: String, clock: DatabaseClock) {
    self.address = Redacted(address)
    self.clock = clock
  }

  deinit { PQfinish(connection) }

  /// Runs a transaction, again when the database gave it up before anything was kept; gives the error.
  func perform(_ body: (any SQLConnection) throws -> Void) -> (any Error)? {
    var attempts = 0
    let began = ContinuousClock.now
    while true {
      attempts += 1
      do {
        try connect()
        try command("BEGIN")
        do {
          try body(self)
        } catch {
          try? command("ROLLBACK")
          throw error
        }
        // From here on nobody knows whether a lost connection kept the transaction, so it isn't run again.
        do { try command("COMMIT") } catch { return error }
        return nil
      } catch let error as SQLError {
        guard case .unavailable = error, attempts < 8, ContinuousClock.now - began < Self.longest else { return error }
        usleep(UInt32(min(50_000 << attempts, 1_000_000)))
      } catch {
        return error
      }
    }
  }

  func query(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> [SQLRow] {
    let result = try send(translated(sql), parameters)
    defer { PQclear(result) }
    let (rows, columns) = (PQntuples(result), PQnfields(result))
    var answer: [SQLRow] = []
    answer.reserveCapacity(Int(rows))
    for row in 0..<rows {
      var values: [SQLValue] = []
      for column in 0..<columns {
        if PQgetisnull(result, row, column) != 0 {
          values.append(.null)
        } else if let bytes = PQgetvalue(result, row, column) {
          values.append(Self.value(String(cString: bytes), type: PQftype(result, column)))
        }
      }
      answer.append(SQLRow(values: values))
    }
    return answer
  }

  func now() throws(SQLError) -> Timestamp {
    if case .given(let clock) = clock { return clock() }
    let rows = try query("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", [])
    guard let now = rows.first?.timestamp(0) else { throw .failed("the database gives no time") }
    return now
  }

  /// Waits for notifications until the connection breaks or `isWanted` says no.
  func listen(_ channel: String, while isWanted: () -> Bool, _ hear: (String) -> Void) {
    guard (try? connect()) != nil, (try? command("LISTEN \"\(channel.filter { $0 != "\"" })\"")) != nil else { return }
    while isWanted() {
      var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
      let count = poll(&descriptor, 1, 1_000)
      if count < 0 && errno != EINTR { return }
      guard count > 0 else { continue }
      guard PQconsumeInput(connection) == 1 else { return }
      while let notification = PQnotifies(connection) {
        hear(notification.pointee.extra.map { String(cString: $0) } ?? "")
        PQfreemem(notification)
      }
    }
  }

  private func connect() throws(SQLError) {
    if let connection, PQstatus(connection) == CONNECTION_OK { return }
    PQfinish(connection)
    connection = Self.open(address.wrappedValue)
    guard let connection, PQstatus(connection) == CONNECTION_OK else { throw .unavailable(message) }
    PQsetNoticeReceiver(connection, { _, _ in }, nil)
    // A backend that hangs must not hold a job's row for ever, nor wait for one.
    try command("SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '15s'")
  }

  /// So long a transaction is begun anew.
  private static let longest = Duration.seconds(10)

  /// What libpq would wait for without end: a server that takes a connection and says nothing, or a way to it that is
  /// gone. The address may say otherwise.
  private static let patience = [
    ("connect_timeout", "5"), ("keepalives_idle", "5"), ("keepalives_interval", "3"), ("keepalives_count", "3"),
    ("tcp_user_timeout", "15000"), ("application_name", "recbot"),
  ]

  private static func open(_ address: String) -> OpaquePointer? {
    let settings = patience + [("dbname", address), ("client_encoding", "UTF8")]
    let names = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for text in names + values { free(text) } }
    let (keywords, texts) = (names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    return PQconnectdbParams(keywords, texts, 1)
  }

  private func command(_ sql: String) throws(SQLError) { PQclear(try run { PQexec($0, sql) }) }

  private func send(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> OpaquePointer? {
    // Values go as text; the statements cast where the type would be in doubt.
    var copies: [UnsafeMutablePointer<CChar>?] = []
    defer { for copy in copies { free(copy) } }
    for parameter in parameters {
      switch parameter {
      case .null: copies.append(nil)
      case .integer(let number): copies.append(strdup(String(number)))
      case .text(let text): copies.append(strdup(text))
      }
    }
    let pointers = copies.map { UnsafePointer($0) }
    return try run { connection in
      pointers.withUnsafeBufferPointer { values in
        PQexecParams(connection, sql, Int32(values.count), nil, values.baseAddress, nil, nil, 0)
      }
    }
  }

  private func run(_ body: (OpaquePointer) -> OpaquePointer?) throws(SQLError) -> OpaquePointer? {
    guard let connection else { throw .unavailable("not connected") }
    let result = body(connection)
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return result
    default:
      let code = PQresultErrorField(result, 67 /* PG_DIAG_SQLSTATE, 'C' */).map { String(cString: $0) } ?? ""
      let text =
        PQresultErrorField(result, 77 /* PG_DIAG_MESSAGE_PRIMARY, 'M' */).map { String(cString: $0) } ?? message
      PQclear(result)
      throw Self.error(state: code, text: text, isConnected: PQstatus(connection) == CONNECTION_OK)
    }
  }

  /// What an SQLSTATE means: https://www.postgresql.org/docs/15/errcodes-appendix.html
  private static func error(state: String, text: String, isConnected: Bool) -> SQLError {
    if state == "23505" { return .conflict(text) }
    // Serialization, deadlock, resources, operator intervention (a server that stops), connection: all pass.
    let isTemporary = ["40", "53", "57", "08"].contains { state.hasPrefix($0) } || state == "25P03" || state == "55P03"
    return isTemporary || !isConnected ? .unavailable(text) : .failed(text)
  }

  private var message: String {
    guard let connection, let text = PQerrorMessage(connection) else { return "no connection" }
    return String(cString: text).split(separator: "\n").first.map(String.init) ?? "no connection"
  }

  private func translated(_ sql: String) -> String {
    if let known = statements[sql] { return known }
    let text = PostgresStatement.numbered(sql)
    statements[sql] = text
    return text
  }

  /// int2, int4 and int8 are numbers; everything else is text.
  private static func value(_ text: String, type: Oid) -> SQLValue {
    switch type {
    case 20, 21, 23: Int64(text).map { .integer($0) } ?? .text(text)
    default: .text(text)
    }
  }
}
