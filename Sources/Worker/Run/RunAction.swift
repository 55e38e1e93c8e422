import JobsAPI

/// What a run's shell does for its machine, in the order in which it is given.
enum RunAction: Hashable, Sendable {
  /// Write an entry, after those before it; answered by `journaled`.
  case journal(JournalEntry)
  /// Send a heartbeat, of which the backend may hold the answer for so many seconds; answered by its number.
  case heartbeat(Int, HeartbeatRequest, wait: Int64)
  /// Make the folders and start a process; answered by `notPrepared`, or by reports and `recorderEnded`.
  case startRecorder(RecordingOrder)
  /// Tell the process something.
  case tell(RecordingInput)
  /// Kill the process.
  case killRecorder
  /// Look at the file that a process has left; answered by `probed`.
  case probe(RunPiece)
  /// Delete what a process without any picture has left.
  case delete(RunPiece)
  /// Send a growing part to where other workers reach it, if that is wanted.
  case follow(String)
  /// Upload a recording while it grows.
  case beginUpload(String, startedAt: Timestamp, attempt: Int)
  /// Take back what was uploaded of it.
  case dropUpload
  /// Carry out a step of the finishing; answered by `finish`.
  case finish(RunFinish.Work)
  /// End the operator's command.
  case endAfter
  /// Tell the backend how the job ends; answered by `lastWordAnswered`.
  case tellLast(RunLastWord.Message)
  /// Ask the backend how the job stands; answered by `lookedUp`.
  case lookUp
  /// Bring parts to where other workers reach them; answered by `shared`.
  case share([String])
  /// Delete files here, and parts where other workers reach them; answered by `tidied`.
  case tidy(Set<String>, shared: [String])
  /// Count what has been recorded since the report before.
  case countReport(RecordingReport, after: RecordingReport?)
  /// Count the job.
  case countEnd(WorkerMetrics.End)
  /// Write a line into the log.
  case log(RunLog)
  /// The run is over.
  case end
}
