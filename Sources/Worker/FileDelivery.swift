// `Jobs` has a `StoreDelivery` of its own (of webhooks): this file doesn't import it.
import Delivery
import Foundation
import JobsAPI
import Logging
import MediaCore

/// A file where it belongs, compared with the original there.
struct Delivered: Sendable {
  var location: String
  var size: Int64
  var sha256: String
}

/// Brings files to where they belong, under names that nothing else has.
struct FileDelivery: Sendable {
  let plan: DeliveryPlan
  let logger: Logger
  /// How many names are tried when others have them.
  private static let names = 50

  /// Where a job's output goes. Throws `WorkerError` when there is no such place.
  func target(isStore: Bool?) throws(WorkerError) -> DeliveryTarget {
    guard isStore ?? (plan.upload != .off) else { return .local(root: plan.local) }
    guard let store = plan.store else {
      throw WorkerError("this worker has no store: set delivery.s3-bucket (RECBOT_S3_BUCKET)")
    }
    return .s3(store)
  }

  /// The name of a job's file. `time`: when the recording began, microseconds since 1970.
  func name(template: String?, room: String, job: String, time: Int64, attempt: Int) throws(WorkerError) -> String {
    do {
      let template = try template.map { text throws(FileNameError) in try KeyTemplate(text) } ?? plan.template
      let name = template.name(KeyTemplate.Values(room: room, job: job, time: time, attempt: attempt))
      // What is asked for as another kind of file (by clients of other recorders) is WebM all the same.
      return name.lowercased().hasSuffix(".webm") ? name : name + ".webm"
    } catch {
      throw WorkerError(error.description)
    }
  }

  /// Brings a finished file there; the original stays.
  func deliver(_ file: String, to target: DeliveryTarget, name: String) async throws(DeliveryError) -> Delivered {
    let delivery = StoreDelivery(target, options: plan.options, logger: logger)
    for number in 1...Self.names {
      do {
        let done = try await delivery.deliver(file: file, name: Self.name(name, number: number))
        return Delivered(location: done.location, size: done.size, sha256: done.sha256)
      } catch  where error.code == .exists && number < Self.names {
        continue
      }
    }
    throw DeliveryError(.exists, "\(name) and \(Self.names - 1) names like it are taken")
  }

  /// What keeps parts of a job for other workers: the store, when any of the job's files goes there.
  func partDelivery(isStore: [Bool?]) -> StoreDelivery? {
    let isWanted = (isStore.isEmpty ? [nil] : isStore).contains { $0 ?? (plan.upload != .off) }
    guard isWanted, let store = plan.store else { return nil }
    return StoreDelivery(.s3(store), options: plan.options, logger: logger)
  }

  /// Brings a file from the backup folder to where it belongs; it leaves the folder then.
  func deliver(
    waiting entry: BackupStore.Entry, in store: BackupStore, to target: DeliveryTarget
  ) async throws(DeliveryError) -> Delivered {
    let delivery = StoreDelivery(target, options: plan.options, logger: logger)
    for number in 1...Self.names {
      do throws(DeliveryError) {
        var named = entry
        named.name = Self.name(entry.name, number: number)
        let done = try await store.deliver(named, by: delivery)
        return Delivered(location: done.location, size: done.size, sha256: done.sha256)
      } catch {
        guard error.code == .exists, number < Self.names else { throw error }
      }
    }
    throw DeliveryError(.exists, "\(entry.name) and \(Self.names - 1) names like it are taken")
  }

  /// Keeps a file in the backup folder until the store takes it; the file stays where it is, too.
  func keep(
    _ file: String, name: String, job: String, reason: DeliveryError, in folder: String
  ) async throws(DeliveryError) -> (file: Delivered, target: String) {
    let store = try BackupStore(folder: folder)
    for number in 1...Self.names {
      let name = Self.name(name, number: number)
      do throws(DeliveryError) {
        let entry = try await store.keep(file: file, name: name, job: job, reason: reason)
        let (size, sha256) = try await store.measure(entry)
        let target = plan.store.map { StoreDelivery(.s3($0), options: plan.options, logger: logger) }
        return (Delivered(location: entry.file, size: size, sha256: sha256), target?.location(of: name) ?? name)
      } catch {
        guard error.code == .exists, number < Self.names else { throw error }
      }
    }
    throw DeliveryError(.exists, "\(name) and \(Self.names - 1) names like it are taken")
  }

  /// Begins to upload a file that is being written; nil when files are not uploaded meanwhile.
  func live(_ file: String, to target: DeliveryTarget, name: String) -> LiveUpload? {
    guard plan.upload == .live else { return nil }
    return try? StoreDelivery(target, options: plan.options, logger: logger).live(file: file, name: name)
  }

  /// Completes such an upload; nil when the file must be delivered as a whole instead.
  func finish(_ upload: LiveUpload) async -> Delivered? {
    do {
      let done = try await upload.finish()
      return Delivered(location: done.location, size: done.size, sha256: done.sha256)
    } catch {
      logger.notice("the upload made while recording is not usable", metadata: ["reason": "\(error)"])
      await upload.cancel()
      return nil
    }
  }

  /// `a.webm`, `a-2.webm`, `a-3.webm` …; so with what is beside a recording.
  static func name(_ name: String, number: Int) -> String {
    guard number > 1 else { return name }
    for kind in JobSideFile.Kind.allCases where name.hasSuffix(kind.ending) {
      return "\(name.dropLast(kind.ending.count))-\(number)\(kind.ending)"
    }
    let stem = name.lowercased().hasSuffix(".webm") ? String(name.dropLast(5)) : name
    return "\(stem)-\(number).webm"
  }
}
