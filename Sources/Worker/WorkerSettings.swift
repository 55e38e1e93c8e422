import Foundation
import Glibc
import JobsAPI
import MediaCore

/// Everything that a worker is told when it is made.
public struct WorkerSettings: Sendable {
  /// Its name: the same while its process lives, never used again.
  public var name: String
  /// Somebody chose the name: that it is unique is not certain by itself.
  public var hasChosenName: Bool
  /// The data folder: `worker/N` in it is this worker's.
  public var dataDirectory: String
  /// So many recordings at once; nil: as many as the machine carries, by what they cost.
  public var capacity: Int?
  /// How long running recordings may go on after `drain`.
  public var drainTime = Duration.seconds(3600)
  /// So old are parts of jobs that others completed when they are deleted.
  public var keepTime = Duration.seconds(7 * 86_400)
  /// Where the session logs of jobs go, each in a folder of its own.
  public var logs: String { "\(dataDirectory)/logs" }
  /// How recordings are started.
  public var launch: RecordingLaunch
  /// Where finished files go.
  public var delivery: DeliveryPlan
  /// What is run after each file is finished; nil: nothing.
  public var after: AfterCommand?
  /// The address at which the backend reaches this worker's page for finished files; nil: it doesn't.
  public var filesURL: String?
  /// The names of the layouts that its recordings know; nil: not known.
  public var layouts: [String]?
  /// The keys of encrypted rooms that jobs may name; nil: there are none.
  public var keys: KeyFolder?
  /// How long the backend may hold a sign of life until there is a command, in seconds: after that there is the next
  /// one, so a third of a lease.
  public var heartbeatTime: Int64 = 4
  /// How long the backend may hold a question for jobs, in seconds.
  public var pollTime: Int64 = 5

  /// Settings for a data folder, made absolute.
  public init(dataDirectory: String, name: String? = nil, launch: RecordingLaunch = RecordingLaunch()) {
    let absolute =
      dataDirectory.hasPrefix("/")
      ? dataDirectory : "\(FileManager.default.currentDirectoryPath)/\(dataDirectory)"
    self.dataDirectory = absolute
    self.name = name ?? Self.uniqueName()
    hasChosenName = name != nil
    self.launch = launch
    delivery = DeliveryPlan(local: "\(absolute)/recordings")
  }

  /// What the worker tells the backend that it can do, with the names of the keys that are there now.
  func abilities(keys: [String]?) -> WorkerAbilities {
    WorkerAbilities(
      hasStore: delivery.store != nil, layouts: layouts.map { Array($0.prefix(1000)) }, keys: keys,
      processors: TrackProcessors.known, sinks: true)
  }

  /// The host's name, and a text that no other process has.
  public static func uniqueName() -> String {
    var buffer = [CChar](repeating: 0, count: 65)
    let host =
      gethostname(&buffer, 64) == 0
      ? String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : "worker"
    let letters = Array("0123456789abcdefghjkmnpqrstvwxyz")
    var random = SystemRandomNumberGenerator()
    return "\(host)-\(String((0..<8).map { _ in letters[Int(random.next() & 31)] }))"
  }
}
