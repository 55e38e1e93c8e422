import ArgumentParser
import Backend
import Delivery
import Glibc
import JobsAPI
import LayoutFiles
import Logging
import ServiceLifecycle
import Settings
import Signaling
import UnixSignals
import WebClient

/// `recbot serve`: the token backend.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Runs the backend: an HTTP API that takes recordings as jobs and has them made.",
    discussion: """
      One machine, everything in a folder:

        recbot serve --with-worker
        recbot keys add my-app

      Then `recbot worker` is not needed on this machine; SIGTERM lets running recordings end.

      Several machines: recbot serve --database postgres://… on some, recbot worker on others, with the same \
      RECBOT_WORKER_SECRET. The API is described at /openapi.yaml. SIGTERM (or Ctrl-C) ends it when everything that \
      was asked is answered.
      """)

  @Option(help: .setting(.backendBind))
  var bind: String?

  @Option(help: .setting(.backendPort))
  var port: String?

  @Option(help: .setting(.database))
  var database: String?

  @Option(help: .setting(.dataDirectory, namesVariable: true))
  var dataDir: String?

  @Flag(help: .setting(.withWorker))
  var withWorker = false

  @OptionGroup var worker: WorkerOptions

  @Option(help: .setting(.url, namesVariable: true))
  var url: String?

  @OptionGroup var credentials: ServerCredentials

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let settings = try shared.load()
    let hasWorker = try withWorker || settings.value(.withWorker)
    let logger = try shared.logger("serve", settings)
    let storage = try BackendStorage(settings, dataDir: dataDir, database: database)
    var configuration = try backendConfiguration(settings, hasWorker: hasWorker)
    DescriptorLimit.raise()
    let database = try storage.open()
    configuration.keptFiles = storage.keptFiles(settings, isMade: hasWorker)
    configuration.store = store(settings, logger)
    let backend: BackendService
    do {
      backend = try await BackendService(configuration: configuration, database: database, logger: logger)
    } catch let error as BackendStartError {
      throw Failure(.usage, error.description)
    } catch {
      throw Failure(.databaseUnusable, "\(storage.description): \(error)")
    }
    let own = hasWorker ? try ownWorker(backend, configuration, storage, settings) : nil
    var services = [ServiceGroupConfiguration.ServiceConfiguration(service: backend)]
    // It ends before the backend does, so that it can tell what became of its recordings.
    if let own { services.append(.init(service: own, successTerminationBehavior: .gracefullyShutdownGroup)) }
    let group = ServiceGroup(configuration: .init(services: services, logger: logger))
    let signals = Task {
      var count = 0
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        count += 1
        if count == 1 {
          await group.triggerGracefulShutdown()
        } else {
          let isHandingOver = count == 2 ? await own?.handOver() ?? false : false
          if !isHandingOver { Glibc.exit(ExitCode.forced.rawValue) }
        }
      }
    }
    defer { signals.cancel() }
    let greeting = Task { try await greet(backend, configuration, storage, hasWorker: hasWorker) }
    defer { greeting.cancel() }
    do {
      try await group.run()
    } catch let error as BackendStartError {
      throw Failure(.addressInUse, error.description)
    }
    database.close()
  }

  /// The worker in this process.
  private func ownWorker(
    _ backend: BackendService, _ configuration: BackendConfiguration, _ storage: BackendStorage,
    _ settings: Configuration
  ) throws -> LocalWorker {
    let isAny = ["0.0.0.0", "::", "localhost"].contains(configuration.bind)
    let host = isAny ? "127.0.0.1" : configuration.bind
    return try LocalWorker(
      worker, settings, data: storage.folder, secret: configuration.workerSecret ?? "",
      logger: try shared.logger("worker", settings, default: .info)
    ) {
      "http://\(host.contains(":") ? "[\(host)]" : host):\(try await backend.port)"
    }
  }

  /// The store that recordings lie in; nil: there is none, or it can't be used, which is no reason not to take jobs.
  private func store(_ settings: Configuration, _ logger: Logger) -> StoredFiles? {
    guard settings[.s3Bucket] != nil else { return nil }
    do {
      return StoredFiles(try DeliverySettings.store(settings), logger: logger)
    } catch {
      logger.warning(
        "recordings in the bucket can't be downloaded or deleted here",
        metadata: ["reason": "\((error as? Failure)?.message ?? "\(error)")"])
      return nil
    }
  }

  /// What the settings say of the backend.
  private func backendConfiguration(_ settings: Configuration, hasWorker: Bool) throws -> BackendConfiguration {
    let bind = try settings.value(.backendBind, flag: bind)
    let roomURL = settings.text(.url, flag: url) ?? "ws://127.0.0.1:7880"
    let (key, secret) = try roomCredentials(settings, bind: bind, roomURL: roomURL)
    var configuration = BackendConfiguration(
      roomService: RoomService(url: roomURL, apiKey: key, apiSecret: secret))
    configuration.bind = bind
    configuration.port = try settings.value(.backendPort, flag: port)
    configuration.publicRoomURL = settings.text(.publicRoomURL)
    configuration.apiSecret = settings.text(.callerSecret)
    configuration.metricsSecret = settings.text(.metricsSecret)
    configuration.limits.perAddress = try settings.value(.backendConnectionsPerAddress)
    configuration.workerSecret = try workerSecret(settings, isOwn: hasWorker)
    configuration.webhookSecret = settings.text(.webhookSecret)
    configuration.webhooks = try webhooks(settings)
    configuration.webhookForm = try settings.value(.webhookForm)
    configuration.webhookGiveUpAfter = try settings.value(.webhookGiveUpAfter)
    configuration.layouts = LayoutStore.builtInNames
    configuration.allowsPrivateAddresses = try settings.value(.privateAddresses) == .allow
    configuration.jobRetention = try settings.value(.keepJobs)
    return configuration
  }

  /// The room service's pair. That of development is known to everybody: it serves only while backend and room server are
  /// reached from this machine alone.
  private func roomCredentials(
    _ settings: Configuration, bind: String, roomURL: String
  ) throws -> (key: String, secret: String) {
    func isHere(_ host: String) -> Bool { ["127.0.0.1", "localhost", "::1"].contains(host) }
    let room: SignalURL
    do throws(SignalURL.Fault) { room = try SignalURL(roomURL) } catch { throw Failure(.usage, "--url: \(error)") }
    if !isHere(room.host) {
      return try credentials.resolve(
        settings, withoutDefaultBecause: "the room server \(room) is on another machine and has a key of its own")
    }
    if !isHere(bind) {
      return try credentials.resolve(
        settings, withoutDefaultBecause: "other machines can reach a backend at \(bind), which needs a key of its own")
    }
    return try credentials.resolve(settings)
  }

  /// The workers' secret. The own worker needs none that others know.
  private func workerSecret(_ settings: Configuration, isOwn: Bool) throws -> String? {
    if settings[.workerSecret] != nil || settings[.workerSecretFile] != nil {
      return try WorkerPlace.secret(settings, file: nil)
    }
    guard isOwn else { return nil }
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in String(generator.next(), radix: 16) }.joined(separator: "-")
      + "-of-the-worker-in-the-same-process"
  }

  private func webhooks(_ settings: Configuration) throws -> [WebhookTarget] {
    WebhookTarget.list(settings.text(.webhookURLs) ?? "", form: try settings.value(.webhookForm))
  }

  /// Says where it is, and what is missing before anybody can use it.
  private func greet(
    _ backend: BackendService, _ configuration: BackendConfiguration, _ storage: BackendStorage, hasWorker: Bool
  ) async throws {
    let port = try await backend.port
    let host = configuration.bind.contains(":") ? "[\(configuration.bind)]" : configuration.bind
    Console.print("Backend on http://\(host):\(port); Ctrl-C ends it.")
    Console.print("  database      \(storage.description)")
    Console.print("  room service  \(configuration.roomService.url) (API key \(configuration.roomService.apiKey))")
    if configuration.apiSecret == nil, try await backend.queue.keys.list().isEmpty {
      Console.print("  callers       none yet: `recbot keys add NAME` makes a key")
    }
    if hasWorker {
      Console.print("  worker        in this process, with its data in \(storage.folder)")
    } else if configuration.workerSecret == nil {
      Console.print("  workers       none can come: set RECBOT_WORKER_SECRET here and for `recbot worker`")
    }
  }
}
