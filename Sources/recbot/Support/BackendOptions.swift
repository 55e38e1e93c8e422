import ArgumentParser
import FoundationEssentials
import JobsAPI
import MediaCore
import Settings
import Worker

/// How the commands that are clients of the backend reach it.
struct BackendOptions: ParsableArguments {
  @Option(help: .setting(.backendURL, namesVariable: true))
  var backend: String?

  @Option(help: .setting(.clientKey))
  var backendKey: String?

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var shared: SharedOptions

  /// Runs `body` with a client of the backend; its errors become lines that say what to do.
  func withClient<Value>(_ body: (BackendClient) async throws -> Value) async throws -> Value {
    let configuration = try shared.load()
    let url = configuration.text(.backendURL, flag: backend)
    guard let key = configuration.text(.clientKey, flag: backendKey), !key.isEmpty else {
      throw Failure(
        .usage, "no key for the backend: set RECBOT_API_KEY; `recbot keys add NAME` on the backend's machine makes one")
    }
    let client: BackendClient
    do {
      client = try BackendClient(url: url, credential: key, tlsCA: configuration.text(.tlsCA))
    } catch {
      throw Failure(.usage, error.description)
    }
    do {
      let value = try await body(client)
      await client.shutdown()
      return value
    } catch {
      await client.shutdown()
      throw (error as? BackendError).map { Failure($0, url: url) } ?? error
    }
  }

  /// Tries again for a while what fails only for the moment, such as while a backend restarts.
  func patiently<Value>(
    attempts: Int = 4, _ body: () async throws(BackendError) -> Value
  ) async throws -> Value {
    var pause = Duration.milliseconds(250)
    for _ in 1..<attempts {
      do throws(BackendError) {
        return try await body()
      } catch {
        guard error.isPassing else { throw error }
        try await Task.sleep(for: pause)
        pause *= 2
      }
    }
    return try await body()
  }

  /// An idempotency key that nobody else has.
  static func randomKey() -> String {
    "cli-" + String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
  }
}

extension Failure {
  /// What a refusal or absence of the backend means to somebody at a terminal.
  init(_ error: BackendError, url: String) {
    switch error {
    case .away(let reason):
      self.init(.backendAway, "the backend at \(url) cannot be reached: \(Self.plain(reason))")
    case .strange(let reason): self.init(.backendAway, "what answers at \(url) is no recbot backend: \(reason)")
    case .refused(401, let body):
      self.init(
        .backendRefused,
        "\(body.message), or lacks the grant or the room for this; set RECBOT_API_KEY to a key that `recbot keys add NAME` "
          + "made, with --grants and --rooms that allow it")
    // What `recbot join` refuses as well, it refuses with the same exit code.
    case .refused(400, let body): self.init(.usage, RoomText.oneLine(body.message, limit: 500))
    case .refused(_, let body): self.init(.backendRefused, RoomText.oneLine(body.message, limit: 500))
    }
  }
}

extension Failure {
  /// A reason in the words that people know.
  static func plain(_ reason: String) -> String {
    for known in ["Connection refused", "Connection reset", "No route to host"] where reason.contains(known) {
      return known.lowercased()
    }
    return reason
  }
}

/// Values as JSON, as the API writes them.
enum JSONLine {
  /// One line, keys sorted; what would act on a terminal is escaped.
  static func of(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.userInfo[Audience.key] = Audience.callers
    return JSONText.escaped(String(decoding: try encoder.encode(value), as: UTF8.self))
  }
}
