import ArgumentParser
import Glibc
import Logging
import Settings
import UnixSignals
import Worker

/// `recbot worker`: carries out the jobs of a backend.
struct WorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Carries out the jobs of a backend: each recording is a process of its own.",
    discussion: """
        RECBOT_WORKER_SECRET=… recbot worker --backend https://recbot.example.com
        recbot worker --secret-file /run/secrets/worker --capacity 4 --data-dir /var/lib/recbot

      SIGTERM (or Ctrl-C) drains: no new jobs, running ones end by themselves, and what runs longer than the drain \
      timeout is handed over to another worker. A second one hands over at once, a third one gives up. Workers on one \
      machine may share a data folder: then each can finish what another began.
      """)

  @Option(help: .setting(.backendURL, namesVariable: true))
  var backend: String?

  @Option(help: .setting(.workerSecretFile))
  var secretFile: String?

  @Option(help: .setting(.dataDirectory, namesVariable: true))
  var dataDir: String?

  @Option(help: .setting(.workerName, namesVariable: true))
  var name: String?

  @Option(help: .setting(.workerBind))
  var bind: String?

  @Option(help: .setting(.workerFilesURL))
  var filesUrl: String?

  @Option(help: .setting(.tlsCA))
  var tlsCa: String?

  @OptionGroup var options: WorkerOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("worker", configuration, default: .info)
    let secret = try WorkerPlace.secret(configuration, file: secretFile)
    let url = configuration.text(.backendURL, flag: backend)
    var settings = try options.settings(
      configuration, data: try configuration.given(.dataDirectory, flag: dataDir) ?? DataFolder.standard, name: name)
    settings.filesURL = try filesURL(configuration)
    let client: BackendClient
    do {
      client = try BackendClient(url: url, credential: secret, tlsCA: tlsCa, timeLimit: .seconds(5))
    } catch {
      throw Failure(error)
    }
    let worker: JobWorker
    do {
      worker = try JobWorker(settings, client: client, logger: logger)
    } catch {
      await client.shutdown()
      throw Failure(error)
    }
    let page = try await page(configuration, worker, secret)
    let signals = Task {
      var count = 0
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        count += 1
        switch count {
        case 1: await worker.drain()
        case 2: await worker.handOver()
        default: Glibc.exit(ExitCode.forced.rawValue)
        }
      }
    }
    var refusal: BackendError?
    do { try await worker.run() } catch { refusal = error }
    signals.cancel()
    await page?.close()
    await client.shutdown()
    if let refusal { throw Self.failure(refusal, url) }
  }

  /// What a backend that takes no such worker means to who started it.
  static func failure(_ error: BackendError, _ url: String) -> Failure {
    switch error {
    case .refused(401, _):
      Failure(
        .backendRefused,
        "the backend at \(url) does not know this worker secret: set RECBOT_WORKER_SECRET to the same for both")
    case .refused(let status, let body):
      Failure(
        .backendRefused,
        "what answers at \(url) takes no workers: HTTP \(status), \(RoomText.oneLine(body.message, limit: 200)); check the "
          + "address, and that backend and worker are of one version")
    case .away, .strange: Failure(error, url: url)
    }
  }

  /// Where the backend fetches finished files: what is set, or the page's own address, when it is one that others know.
  private func filesURL(_ configuration: Configuration) throws -> String? {
    let page = configuration.text(.workerBind, flag: bind)
    if let url = configuration.text(.workerFilesURL, flag: filesUrl) {
      guard ["http://", "https://"].contains(where: { url.hasPrefix($0) && url.count > $0.count }) else {
        throw Failure(.usage, "--files-url: '\(url.prefix(200))' does not begin with http:// or https://")
      }
      guard page != nil else {
        throw Failure(.usage, "--files-url: there is no page to fetch files from; give --bind, too")
      }
      return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
    guard let page, let colon = page.lastIndex(of: ":"), page[colon...] != ":0" else { return nil }
    let isAny = ["0.0.0.0", "[::]", "::", ""].contains(page[..<colon])
    return isAny ? nil : "http://\(page)"
  }

  /// The page of health and metrics, if there is to be one.
  private func page(_ configuration: Configuration, _ worker: JobWorker, _ secret: String) async throws -> WorkerPage? {
    guard let address = configuration.text(.workerBind, flag: bind) else { return nil }
    do {
      return try await WorkerPage(at: address, worker, secret: secret)
    } catch {
      throw Failure(.addressInUse, error.description)
    }
  }
}
