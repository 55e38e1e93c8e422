import ArgumentParser
import Backend
import FoundationEssentials
import Jobs
import JobsAPI
import Settings

/// `recbot keys`: who may use the backend.
struct KeysCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "Makes, lists and removes API keys of the backend, in its database.",
    discussion: """
        recbot keys add my-app
        recbot keys add dashboard --grants jobs:read,recordings:read --rooms 'team-*' --expires 30d
        recbot keys remove my-app

      A key is shown once, when it is made; the database has only its hash. Jobs belong to the name of the key that \
      submitted them: two keys of one name see the same jobs. A key that is removed is refused within two seconds.
      """,
    subcommands: [KeysAddCommand.self, KeysListCommand.self, KeysRemoveCommand.self])
}

/// Where the keys are.
struct KeysOptions: ParsableArguments {
  @Option(help: .setting(.database))
  var database: String?

  @Option(help: .setting(.dataDirectory, namesVariable: true))
  var dataDir: String?

  @OptionGroup var shared: SharedOptions

  /// Runs `body` over the backend's API keys.
  func withKeys<Value>(_ body: (KeyStore) async throws -> Value) async throws -> Value {
    let storage = try BackendStorage(try shared.load(), dataDir: dataDir, database: database)
    let database = try storage.openExisting()
    defer { database.close() }
    do {
      let queue = try await JobQueue(database: database, seed: UInt64.random(in: .min ... .max))
      let value = try await body(queue.keys)
      Console.error("Database: \(storage.description)")
      return value
    } catch let error as SQLError {
      throw Failure(.databaseUnusable, "\(storage.description): \(error)")
    }
  }
}

/// `recbot keys add`.
struct KeysAddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Makes a key and prints it on standard output.")

  @Argument(help: "Whom it is for: the owner of the jobs that are submitted with it.")
  var name: String

  @Option(
    help: ArgumentHelp(
      "What it allows, with commas: \(Grant.allCases.map(\.rawValue).joined(separator: ", ")) "
        + "(default: everything but admin).", valueName: "grants"))
  var grants: String?

  @Flag(help: "Everything, and for everybody's jobs: the same as --grants admin.")
  var admin = false

  @Option(help: ArgumentHelp("Only for rooms of such names; * stands for any text.", valueName: "glob"))
  var rooms: String?

  @Option(help: ArgumentHelp("When it ends by itself, such as 30d (default: never).", valueName: "time"))
  var expires: String?

  @OptionGroup var options: KeysOptions

  func run() async throws {
    guard (1...256).contains(name.utf8.count), !name.unicodeScalars.contains(where: { $0.value < 32 }) else {
      throw Failure(.usage, "the name must have 1 to 256 bytes, no control characters")
    }
    if let rooms, !(1...256).contains(rooms.utf8.count) { throw Failure(.usage, "--rooms: 1 to 256 bytes") }
    let now = Timestamp.now
    let end = try expires.map { now + (try SharedOptions.duration($0, "--expires")) }
    let made = APIKeySecret.make(name: name, grants: try allowed(), rooms: rooms, expiresAt: end, now: now)
    try await options.withKeys { try await $0.add(made.key, hash: made.hash) }
    Console.print(made.text)
    Console.error("The key of '\(name)' is shown only now. Use it as RECBOT_API_KEY, or `Authorization: Bearer …`.")
  }

  private func allowed() throws -> Set<Grant> {
    if admin { return [.admin] }
    guard let grants else { return Set(Grant.allCases).subtracting([.admin]) }
    var result: Set<Grant> = []
    for word in grants.split(separator: ",") {
      do throws(ValueError) {
        result.insert(try Values.word(word.filter { $0 != " " }, "grant"))
      } catch {
        throw Failure(.usage, "--grants: \(error)")
      }
    }
    guard !result.isEmpty else { throw Failure(.usage, "--grants: at least one") }
    return result
  }
}

/// `recbot keys list`.
struct KeysListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Shows the keys, without secrets.")

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var options: KeysOptions

  func run() async throws {
    let keys = try await options.withKeys { try await $0.list() }
    if json { return Console.print(try JSONLine.of(["keys": keys])) }
    if keys.isEmpty { return Console.error("There are no keys; `recbot keys add NAME` makes one.") }
    for key in keys {
      var line = "\(key.id)  \(key.name)  since \(Timestamp(seconds: key.createdAt.seconds))  \(grants(key))"
      if let rooms = key.rooms { line += "  rooms \(rooms)" }
      if let end = key.expiresAt {
        line +=
          end <= .now ? "  ended \(Timestamp(seconds: end.seconds))" : "  until \(Timestamp(seconds: end.seconds))"
      }
      Console.print(line)
    }
  }

  private func grants(_ key: APIKey) -> String {
    let usual = Set(Grant.allCases).subtracting([.admin])
    return Set(key.grants) == Set(usual.map(\.rawValue)) ? "all but admin" : key.grants.joined(separator: ",")
  }
}

/// `recbot keys remove`.
struct KeysRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes the key with this id, or all keys of this name.")

  @Argument(help: "An id or a name, as in `recbot keys list`.")
  var key: String

  @OptionGroup var options: KeysOptions

  func run() async throws {
    let count = try await options.withKeys { try await $0.remove(named: key) }
    guard count > 0 else { throw Failure(.usage, "there is no key with the id or name '\(key)'") }
    Console.error(count == 1 ? "1 key removed." : "\(count) keys removed.")
  }
}
