import Jobs
import JobsAPI

/// What held requests and loops wait for. Any thread.
struct ChangeNotifiers: Sendable {
  /// Workers that wait for a job.
  let claims = ClaimTurns()
  /// Signs of life that wait for a command.
  let heartbeats = HeldHeartbeats()
  /// Something happened to a job.
  let events = Notifier()
  /// A recorder may have answered a command.
  let answers = Notifier()
  /// There may be something to tell receivers.
  let webhooks = Notifier()

  /// A job was made, or given back: somebody may take it.
  func jobIsFree() {
    claims.begin()
    for notifier in [events, webhooks] { notifier.notify() }
  }

  /// Something about a job has changed.
  func changed(_ job: String) {
    heartbeats.notify(job: job)
    for notifier in [events, answers, webhooks] { notifier.notify() }
  }

  /// A job has changed, and may be free now.
  func changed(_ job: Job) {
    changed(job.id)
    if job.state == .queued { claims.begin() }
  }

  /// What another backend said: the hint of a `JobStore`.
  func heard(_ hint: String) {
    switch JobHint(text: hint) {
    case .free: jobIsFree()
    case .changed(let id): changed(id)
    case nil:
      jobIsFree()
      heartbeats.notifyAll()
      answers.notify()
    }
  }

  /// True when the backend ends.
  var isClosed: Bool { claims.isClosed }

  /// Requests that are held are answered now, and none is held any more.
  func close() {
    claims.close()
    heartbeats.close()
    for notifier in [events, answers] { notifier.close() }
  }
}
