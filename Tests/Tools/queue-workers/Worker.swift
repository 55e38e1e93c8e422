import Glibc
import Jobs
import JobsAPI
import MediaCore

/// Appends whole lines; a process that is killed leaves no half ones.
struct History: Sendable {
  let file: Int32

  func add(_ what: String, _ job: String, _ fence: Int64, _ worker: String, since start: UInt64) {
    let line = Array("\(what) \(job) \(fence) \(worker) \(start) \(Self.now())\n".utf8)
    _ = line.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
  }

  static func now() -> UInt64 { clock_gettime_nsec_np() }

  private static func clock_gettime_nsec_np() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// One worker. Ends only with its process, or with an error that must not happen.
func work(_ name: String, store: JobStore, history: History, seed: UInt64) async throws {
  var random = SeededRandom(seed: seed)
  var mine: [Job] = []
  var zombies: [Job] = []
  let parent = getppid()
  // A test that dies takes its workers along.
  while getppid() == parent {
    let start = History.now()
    do {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<7:
        let jobs = try await store.claim(worker: name, count: Int.random(in: 1...3, using: &random)).jobs
        for job in jobs { history.add("claimed", job.id, job.fence, name, since: start) }
        if jobs.isEmpty { history.add("nothing", "-", 0, name, since: start) }
        mine += jobs
      case 7..<13:
        guard let job = mine.randomElement(using: &random) else { continue }
        _ = try await store.heartbeat(job: job.id, fence: job.fence, report: JobReport(state: .running))
        history.add("beaten", job.id, job.fence, name, since: start)
      case 13..<15:
        guard let index = mine.indices.randomElement(using: &random) else { continue }
        let job = mine.remove(at: index)
        history.add("completing", job.id, job.fence, name, since: start)
        _ = try await store.complete(job: job.id, fence: job.fence, files: [])
        history.add("completed", job.id, job.fence, name, since: start)
      case 15 where Int.random(in: 0..<3, using: &random) == 0:
        zombies += mine
        mine = []
      case 16:
        guard let job = zombies.randomElement(using: &random) else { continue }
        if Bool.random(using: &random) {
          _ = try await store.heartbeat(job: job.id, fence: job.fence, report: JobReport(state: .uploading))
          history.add("beaten", job.id, job.fence, name, since: start)
        } else {
          history.add("completing", job.id, job.fence, name, since: start)
          _ = try await store.complete(job: job.id, fence: job.fence, files: [])
          history.add("completed", job.id, job.fence, name, since: start)
        }
      default:
        try await store.expire()
        history.add("expired", "-", 0, name, since: start)
      }
    } catch let error as StoreError {
      guard case .refused = error else { throw error }
      history.add("refused", "-", 0, name, since: start)
    } catch SQLError.unavailable {
      // What was asked may have happened or not; a real worker asks again or waits for its lease to end.
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
