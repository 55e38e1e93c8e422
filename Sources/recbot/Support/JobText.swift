import JobsAPI

/// Jobs as lines for the terminal.
enum JobText {
  /// The job's name and how it stands, on one line.
  static func line(_ job: JobsAPI.Job) -> String { "\(RoomText.oneLine(job.id, limit: 128))  \(state(job))" }

  /// State, and what goes with it.
  static func state(_ job: JobsAPI.Job) -> String {
    var text = job.state.rawValue
    if job.isCancelling, !job.state.isFinal { text += ", being cancelled" }
    if job.state == .queued, job.notBefore > .now { text += " until \(TimeText.short(job.notBefore))" }
    if job.isIncomplete { text += ", but less than was asked for" }
    if let error = job.error {
      text += ": \(error.name)\(error.code.map { " (\($0))" } ?? ""): \(RoomText.oneLine(error.message, limit: 300))"
    }
    return text
  }

  /// Everything that one wants to know of a job.
  static func lines(_ detail: JobDetail) -> [String] {
    let job = detail.job
    var rows: [(String, String)] = [
      ("job", job.id), ("state", state(job)), ("room", job.request.room), ("owner", job.owner),
      ("made", TimeText.short(job.createdAt)),
    ]
    if let wait = detail.waitsFor { rows.append(("waits for", wait)) }
    if let start = job.request.startAt { rows.append(("starts", TimeText.short(start))) }
    if let deadline = job.request.deadline { rows.append(("deadline", TimeText.short(deadline))) }
    if let layout = job.request.layout { rows.append(("layout", layout)) }
    for rule in job.request.processors ?? [] { rows.append(("processor", rule)) }
    for sink in job.request.sinks ?? [] { rows.append(("sink", RoomText.oneLine(sink.name, limit: 120))) }
    if let key = job.request.key { rows.append(("key", key)) }
    if let origin = job.origin { rows.append(("made by", "\(origin.schedule) (\(origin.key))")) }
    if let lease = job.lease { rows.append(("worker", "\(lease.worker), attempt \(job.attempt)")) }
    for part in job.parts {
      rows.append(
        ("part \(part.attempt)", "\(TimeText.short(part.startedAt))  \(TimeText.length(part.duration))  \(part.worker)")
      )
      if let log = part.log { rows.append(("log \(part.attempt)", "\(log)  \(part.worker)")) }
    }
    for file in job.files {
      let end = file.deletedAt.map { "  deleted at \(TimeText.short($0))" } ?? ""
      rows.append(("file", "\(file.location)  \(TimeText.length(file.duration))  \(file.size) bytes\(end)"))
      for side in file.beside ?? [] { rows.append((side.kind.rawValue, "\(side.location)  \(side.size) bytes\(end)")) }
    }
    for command in job.commands {
      rows.append(("waiting", "\(command.verb.rawValue) \(command.argument ?? "")"))
    }
    for refusal in job.refusals ?? [] {
      let command = [refusal.verb?.rawValue, refusal.argument].compactMap { $0 }.joined(separator: " ")
      rows.append(("refused", "\(command): \(refusal.message)"))
    }
    for webhook in detail.undelivered {
      let end = webhook.isGivenUp ? "given up" : "sent again"
      rows.append(
        (
          "webhook",
          "\(webhook.event.rawValue) to \(webhook.url): \(webhook.reason) (attempt \(webhook.attempts), \(end))"
        ))
    }
    for (name, value) in job.request.metadata.sorted(by: { $0.key < $1.key }) { rows.append(("\(name) =", value)) }
    if let end = job.finishedAt { rows.append(("ended", TimeText.short(end))) }
    return aligned(rows)
  }

  /// Names and values in two columns.
  static func aligned(_ rows: [(String, String)]) -> [String] {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { name, value in
      let name = RoomText.oneLine(name, limit: 40)
      return name + String(repeating: " ", count: max(0, width - name.count) + 2) + RoomText.oneLine(value, limit: 400)
    }
  }
}
