import JobsAPI

/// What a run's shell tells its machine.
enum RunEvent: Hashable, Sendable {
  /// The run begins.
  case begun
  /// The journal has an entry, or could not be written.
  case journaled(JournalEntry.Kind, fence: Int64)
  /// A heartbeat was answered.
  case heartbeatAnswered(Int, HeartbeatAnswer)
  /// A heartbeat came to nothing.
  case heartbeatFailed(Int, BackendError)
  /// The backend gave the job to this same worker again.
  case renewed(Assignment)
  /// The job is to go on elsewhere.
  case handOver
  /// The folders of a recording can't be made, for a reason of one line.
  case notPrepared(String)
  /// The recording's process tells something. `hasLog`: its session log is there.
  case reported(RecordingReport, hasLog: Bool)
  /// The process is gone, and everything that it told was taken.
  case recorderEnded(RecordingProcess.Exit)
  /// A file that a process left was looked at; nil: there is nothing in it that could be played.
  case probed(RunPiece, PartFile?, hasLog: Bool)
  /// Work of the finishing is done.
  case finish(RunFinish.Event)
  /// The backend was told the last word under a lease; nil: it agreed.
  case lastWordAnswered(fence: Int64, BackendError?)
  /// The backend was asked about a job that somebody else has. `needsParts`: its new owner may want those that are here.
  case lookedUp(needsParts: Bool)
  /// The parts are where other workers reach them, as far as that is possible.
  case shared
  /// What the finished job needs no more is gone.
  case tidied
  /// A deadline has come.
  case timer
}
