import Foundation
import HTTPService
import Hummingbird
import HummingbirdCore
import Jobs
import JobsAPI
import Logging
import MediaCore
import NIOCore
import ServiceLifecycle
import WebClient

/// The token backend: an HTTP API over a job queue, and what keeps the queue going. It alone holds the secret of the
/// room service's API.
///
/// One `run()` a backend. In a `ServiceGroup` it ends gracefully: it takes no new connections, answers what it has
/// taken, and returns. Cancelling the task that runs it ends it at once.
public final class BackendService: Service {
  /// Jobs, schedules, webhooks and keys, over the database.
  public let queue: JobQueue
  let core: BackendCore
  /// Every route, for tests and the description.
  let routes: [Route]
  private let application: Application<AnyResponder>
  private let bound: Promise<Int>

  /// Opens the queue and makes everything ready. Throws `BackendStartError` for settings that can't be used, and `SQLError`
  /// when the database can't.
  public init(
    configuration: BackendConfiguration, database: any SQLDatabase, logger: Logger = Logger(label: "backend")
  ) async throws {
    guard configuration.problems.isEmpty else {
      throw BackendStartError(configuration.problems.joined(separator: "; "))
    }
    let queue = try await JobQueue(
      database: database, machine: configuration.machine, webhooks: configuration.webhooks,
      seed: UInt64.random(in: .min ... .max))
    self.queue = queue
    let core = BackendCore(configuration: configuration, keys: queue.keys, logger: logger)
    self.core = core
    database.listen(JobHint.channel) { core.changes.heard($0) }

    let client = GuardedWebClient(privateAddresses: configuration.allowsPrivateAddresses ? .allow : .refuse)
    let routes = Routes(core: core)
    let groups: [any RouteGroup] = [
      HealthRoutes(queue: queue), TokenRoutes(),
      JobRoutes(jobs: queue.jobs, deliveries: queue.deliveries, workers: queue.workers, client: client),
      EventRoutes(events: queue.events, jobs: queue.jobs),
      ScheduleRoutes(schedules: queue.schedules, workers: queue.workers, client: client),
      RecordingRoutes(recordings: queue.recordings, jobs: queue.jobs, workers: queue.workers),
      WorkerRoutes(jobs: queue.jobs, workers: queue.workers, recordings: queue.recordings),
      WebhookRoutes(client: client),
      LiveKitWebhookRoutes(schedules: queue.schedules), EgressRoutes(jobs: queue.jobs, client: client),
    ]
    for group in groups { group.add(to: routes) }
    self.routes = routes.list

    let background: [any BackgroundWork] = [
      QueueMaintenance(core: core, queue: queue), QueuePoller(core: core, jobs: queue.jobs, events: queue.events),
      WebhookDispatcher(core: core, deliveries: queue.deliveries, client: client),
    ]

    let bound = Promise<Int>()
    self.bound = bound
    application = Application(
      responder: AnyResponder(routes.responder()),
      server: .guarded(by: core.door, limits: configuration.limits.request, connections: core.connections),
      // The system's own limit of the backlog holds: while many come at once, nobody's first packet shall be lost.
      configuration: ApplicationConfiguration(
        address: .hostname(configuration.bind, port: configuration.port), backlog: 4096),
      services: background.map { BackgroundService(work: $0, logger: logger) },
      onServerRunning: { channel in bound.complete(.success(channel.localAddress?.port ?? configuration.port)) },
      logger: logger)
  }

  /// Serves until it is shut down. Throws `BackendStartError` when the address can't be used.
  public func run() async throws {
    defer { bound.complete(.failure(BackendStartError("the backend has ended"))) }
    do {
      let core = core
      try await withGracefulShutdownHandler {
        try await application.run()
      } onGracefulShutdown: {
        // Requests that are held are answered now: the server ends when all are.
        core.changes.close()
      }
    } catch {
      let (bind, port) = (core.configuration.bind, core.configuration.port)
      throw ListenFault.text(of: error, at: bind, port: port).map { BackendStartError($0) } ?? error
    }
  }

  /// The port that it listens on. Waits until it does; throws when it has ended without.
  public var port: Int {
    get async throws { try await bound.value }
  }
}

/// A responder whose type nobody needs to know.
struct AnyResponder: HTTPResponder {
  private let inner: any HTTPResponder<CallContext>
  init(_ inner: some HTTPResponder<CallContext>) { self.inner = inner }
  func respond(to request: Request, context: CallContext) async throws -> Response {
    try await inner.respond(to: request, context: context)
  }
}
