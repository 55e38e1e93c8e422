import Glibc
import Logging
import MediaCore
import Platform

/// One line a record on standard error: `12:34:56 warning room: text key=value`.
///
/// Every record of the process passes here, those of libraries too: what acts on a terminal or would begin a line of its
/// own is replaced, and so are the settings' secrets and whatever looks like one.
struct StderrLog: LogHandler {
  /// The longest line, in Unicode scalars.
  private static let longest = 8192
  /// Shorter secrets are words that may stand anywhere: the well-known one of the development pair is `secret`.
  private static let shortestSecret = 8

  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level
  private let label: String
  @Redacted private var secrets: [String]

  /// Makes a handler. `secrets` are never written, however they get into a record.
  init(label: String, level: Logger.Level, secrets: [String] = []) {
    self.label = label
    logLevel = level
    _secrets = Redacted(secrets)
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var now = time_t(WallClock.seconds)
    var parts = tm()
    gmtime_r(&now, &parts)
    func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    var line = "\(clock) \(event.level) \(label): \(event.message)"
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    for (key, value) in all.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
    Console.errorOverStatus(Self.clean(line, secrets: secrets))
  }

  /// A line as it is written.
  static func clean(_ line: String, secrets: [String]) -> String {
    var line = line
    for secret in secrets where secret.utf8.count >= shortestSecret {
      line = line.replacing(secret, with: PeerText.hidden)
    }
    return PeerText.line(line, limit: longest)
  }
}
