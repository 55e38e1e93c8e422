import JobsAPI
import MediaCore

/// What a run's decisions depend on besides its job.
struct RunSettings: Hashable, Sendable {
  /// The worker's name.
  var worker: String
  /// The folder of the job's parts, absolute.
  var parts: String
  /// The folder of session logs, absolute.
  var logs: String
  /// How long the backend may hold a heartbeat, in seconds.
  var heartbeatTime: Int64
  /// The credential for the TURN server of the settings.
  @Redacted var turnCredential: String? = nil
  /// Recordings are uploaded while they are made.
  var isUploadedLive = false
  /// Parts can come from other machines.
  var canFetchParts = false
  /// There is a command that is run after each file.
  var hasAfterCommand = false
  /// Why this worker can never deliver the job's files; nil: it can.
  var obstacle: String?
}
