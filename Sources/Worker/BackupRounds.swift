// `Jobs` has a `StoreDelivery` of its own (of webhooks): this file doesn't import it.
import Delivery
import Glibc
import JobsAPI
import Logging

/// Delivers what waits in the backup folder, again and again until nothing waits, and tells the backend where it is then.
/// Workers that share the folder take turns.
public struct BackupRounds: Sendable {
  /// The pause after a round that delivered all, and after the first that did not; it doubles up to the longest.
  private static let pauses = (first: Duration.seconds(60), longest: Duration.seconds(1800))

  private let folder: String
  private let delivery: FileDelivery
  private let target: DeliveryTarget
  private let client: BackendClient?
  private let logger: Logger

  /// Rounds with these settings; nil when there is no backup folder, or no store.
  ///
  /// - Parameter client: tells the backend; without one the next round that has one does.
  public init?(_ plan: DeliveryPlan, client: BackendClient?, logger: Logger) {
    guard let folder = plan.backup, let store = plan.store else { return nil }
    self.folder = folder
    self.client = client
    self.logger = logger
    delivery = FileDelivery(plan: plan, logger: logger)
    target = .s3(store)
  }

  /// Makes rounds until the task is cancelled.
  func runUntilCancelled() async {
    var pause = Self.pauses.first
    while !Task.isCancelled {
      let result = await round()
      pause = result.failed == 0 ? Self.pauses.first : min(pause * 2, Self.pauses.longest)
      try? await Task.sleep(for: pause)
    }
  }

  /// Tries once to deliver each file. Gives how many were delivered, and how many wait on; none of either when another
  /// process is at it.
  public func round() async -> (delivered: [String], failed: Int) {
    guard let store = try? BackupStore(folder: folder), let turn = Turn(folder) else { return ([], 0) }
    defer { turn.end() }
    var result: (delivered: [String], failed: Int) = ([], 0)
    for entry in (try? await store.entries()) ?? [] where !Task.isCancelled {
      do throws(DeliveryError) {
        let file = try await delivery.deliver(waiting: entry, in: store, to: target)
        result.delivered.append(file.location)
        logger.notice(
          "delivered from the backup folder", metadata: ["job": "\(entry.job)", "file": "\(file.location)"])
      } catch {
        result.failed += 1
        logger.warning(
          "a file waits on in the backup folder", metadata: ["file": "\(entry.file)", "reason": "\(error)"])
      }
    }
    if let client { result.failed += await tell(client, of: store) }
    return result
  }

  /// Tells the backend where files are that have left the folder. Gives how many of them it has not heard of.
  private func tell(_ client: BackendClient, of store: BackupStore) async -> Int {
    guard var departed = try? await store.departed(), let waiting = try? await store.entries() else { return 0 }
    let waitingJobs = Set(waiting.map(\.job))
    var untold = 0
    while !departed.isEmpty, !Task.isCancelled {
      let entry = departed.removeFirst()
      guard let file = entry.delivered else { continue }
      let isLast = !waitingJobs.contains(entry.job) && !departed.contains { $0.job == entry.job }
      let move = MovedRequest(
        from: entry.file, to: file.location, size: file.size, sha256: file.sha256, isLast: isLast)
      do throws(BackendError) {
        _ = try await client.moved(job: entry.job, move)
      } catch {
        // What the backend will never take need not be told again: the job is forgotten there.
        guard case .refused(status: 404, _) = error else {
          untold += 1
          logger.warning(
            "the backend has not heard where a file is", metadata: ["job": "\(entry.job)", "reason": "\(error)"])
          continue
        }
      }
      await store.forget(entry)
    }
    return untold
  }

  /// The right to deliver from a folder, which one process has at a time.
  private struct Turn {
    private let descriptor: Int32

    init?(_ folder: String) {
      descriptor = open("\(folder)/.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { return nil }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        close(descriptor)
        return nil
      }
    }

    func end() { close(descriptor) }
  }
}
