import ArgumentParser
import Delivery
import Glibc
import MediaCore
import Settings
import Synchronization
import UnixSignals
import Worker

/// `recbot upload`: a file goes to where finished recordings go.
struct UploadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload", abstract: "Sends a recording to an S3-compatible store, and compares it there.",
    discussion: """
      The target is s3://BUCKET/KEY, s3://BUCKET/PREFIX/ or FOLDER/; without one, the store of the settings. Nothing is \
      overwritten. An upload that was interrupted goes on where it was when the command is given again; one that is \
      stopped (Ctrl-C) leaves nothing in the store. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
      from AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_PROFILE.

        recbot upload talk.webm s3://recordings/2026/talk.webm
        recbot upload talk.webm s3://recordings/ --live        while it is being recorded
        recbot upload --waiting                                what waits in the backup folder of the settings
      """)

  @Argument(help: "The file.")
  var file: String?

  @Argument(help: "Where it goes.")
  var target: String?

  @Flag(help: "The file is still being recorded: send what is final, and the rest when it ends.")
  var live = false

  @Flag(help: "Send what waits in the backup folder (RECBOT_BACKUP_DIR) to the store of the settings.")
  var waiting = false

  @Option(help: ArgumentHelp("The store's address (default: Amazon's for the region).", valueName: "url"))
  var s3Endpoint: String?

  @Option(help: ArgumentHelp("The store's region (default: us-east-1).", valueName: "region"))
  var s3Region: String?

  @Flag(inversion: .prefixedNo, help: "The bucket is named in the path (default: with an endpoint of one's own).")
  var s3PathStyle: Bool?

  @Option(help: ArgumentHelp("Bytes of a part in MiB, 5 to 5120.", valueName: "MiB"))
  var partSize = 8

  @Option(help: ArgumentHelp("Parts that are sent at once, 1 to 16.", valueName: "n"))
  var parallel = 2

  @Option(help: ArgumentHelp("How often a request is tried, 1 to 100.", valueName: "n"))
  var attempts = 8

  @Flag(help: "Print JSON: a line of progress each second on standard error, the result on standard output.")
  var json = false

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    if waiting { return try await sendWaiting(configuration) }
    guard let file else { throw Failure(.usage, "name a file, or give --waiting") }
    let (place, name) = try place(configuration, file)
    var options = DeliveryOptions()
    guard (5...5120).contains(partSize) else { throw Failure(.usage, "--part-size: 5 to 5120 (MiB)") }
    guard (1...16).contains(parallel) else { throw Failure(.usage, "--parallel: 1 to 16") }
    guard (1...100).contains(attempts) else { throw Failure(.usage, "--attempts: 1 to 100") }
    options.partSize = Int64(partSize) << 20
    options.parallelParts = parallel
    options.attempts = attempts
    let delivery = StoreDelivery(place, options: options, logger: try shared.logger("upload", configuration))
    let news = UploadNews(isJSON: json)
    // The first signal takes the upload back; the second is not waited for.
    let work = Task { try await send(delivery, file, name, news) }
    let signals = Task {
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        if work.isCancelled { Glibc.exit(ExitCode.forced.rawValue) }
        work.cancel()
      }
    }
    defer { signals.cancel() }
    do {
      let delivered = try await work.value
      news.end()
      Console.print(
        json
          ? "{\"location\":\(JSONText.quoted(delivered.location)),\"size\":\(delivered.size),"
            + "\"sha256\":\"\(delivered.sha256)\"}"
          : "\(delivered.location): \(delivered.size) bytes, SHA-256 \(delivered.sha256)")
    } catch let error as DeliveryError {
      news.end()
      throw Failure(error)
    }
  }

  /// Sends what waits in the backup folder, once; fails when something waits on.
  private func sendWaiting(_ configuration: Configuration) async throws {
    guard file == nil, target == nil, !live else { throw Failure(.usage, "--waiting: takes no file and no target") }
    guard let folder = configuration.text(.backupDirectory) else {
      throw Failure(.usage, "--waiting: no backup folder is set; set RECBOT_BACKUP_DIR, or delivery.backup-dir")
    }
    var plan = DeliveryPlan(local: ".")
    plan.backup = folder
    plan.store = try DeliverySettings.store(
      configuration, endpoint: s3Endpoint, region: s3Region, isPathStyle: s3PathStyle)
    plan.options.attempts = attempts
    guard let rounds = BackupRounds(plan, client: nil, logger: try shared.logger("upload", configuration)) else {
      return
    }
    let result = await rounds.round()
    for location in result.delivered {
      Console.print(json ? "{\"location\":\(JSONText.quoted(location))}" : location)
    }
    guard result.failed == 0 else {
      throw Failure(DeliveryError(.unreachable, "\(result.failed) files wait on in \(folder); their notes say why"))
    }
  }

  private func send(
    _ delivery: StoreDelivery, _ file: String, _ name: String, _ news: UploadNews
  ) async throws -> DeliveredFile {
    guard live, let upload = try delivery.live(file: file, name: name) else {
      return try await delivery.deliver(file: file, name: name) { news.tell($0) }
    }
    do {
      while await !upload.fileHasEnded {
        // What goes wrong now is made up for later; what cannot is said in the end.
        do throws(DeliveryError) {
          try await upload.advance()
        } catch {
          if !error.isPassing { throw error }
        }
        news.tell(DeliveryProgress(sent: await upload.sent, total: 0))
        try await Task.sleep(for: .seconds(1))
      }
      return try await upload.finish { news.tell($0) }
    } catch {
      if Task.isCancelled {
        await Task { await upload.cancel() }.value
        throw DeliveryError(.cancelled, "the upload was cancelled")
      }
      throw error
    }
  }

  /// Where the file goes, and under what name.
  private func place(_ configuration: Configuration, _ file: String) throws -> (DeliveryTarget, String) {
    let own = String(file.split(separator: "/").last ?? "")
    if let target, !target.hasPrefix("s3://") {
      guard target.hasSuffix("/") else {
        throw Failure(.usage, "target '\(target)': write s3://BUCKET/KEY, s3://BUCKET/PREFIX/ or FOLDER/")
      }
      return (.local(root: target == "/" ? "/" : String(target.dropLast())), own)
    }
    var bucket: String?
    var name = own
    if let target {
      let parts = target.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      bucket = parts.first.map(String.init)
      if let key = parts.dropFirst().first, !key.isEmpty { name = key.hasSuffix("/") ? key + own : String(key) }
    }
    let store = try DeliverySettings.store(
      configuration, bucket: bucket, endpoint: s3Endpoint, region: s3Region, isPathStyle: s3PathStyle,
      prefix: target == nil ? nil : "")
    return (.s3(store), name)
  }
}

/// How far an upload is, on standard error: a line that is written over on a terminal, or JSON. Any thread.
private final class UploadNews: Sendable {
  private struct State {
    var told: ContinuousClock.Instant?
    var hasLine = false
  }
  private let isJSON: Bool
  private let state = Mutex(State())

  init(isJSON: Bool) { self.isJSON = isJSON }

  func tell(_ progress: DeliveryProgress) {
    guard isJSON || Console.errorIsTerminal else { return }
    state.withLock { state in
      let now = ContinuousClock.now
      if let told = state.told, now - told < (isJSON ? .seconds(1) : .milliseconds(200)) { return }
      state.told = now
      if isJSON {
        Console.error("{\"sent\":\(progress.sent),\"of\":\(progress.total),\"retries\":\(progress.retries)}")
      } else {
        let share = progress.total > 0 ? ", \(progress.sent * 100 / progress.total) %" : ""
        Console.errorText("\r\(progress.sent >> 20) MiB sent\(share)   ")
        state.hasLine = true
      }
    }
  }

  func end() {
    state.withLock { state in
      if state.hasLine { Console.errorText("\r" + String(repeating: " ", count: 40) + "\r") }
      state.hasLine = false
    }
  }
}
