import JobsAPI
import Signaling
import SwiftProtobuf

/// Jobs in the terms of LiveKit's Egress API. Pure. Every job can be told in them, whoever asked for it.
enum EgressInfo {
  private static let (jobPrefix, egressPrefix) = ("job_", "EG_")

  /// The egress id of a job: `EG_` instead of `job_`.
  static func id(ofJob id: String) -> String {
    id.hasPrefix(jobPrefix) ? egressPrefix + id.dropFirst(jobPrefix.count) : id
  }

  /// The job of an egress id; nil for what can't be one.
  static func job(ofEgress id: String) -> String? {
    guard id.hasPrefix(egressPrefix), id.utf8.count <= 64 else { return nil }
    return jobPrefix + id.dropFirst(egressPrefix.count)
  }

  /// Where a job stands.
  ///
  /// | job | egress |
  /// | --- | --- |
  /// | queued or waiting, nothing recorded yet | STARTING |
  /// | queued again or waiting, with parts; running, reconnecting, paused | ACTIVE |
  /// | the same, told to stop; finishing, uploading | ENDING |
  /// | completed | COMPLETE; LIMIT_REACHED at `max_duration`; ABORTED without a file |
  /// | failed | FAILED |
  /// | cancelled | ABORTED |
  static func status(of job: Job) -> Livekit_EgressStatus {
    switch job.state {
    case .completed:
      if job.files.isEmpty { return .egressAborted }
      return reachedLimit(job) ? .egressLimitReached : .egressComplete
    case .failed: return .egressFailed
    case .cancelled: return .egressAborted
    case .finishing, .uploading: return .egressEnding
    case .running, .reconnecting, .paused: return isEnding(job) ? .egressEnding : .egressActive
    case .queued, .waiting:
      if isEnding(job) { return .egressEnding }
      return job.parts.isEmpty ? .egressStarting : .egressActive
    }
  }

  /// The status as the API spells it.
  static func statusName(of job: Job) -> String {
    switch status(of: job) {
    case .egressStarting: "EGRESS_STARTING"
    case .egressActive: "EGRESS_ACTIVE"
    case .egressEnding: "EGRESS_ENDING"
    case .egressComplete: "EGRESS_COMPLETE"
    case .egressFailed: "EGRESS_FAILED"
    case .egressAborted: "EGRESS_ABORTED"
    case .egressLimitReached: "EGRESS_LIMIT_REACHED"
    case .UNRECOGNIZED(let number): "\(number)"
    }
  }

  private static func isEnding(_ job: Job) -> Bool {
    job.isRecorded || job.isCancelling || job.commands.contains { $0.verb == .stop || $0.verb == .cancel }
  }

  private static func reachedLimit(_ job: Job) -> Bool {
    guard let limit = job.request.maxDuration, let duration = job.files.map(\.duration).max() else { return false }
    // A picture more or less: what counts is that nobody else ended it.
    return duration / 1_000_000 >= limit || duration % 1_000_000 >= 500_000 && duration / 1_000_000 == limit - 1
  }

  /// Everything about a job.
  static func make(_ job: Job) -> Livekit_EgressInfo {
    var info = Livekit_EgressInfo()
    info.egressID = id(ofJob: job.id)
    info.roomName = job.request.room
    info.roomID = roomID(of: job)
    info.status = status(of: job)
    info.request = request(of: job)
    if case .roomComposite = info.request { info.sourceType = .web } else { info.sourceType = .sdk }
    let started = job.parts.first?.startedAt ?? job.createdAt
    info.startedAt = nanoseconds(started)
    info.updatedAt = nanoseconds(max(job.updatedAt, started))
    if let finished = job.finishedAt { info.endedAt = nanoseconds(finished) }
    info.retryCount = Int32(clamping: max(0, job.attempt - 1))
    info.fileResults = files(of: job)
    if let first = info.fileResults.first { info.file = first }
    addReason(to: &info, job)
    return info
  }

  /// The room's id, as far as it is known: the bot learns it on joining, and a recording that began because its room
  /// did was told it before.
  private static func roomID(of job: Job) -> String {
    if let sid = job.roomSID { return sid }
    guard let key = job.origin?.key, key.hasPrefix("RM_") else { return "" }
    return key
  }

  private static func files(of job: Job) -> [Livekit_FileInfo] {
    if !job.files.isEmpty {
      let (started, ended) = (job.parts.first?.startedAt ?? job.createdAt, job.finishedAt)
      return job.files.map { file in
        .with {
          $0.filename = name(of: job, at: file.location)
          $0.location = file.location
          $0.size = file.size
          $0.duration = file.duration.multipliedReportingOverflow(by: 1000).partialValue
          $0.startedAt = nanoseconds(started)
          if let ended { $0.endedAt = nanoseconds(ended) }
        }
      }
    }
    // Of a job that failed or was cancelled there is what was recorded until then, part by part.
    if job.state.isFinal, !job.parts.isEmpty {
      return job.parts.map { part in
        .with {
          $0.filename = part.location.split(separator: "/").last.map(String.init) ?? part.location
          $0.location = part.location
          $0.duration = part.duration.multipliedReportingOverflow(by: 1000).partialValue
          $0.startedAt = nanoseconds(part.startedAt)
          $0.endedAt = nanoseconds(part.startedAt + .microseconds(part.duration))
        }
      }
    }
    // While it is being made, its name is known when no time stands in it.
    return job.request.outputs.compactMap(\.path).filter { !$0.contains("{time}") }.map { path in
      .with { $0.filename = path.replacing("{room}", with: job.request.room).replacing("{job}", with: job.id) }
    }
  }

  /// The path that was asked for, with what was filled in; without one, the last component.
  private static func name(of job: Job, at location: String) -> String {
    let depth = job.request.outputs.first?.path?.split(separator: "/").count ?? 1
    return location.split(separator: "/").suffix(max(1, depth)).joined(separator: "/")
  }

  private static func addReason(to info: inout Livekit_EgressInfo, _ job: Job) {
    switch info.status {
    case .egressAborted:
      info.error = job.error?.message ?? "Stop called before pipeline could start"
      info.errorCode = 412
      info.details = "End reason: StopEgress API"
    case .egressLimitReached:
      info.error = "Session limit reached"
      info.errorCode = 413
      info.details = "End reason: Session limit reached"
    case .egressFailed:
      info.error = job.error.map { "\($0.name): \($0.message)" } ?? "failed"
      info.errorCode = 500
      info.details = "End reason: Failure"
    default: break
    }
  }

  /// The request as it was given; of jobs that came another way, the same in LiveKit's terms.
  private static func request(of job: Job) -> Livekit_EgressInfo.OneOf_Request {
    if let egress = job.request.egress {
      func read<Request: EgressRequest>(_: Request.Type) -> Request? {
        guard egress.kind == Request.kind else { return nil }
        return SignalCoding.decode(
          Request.self, Array(egress.request.utf8), isText: true, depth: EgressJSON.depth)
      }
      if let request = read(Livekit_RoomCompositeEgressRequest.self) { return .roomComposite(request) }
      if let request = read(Livekit_ParticipantEgressRequest.self) { return .participant(request) }
      if let request = read(Livekit_TrackCompositeEgressRequest.self) { return .trackComposite(request) }
      if let request = read(Livekit_TrackEgressRequest.self) { return .track(request) }
    }
    return .roomComposite(
      .with {
        $0.roomName = job.request.room
        $0.layout = job.request.layout ?? ""
        $0.fileOutputs = job.request.outputs.map { output in .with { $0.filepath = output.path ?? "" } }
      })
  }

  /// What LiveKit's webhooks tell of an event; nil for what they have no word for.
  static func webhook(of event: JobEvent) -> Livekit_WebhookEvent? {
    let info = make(event.job)
    let name: String
    switch event.kind {
    case .created: name = "egress_started"
    case .completed, .failed, .cancelled: name = "egress_ended"
    case .started, .updated, .requeued:
      // The way to the first picture is one status.
      guard info.status != .egressStarting else { return nil }
      name = "egress_updated"
    // LiveKit has told the end, after which nothing comes.
    case .delivered: return nil
    }
    return .with {
      $0.event = name
      $0.id = event.id
      $0.createdAt = event.at.seconds
      $0.egressInfo = info
    }
  }

  private static func nanoseconds(_ time: Timestamp) -> Int64 {
    let (value, isTooLarge) = time.microseconds.multipliedReportingOverflow(by: 1000)
    return isTooLarge ? .max : value
  }
}
