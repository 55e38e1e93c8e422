// `Jobs` has a `StoreDelivery` of its own (of webhooks): this file doesn't import it.
import Delivery
import Foundation
import JobsAPI
import Logging

/// The parts of one job on their way between machines: into the store while they are recorded or when the job is given
/// away, and out of it where the job is finished. With files that stay on this machine, nothing happens.
actor PartHandover {
  /// How often what is new is sent: with what a Cluster holds back, the most that is lost with a machine.
  private static let interval = Duration.seconds(1)

  private let delivery: StoreDelivery?
  private let isLive: Bool
  private let sideFiles: [JobSideFile.Kind]
  private let folder: String
  private let logger: Logger
  private var uploads: [String: (upload: PartUpload, task: Task<Void, Never>)] = [:]

  /// `isStore`: for each of the job's outputs whether it goes to the store; nil: as the worker's settings say.
  init(
    job: String, isStore: [Bool?], sideFiles: [JobSideFile.Kind], delivery: FileDelivery, logger: Logger
  ) {
    self.sideFiles = sideFiles.filter { !$0.isDrawn }
    self.delivery = delivery.partDelivery(isStore: isStore)
    isLive = delivery.plan.upload == .live
    folder = WorkerFolder.fileName(job)
    self.logger = logger
  }

  /// True when parts can come from other machines.
  nonisolated var isPossible: Bool { delivery != nil }

  /// Sends a part and its further files while they are being written.
  func follow(_ path: String) {
    for one in [path] + further(of: path) { begin(one) }
  }

  /// The further files of a part.
  private func further(of path: String) -> [String] {
    sideFiles.filter(\.isFurther).map { $0.path(beside: path) }
  }

  private func begin(_ path: String) {
    guard isLive, uploads[path] == nil, let upload = upload(of: path) else { return }
    let logger = logger
    let task = Task {
      var isTold = false
      while !Task.isCancelled {
        do throws(DeliveryError) {
          try await upload.advance()
          isTold = false
        } catch {
          if !isTold, !Task.isCancelled {
            logger.notice("sending the part lags behind", metadata: ["reason": "\(error)"])
          }
          isTold = true
        }
        try? await Task.sleep(for: Self.interval)
      }
    }
    uploads[path] = (upload, task)
  }

  /// Sends all of parts that nobody writes any more, for another worker to have them.
  func share(_ paths: [String]) async {
    for path in paths where FileManager.default.fileExists(atPath: path) {
      for one in [path] + further(of: path) {
        let known = uploads[one]
        await stop(one)
        if one == path {
          // First what is small: whoever has the part has these, too.
          for kind in sideFiles where !kind.isFurther { await share(beside: kind.path(beside: path)) }
        }
        guard FileManager.default.fileExists(atPath: one), let upload = known?.upload ?? upload(of: one) else {
          continue
        }
        do throws(DeliveryError) {
          try await upload.finish()
          logger.info("the part is in the store for others", metadata: ["part": "\(one)"])
        } catch {
          logger.warning(
            "the part is only here: another worker can't have it", metadata: ["part": "\(one)", "reason": "\(error)"])
        }
      }
    }
  }

  /// Sends what tells of a part. It is missed in one place of the joined document, no more.
  private func share(beside path: String) async {
    guard let delivery, FileManager.default.fileExists(atPath: path) else { return }
    do throws(DeliveryError) {
      try await delivery.sharePart(file: path, name: name(of: path))
    } catch {
      logger.warning("what tells of a part is only here", metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }

  /// Fetches what the store has of a part that another worker recorded; false when it has nothing.
  func fetch(_ location: String, to path: String) async -> Bool {
    guard let delivery else { return false }
    do throws(DeliveryError) {
      return try await delivery.fetchPart(name(of: location), to: path)
    } catch {
      logger.warning("a part can't be fetched", metadata: ["part": "\(location)", "reason": "\(error)"])
      return false
    }
  }

  /// Removes parts from the store: the finished files are where they belong.
  func remove(_ locations: [String]) async {
    await stopAll()
    guard let delivery else { return }
    for location in locations.flatMap({ part in [part] + sideFiles.map { $0.path(beside: part) } }) {
      do throws(DeliveryError) {
        try await delivery.removePart(name(of: location))
      } catch {
        logger.notice("a part stays in the store", metadata: ["part": "\(location)", "reason": "\(error)"])
      }
    }
  }

  /// Sends nothing more.
  func stopAll() async { for path in Array(uploads.keys) { await stop(path) } }

  private func stop(_ path: String) async {
    guard let known = uploads.removeValue(forKey: path) else { return }
    known.task.cancel()
    await known.task.value
  }

  private func upload(of path: String) -> PartUpload? {
    try? delivery?.part(file: path, name: name(of: path))
  }

  /// The part's name in the store: made of its path, which the backend knows, so that nobody must be told another one.
  private func name(of location: String) -> String {
    let file = location.split(separator: "/").last.map(String.init) ?? ""
    return "\(folder)/\(WorkerFolder.fileName(file.hasSuffix(".webm") ? String(file.dropLast(5)) : file))"
  }
}
