import Logging
import MediaCore
import ServiceLifecycle
import Settings
import Synchronization
import Worker

/// The worker of `recbot serve --with-worker`: in the same process, over the backend's API like every other. Its
/// recordings are processes of their own.
final class LocalWorker: Service {
  private let settings: WorkerSettings
  private let secret: Redacted<String>
  private let logger: Logger
  /// Where the backend is, as soon as it is there.
  private let address: @Sendable () async throws -> String
  private let worker = Mutex<JobWorker?>(nil)

  /// Reads the worker's settings; throws `Failure`.
  init(
    _ options: WorkerOptions, _ configuration: Configuration, data: String, secret: String, logger: Logger,
    address: @escaping @Sendable () async throws -> String
  ) throws {
    settings = try options.settings(configuration, data: data)
    self.secret = Redacted(secret)
    self.logger = logger
    self.address = address
  }

  /// Takes jobs until the backend is to end, and then as long as its recordings and the drain timeout last.
  func run() async throws {
    let client: BackendClient
    let worker: JobWorker
    do {
      client = try BackendClient(url: try await address(), credential: secret.wrappedValue, timeLimit: .seconds(5))
      worker = try JobWorker(settings, client: client, logger: logger)
    } catch let error as WorkerError {
      throw Failure(error.isFolder ? .outputNotWritable : .usage, "the worker: \(error.description)")
    }
    self.worker.withLock { $0 = worker }
    let refusal = await withGracefulShutdownHandler { () -> BackendError? in
      do throws(BackendError) {
        try await worker.run()
        return nil
      } catch {
        return error
      }
    } onGracefulShutdown: {
      Task { await worker.drain() }
    }
    await client.shutdown()
    if let refusal { throw Failure(.backendRefused, "the worker: \(refusal)") }
  }

  /// Hands everything over at once. False when there is nothing to hand over yet.
  func handOver() async -> Bool {
    guard let worker = worker.withLock({ $0 }) else { return false }
    await worker.handOver()
    return true
  }
}
