import ArgumentParser
import Settings
import Worker

/// `recbot health`: for health checks of containers, which have no other program for it.
struct HealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health", abstract: "Asks a backend or a worker whether it is healthy.",
    discussion: "The exit code is 0 when it is, and 45 when it is not or does not answer.")

  @Argument(help: "Its address (RECBOT_BACKEND; default: http://127.0.0.1:8080).")
  var url: String?

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let url = configuration.text(.backendURL, flag: url)
    let client: BackendClient
    do throws(WorkerError) {
      // Health needs no credential, but the client takes none that is empty.
      client = try BackendClient(url: url, credential: "none", timeLimit: .seconds(3))
    } catch {
      throw Failure(.usage, error.description)
    }
    let problem = await Self.problem(client)
    await client.shutdown()
    if let problem { throw Failure(.backendAway, "\(url): \(problem)") }
    Console.print("\(url) is healthy.")
  }

  /// Why it is not healthy; nil when it is.
  private static func problem(_ client: BackendClient) async -> String? {
    do throws(BackendError) {
      try await client.check("/readyz")
      return nil
    } catch {
      return error.description
    }
  }
}
