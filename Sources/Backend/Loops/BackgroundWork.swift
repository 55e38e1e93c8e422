import Logging
import ServiceLifecycle

/// Something that a backend does besides answering, from its start to its end.
protocol BackgroundWork: Sendable {
  /// For the log.
  var name: String { get }
  /// Works until the task is cancelled, which is when the backend ends. When it throws, it is told in the log and
  /// started again after a second.
  func run() async throws
}

/// Keeps a piece of background work going for as long as the backend runs.
struct BackgroundService: Service, CustomStringConvertible {
  let work: any BackgroundWork
  let logger: Logger

  /// How the library that runs services names it in the log.
  var description: String { work.name }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do {
          try await work.run()
        } catch is CancellationError {
          break
        } catch {
          logger.error("\(work.name): \(error)")
        }
        try? await Task.sleep(for: .seconds(1))
      }
    }
  }
}
