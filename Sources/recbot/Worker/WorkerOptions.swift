import ArgumentParser
import Glibc
import JobsAPI
import LayoutFiles
import Logging
import Settings
import Worker

/// The flags of a worker; shared by `worker` and `serve --with-worker`.
struct WorkerOptions: ParsableArguments {
  @Option(help: .setting(.workerCapacity))
  var capacity: String?

  @Option(help: .setting(.workerDrainTimeout))
  var drainTimeout: String?

  @Option(help: .setting(.upload))
  var upload: String?

  @Option(help: .setting(.workerKeepParts))
  var keepParts: String?

  @Option(help: .setting(.workerAfter))
  var after: String?

  @Option(help: .setting(.workerAfterTimeout))
  var afterTimeout: String?

  /// The settings of a worker over this data folder.
  func settings(_ configuration: Configuration, data: String, name: String? = nil) throws -> WorkerSettings {
    var launch = RecordingLaunch()
    launch.environment = Self.childEnvironment()
    launch.turnCredential = configuration.text(.turnCredential)
    var settings = WorkerSettings(
      dataDirectory: data, name: configuration.text(.workerName, flag: name), launch: launch)
    settings.capacity = try configuration.value(.workerCapacity, flag: capacity)
    settings.drainTime = try configuration.value(.workerDrainTimeout, flag: drainTimeout)
    settings.keepTime = try configuration.value(.workerKeepParts, flag: keepParts)
    if let command = configuration.text(.workerAfter, flag: after), !command.isEmpty {
      var after = AfterCommand(command, environment: launch.environment)
      after.timeLimit = try configuration.value(.workerAfterTimeout, flag: afterTimeout)
      settings.after = after
    }
    // The store is known though nothing is uploaded by default: a job may ask for it.
    let delivery = try DeliverySettings(configuration, flag: upload, root: settings.delivery.local)
    settings.delivery.upload = DeliveryPlan.Upload(rawValue: delivery.upload.rawValue) ?? .off
    settings.delivery.template = delivery.template
    settings.delivery.backup = delivery.backupFolder
    settings.delivery.store = configuration[.s3Bucket] == nil ? nil : try DeliverySettings.store(configuration)
    settings.keys = configuration[.keysDir].map { KeyFolder($0.text) }
    settings.layouts = LayoutStore(folder: configuration.text(.layoutsDir)).entries().map(\.name)
    return settings
  }

  /// This process's environment without anything secret: recordings get by pipe what they need to know.
  static func childEnvironment() -> [String: String] {
    let hidden =
      AnySetting.all.filter(\.isSecret) + [.of(.database), .of(.apiKey), .of(.s3AccessKey), .of(.webhookURLs)]
    let secret = Set(hidden.flatMap(\.variables))
    let words = ["SECRET", "PASSWORD", "PASSWD", "TOKEN", "CREDENTIAL", "PRIVATE_KEY"]
    return Environment.all.filter { name, _ in
      !secret.contains(name) && !words.contains { name.uppercased().contains($0) }
    }
  }
}

/// Where the data folder is, and how the backend is reached.
enum WorkerPlace {
  /// The shortest secret of workers, in bytes.
  static let shortestSecret = 32

  /// The worker secret: a file's, or the environment's.
  static func secret(_ configuration: Configuration, file: String?) throws -> String {
    if let path = configuration.text(.workerSecretFile, flag: file) {
      guard let text = read(path) else {
        throw Failure(.inputUnusable, "the secret file \(path) cannot be read: \(String(cString: strerror(errno)))")
      }
      return try check(text, "the secret in \(path)")
    }
    guard let text = configuration.text(.workerSecret) else {
      throw Failure(
        .usage, "no worker secret: set RECBOT_WORKER_SECRET to the backend's, or give --secret-file FILE")
    }
    return try check(text, "the worker secret")
  }

  private static func check(_ text: String, _ what: String) throws -> String {
    let text = text.filter { !$0.isWhitespace }
    guard text.utf8.count >= shortestSecret else {
      throw Failure(.usage, "\(what) is shorter than \(shortestSecret) bytes; make one with: openssl rand -hex 32")
    }
    return text
  }

  /// At most 4 KiB of a file, a pipe (`/dev/fd/3`) or a device.
  private static func read(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while bytes.count < 4096 {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      bytes.append(contentsOf: chunk[..<count])
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
