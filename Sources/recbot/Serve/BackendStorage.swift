import Delivery
import Glibc
import Jobs
import JobsAPI
import MediaCore
import Settings

/// Where the backend keeps its things: shared by `serve` and `keys`.
struct BackendStorage {
  /// Folder of database, recordings and workers.
  let folder: String
  /// `sqlite:PATH` or `postgres://…`.
  @Redacted private(set) var database: String

  /// From the flags, the environment and the configuration file.
  init(_ configuration: Configuration, dataDir: String?, database: String?) throws {
    folder = try configuration.given(.dataDirectory, flag: dataDir) ?? DataFolder.standard
    self.database = configuration.text(.database, flag: database) ?? "sqlite:\(folder)/recbot.sqlite"
    guard ["sqlite:", "postgres://", "postgresql://"].contains(where: self.database.hasPrefix),
      self.database != "sqlite:"
    else { throw Failure(.usage, "--database: sqlite:PATH or postgres://USER@HOST/NAME is expected") }
  }

  /// As it may be shown.
  var description: String { AnySetting.masked(database) }

  /// Opens the database that a backend has made, and makes none.
  func openExisting() throws -> any SQLDatabase {
    let path = database.hasPrefix("sqlite:") ? String(database.dropFirst("sqlite:".count)) : nil
    if let path, access(path, F_OK) != 0, errno == ENOENT {
      throw Failure(
        .databaseUnusable,
        "there is no database \(path): `recbot serve` makes it; --data-dir or --database (RECBOT_DATA_DIR, "
          + "RECBOT_DATABASE) says where it is")
    }
    return try open()
  }

  /// Opens the database; makes the folder where it lies.
  func open() throws -> any SQLDatabase {
    if database.hasPrefix("sqlite:") {
      let path = String(database.dropFirst("sqlite:".count))
      try Self.makeFolder(path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".")
      do {
        return try SQLiteDatabase(path: path)
      } catch {
        throw Failure(.databaseUnusable, "\(path): \(error)")
      }
    }
    return PostgresDatabase(address: database)
  }

  /// The finished files of the data folder; nil when this machine has none. `isMade`: the folder is made.
  func keptFiles(_ configuration: Configuration, isMade: Bool) -> KeptFiles? {
    if isMade { try? Self.makeFolder(folder) }
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    guard !folder.hasPrefix("/") || access(folder, F_OK) == 0, getcwd(&buffer, buffer.count) != nil else { return nil }
    let here = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let absolute = folder.hasPrefix("/") ? folder : "\(here)/\(folder)"
    let backup = configuration[.backupDirectory].map { [$0.text] } ?? []
    return try? KeptFiles(dataFolder: absolute, roots: ["\(absolute)/recordings"] + backup)
  }

  /// Makes a folder and those above it, for this user only.
  static func makeFolder(_ path: String) throws {
    var made = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      made += "/\(part)"
      guard mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
      throw Failure(.outputNotWritable, "the folder \(path) cannot be made: \(String(cString: strerror(errno)))")
    }
  }
}
