import Delivery
import Recording
import RoomServer
import RecbotKit
import Settings
import WebM
import Worker

/// The exit codes that are not a room's. Those of rooms (10 to 39) stand in `RoomError`'s table.
enum ExitCode: Hashable {
  /// Something that should not happen.
  case unexpected
  /// The output exists already.
  case outputExists
  /// The output cannot be written (folder, permissions, disk).
  case outputNotWritable
  /// An input file cannot be read or is no recording.
  case inputUnusable
  /// The address or port of the room server cannot be used.
  case addressInUse
  /// `recbot control`: no such job, or it refused the command.
  case notControlled
  /// The backend cannot be reached.
  case backendAway
  /// The backend refused: the credential, or what was asked for.
  case backendRefused
  /// `recbot jobs watch`: the job failed without an exit code of its own, or was cancelled.
  case jobFailed
  /// `recbot serve`, `recbot keys`: the database can't be opened, or is of no use.
  case databaseUnusable
  /// `recbot jobs watch`: the exit code of a job's recording.
  case recording(Int32)
  /// A file could not be delivered; the same can succeed later.
  case notDelivered
  /// A file cannot be delivered like this.
  case deliveryRefused
  /// `recbot jobs watch`: the job is completed, and its recording is less than was asked for. A further file of a recording is
  /// not whole. A file was downloaded without what was delivered beside it.
  case incomplete
  /// A flag, variable or configuration value is wrong (the same code as for unknown flags).
  case usage
  /// Ended by a second signal.
  case forced
  /// A room's error.
  case room(RoomError.Kind)

  /// The process's exit code (the page of exit codes has them all).
  var rawValue: Int32 {
    switch self {
    case .unexpected: 1
    case .outputExists: 40
    case .outputNotWritable: 41
    case .inputUnusable: 42
    case .addressInUse: 43
    case .notControlled: 44
    case .backendAway: 45
    case .backendRefused: 46
    case .jobFailed: 47
    case .databaseUnusable: 48
    case .recording(let code): code
    case .notDelivered: 49
    case .deliveryRefused: 50
    case .incomplete: 51
    case .usage: 64
    case .forced: 130
    case .room(let kind): RoomError(kind).exitCode ?? ExitCode.unexpected.rawValue
    }
  }

  /// The exit code that a recording elsewhere had; nil for what is none of a failure.
  static func job(_ code: Int32) -> ExitCode? { (1...255).contains(code) ? .recording(code) : nil }
}

/// A failure as the user meets it: one line and an exit code.
struct Failure: Error {
  let exitCode: ExitCode
  let message: String

  init(_ exitCode: ExitCode, _ message: String) {
    self.exitCode = exitCode
    self.message = message
  }

  init(_ error: RoomError) { self.init(.room(error.kind), error.description) }
  init(_ error: ConfigurationError) { self.init(.usage, error.description) }
  init(_ error: DeliveryError) {
    let code: ExitCode =
      switch error.code {
      case .cancelled: .forced
      case .configuration: .usage
      case .file: .inputUnusable
      case .exists: .outputExists
      default: error.isPassing ? .notDelivered : .deliveryRefused
      }
    self.init(code, error.description)
  }

  init(_ error: WorkerError) { self.init(error.isFolder ? .outputNotWritable : .usage, error.description) }
  init(_ error: RoomServerError) { self.init(.addressInUse, error.description) }

  init(_ error: RecordingError) {
    switch error {
    case .output: self.init(.outputNotWritable, error.description)
    case .input: self.init(.inputUnusable, error.description)
    case .encoder, .neverStarted: self.init(.unexpected, error.description)
    }
  }
}
