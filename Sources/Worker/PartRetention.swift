import Foundation
import Glibc
import JobsAPI
import Logging
import Platform

/// What workers that were replaced have left of their jobs. It is deleted when it is old and the backend says that the
/// job's files are complete without it; what may be the only copy of anything is never touched.
struct PartRetention: Sendable {
  /// Path of the worker's data folder.
  let data: String
  let client: BackendClient
  /// So old the newest file of a job's folder is at least.
  let age: Duration
  let logger: Logger

  /// Looks at all folders of parts once. Gives the jobs whose parts were deleted.
  @discardableResult
  func sweep(now: Timestamp) async -> [String] {
    var deleted: [String] = []
    for folder in await BlockingWork.run({ old(now: now) }) {
      guard !Task.isCancelled else { break }
      let id = String(folder.split(separator: "/").last ?? "")
      guard let job = try? await client.workerJob(id), Self.isComplete(job) else { continue }
      await BlockingWork.run { try? FileManager.default.removeItem(atPath: folder) }
      logger.notice("old parts of a completed job are deleted", metadata: ["job": "\(id)", "folder": "\(folder)"])
      deleted.append(id)
    }
    return deleted
  }

  /// True when everything that was recorded of a job is in its files.
  static func isComplete(_ job: Job) -> Bool {
    (job.state == .completed || job.state == .cancelled) && !job.files.isEmpty
      && job.error?.name != RunFinish.partsMissing
  }

  /// The folders in which nothing has changed for so long. Blocks for the disk.
  private func old(now: Timestamp) -> [String] {
    let files = FileManager.default
    func names(_ path: String) -> [String] { ((try? files.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    var found: [String] = []
    for place in names("\(data)/worker") where Int(place) != nil {
      for job in names("\(data)/worker/\(place)/parts") where WorkerFolder.fileName(job) == job {
        let folder = "\(data)/worker/\(place)/parts/\(job)"
        let newest = ([folder] + names(folder).map { "\(folder)/\($0)" }).map(Self.changedAt).max()
        if let newest, newest + age <= now { found.append(folder) }
      }
    }
    return found
  }

  private static func changedAt(_ path: String) -> Timestamp {
    var status = stat()
    guard lstat(path, &status) == 0 else { return Timestamp(microseconds: .max / 2) }
    return Timestamp(seconds: Int64(status.st_mtim.tv_sec))
  }
}
