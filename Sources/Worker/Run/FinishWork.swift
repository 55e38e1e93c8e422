import Delivery
import Glibc
import JobsAPI
import Logging
import Platform
import WebM

/// Carries out the steps of finishing a job: finds, joins and delivers files. Any thread.
struct FinishWork: Sendable {
  let context: RunContext
  /// The job as it was given to this worker.
  let job: Job
  let handover: PartHandover
  let logger: Logger

  /// Why this worker can never deliver the job's files, in one line; nil: it can.
  static func obstacle(for job: Job, _ delivery: FileDelivery) -> String? {
    for output in job.request.outputs.isEmpty ? [JobOutput()] : job.request.outputs {
      do throws(WorkerError) {
        _ = try delivery.target(isStore: output.destination.map { $0 == .s3 })
        _ = try delivery.name(template: output.template, room: job.request.room, job: job.id, time: 0, attempt: 1)
      } catch {
        return error.description
      }
    }
    return nil
  }

  /// Does one step.
  ///
  /// - Parameters:
  ///   - upload: what was uploaded of the file while it grew.
  ///   - isWanted: is asked now and then whether the operator's command may go on.
  func carryOut(
    _ work: RunFinish.Work, upload: RecordingUpload?, while isWanted: @escaping @Sendable () async -> Bool
  ) async -> RunFinish.Event {
    switch work {
    case .gather(let parts):
      var places: [RunFinish.Place] = []
      for part in parts { places.append(await find(part)) }
      return .gathered(places)
    case .inspect(let path):
      let isWhole = await BlockingWork.run {
        (try? WebMProbe.probe(path)).map { $0.problems.isEmpty && $0.declaredDuration != nil }
      }
      return .inspected(isWhole: isWhole ?? false)
    case .join(let paths, let path): return await join(paths, into: path)
    case .deliver(let item): return await deliver(item, upload: upload)
    case .runAfter(let file, let path, let error):
      return .afterEnded(await runAfter(file, path: path, error: error, while: isWanted))
    }
  }

  private func find(_ part: JobPart) async -> RunFinish.Place {
    if access(part.location, R_OK) == 0 { return .here }
    guard let name = part.location.split(separator: "/").last, let folder = try? context.folder.parts(of: job.id)
    else { return .missing }
    let path = "\(folder)/\(WorkerFolder.fileName(String(name.dropLast(name.hasSuffix(".webm") ? 5 : 0)))).webm"
    guard await handover.fetch(part.location, to: path), let found = await BlockingWork.run({ PartFile.probe(path) })
    else { return .missing }
    for kind in job.request.sideFiles where !kind.isDrawn {
      _ = await handover.fetch(kind.path(beside: part.location), to: kind.path(beside: path))
    }
    logger.info("fetched from the store", metadata: ["part": "\(part.worker):\(part.location)"])
    return .fetched(path: path, duration: found.duration)
  }

  private func join(_ paths: [String], into path: String) async -> RunFinish.Event {
    do throws(WorkerError) {
      _ = try context.folder.parts(of: job.id)
    } catch {
      return .failed(.other("\(error)"))
    }
    _ = unlink(path)
    var flags: [String] = []
    for kind in job.request.sideFiles {
      _ = unlink(kind.path(beside: path))
      if !kind.isFurther, !kind.isDrawn { flags += ["--\(kind.rawValue)", kind.path(beside: path)] }
    }
    let result = await concat(path, paths + flags)
    guard result.isSuccess, access(path, R_OK) == 0 else { return .notJoined(result.text) }
    for kind in job.request.sideFiles where kind.isFurther {
      // Of a part that has none, and of one without a frame, the recording has pictures and this file a gap.
      let parts = paths.map { kind.path(beside: $0) }.filter { access($0, R_OK) == 0 }
      guard !parts.isEmpty else { continue }
      let result = await concat(kind.path(beside: path), parts)
      if !result.isSuccess {
        logger.error(
          "a further file cannot be joined", metadata: ["file": "\(kind.rawValue)", "reason": "\(result.text)"])
      }
    }
    return .joined(path)
  }

  private func concat(_ path: String, _ arguments: [String]) async -> HelperProcess.Result {
    let launch = context.settings.launch
    return await HelperProcess.run(
      launch.executable, ["concat", path] + arguments, environment: launch.environment)
  }

  private func deliver(_ item: RunFinish.Item, upload: RecordingUpload?) async -> RunFinish.Event {
    var duration = item.duration
    if duration == nil { duration = await BlockingWork.run { PartFile.probe(item.source)?.duration } }
    do {
      let target = try context.delivery.target(isStore: item.output.destination.map { $0 == .s3 })
      let name = try context.delivery.name(
        template: item.output.template, room: job.request.room, job: job.id, time: item.time, attempt: item.attempt)
      let done: (file: Delivered, shortfall: JobError?)
      if let file = await upload?.finish() {
        done = (file, nil)
      } else {
        done = try await bring(item.source, to: target, name: name)
      }
      let isStored = done.file.location.hasPrefix("s3://")
      var file = JobFile(
        location: done.file.location, size: done.file.size, duration: duration ?? 0, sha256: done.file.sha256,
        dataFolder: isStored ? nil : context.folderID)
      let beside = await bringBeside(item.source, to: target, name: Self.name(name, of: done.file, done.shortfall))
      file.beside = beside.isEmpty ? nil : beside
      let lack = await lack(item.source, of: file)
      return .delivered(
        file, path: isStored ? item.source : file.location, shortfall: done.shortfall ?? lack)
    } catch let error as DeliveryError {
      context.metrics.deliveryFailed()
      return .failed(.delivery(error))
    } catch let error as WorkerError {
      return .failed(error.isFolder ? .other("\(error)") : .settings(error.description))
    } catch {
      return .failed(.other("\(error)"))
    }
  }

  /// Brings a file where it belongs; when a store does not take it, to the backup folder, if there is one.
  private func bring(
    _ source: String, to target: DeliveryTarget, name: String
  ) async throws(DeliveryError) -> (file: Delivered, shortfall: JobError?) {
    do {
      return (try await context.delivery.deliver(source, to: target, name: name), nil)
    } catch {
      guard case .s3 = target, let backup = context.settings.delivery.backup else { throw error }
      context.metrics.deliveryFailed()
      logger.error("kept in the backup folder", metadata: ["reason": "\(error)"])
      let kept = try await context.delivery.keep(source, name: name, job: job.id, reason: error, in: backup)
      let shortfall = JobError(
        name: "deliveryFailed", message: "waits in the backup folder to become \(kept.target): \(error)")
      return (kept.file, shortfall)
    }
  }

  /// The name that a file got, which is another than was wanted when something had that.
  private static func name(_ wanted: String, of file: Delivered, _ shortfall: JobError?) -> String {
    guard shortfall == nil, let last = file.location.split(separator: "/").last else { return wanted }
    return (wanted.split(separator: "/").dropLast() + [last]).joined(separator: "/")
  }

  /// Brings what is beside a file along. What can't be brought is missed: the recording is worth more.
  private func bringBeside(_ source: String, to target: DeliveryTarget, name: String) async -> [JobSideFile] {
    for fault in await DrawnFiles(of: job, context.settings.launch).draw(beside: source) {
      logger.error("what is beside a recording is not drawn", metadata: ["reason": "\(fault)"])
    }
    var files: [JobSideFile] = []
    var image: String?
    for kind in job.request.sideFiles {
      let (path, wanted) = (kind.path(beside: source), kind.path(beside: name))
      do {
        if kind == .storyboard {
          // Without its image it is nothing.
          guard let image else { continue }
          try await DrawnFiles.name(image, in: path)
        }
        let done = try await bring(path, to: target, name: wanted)
        let file = done.file
        files.append(JobSideFile(kind: kind, location: file.location, size: file.size, sha256: file.sha256))
        if kind == .storyboardImage {
          image = Self.name(wanted, of: file, done.shortfall).split(separator: "/").last.map(String.init)
        }
      } catch {
        logger.error("the \(kind.rawValue) file is not delivered", metadata: ["reason": "\(error)"])
      }
    }
    return files
  }

  /// What the further and drawn files of a delivered one lack; nil: nothing. It costs the recording nothing.
  private func lack(_ source: String, of file: JobFile) async -> JobError? {
    var faults: [String] = []
    // Looking at a recording reads all of it.
    let isCompared = job.request.sideFiles.contains(where: \.isFurther)
    let wanted = isCompared ? await BlockingWork.run { PartFile.probe(source) } : nil
    for kind in job.request.sideFiles where kind.isFurther || kind.isDrawn {
      guard file.beside?.contains(where: { $0.kind == kind }) == true else {
        faults.append("\(kind.rawValue) is missing")
        continue
      }
      guard kind.isFurther else { continue }
      let found = await BlockingWork.run { PartFile.probe(kind.path(beside: source)) }
      if let found, abs(found.duration &- file.duration) > Self.furtherSlack {
        faults.append("\(kind.rawValue) has \(found.duration / 1_000_000) s of \(file.duration / 1_000_000) s")
      } else if let found, let wanted, found.gaps &- wanted.gaps > Self.furtherSlack {
        // It is missing of a part between others.
        let (its, all) = (found.gaps / 1_000_000, wanted.gaps / 1_000_000)
        faults.append("\(kind.rawValue) has gaps of \(its) s, the recording of \(all) s")
      }
    }
    guard !faults.isEmpty else { return nil }
    return JobError(
      name: "alsoFailed",
      message: "\(faults.joined(separator: "; ")); the worker's log says why, the recording is whole")
  }

  /// By so much a further file may be longer or shorter, in microseconds: what a kill leaves of each differs.
  private static let furtherSlack: Int64 = 2_000_000

  private func runAfter(
    _ file: JobFile, path: String, error: String, while isWanted: @escaping @Sendable () async -> Bool
  ) async -> String? {
    let values = [
      "RECORDING_FILE": path, "RECORDING_LOCATION": file.location, "RECORDING_JOB": job.id,
      "RECORDING_ROOM": job.request.room, "RECORDING_OWNER": job.owner, "RECORDING_SIZE": "\(file.size)",
      "RECORDING_SECONDS": "\(file.duration / 1_000_000)", "RECORDING_SHA256": file.sha256 ?? "",
      "RECORDING_ERROR": error,
    ]
    return await context.settings.after?.run(values, while: isWanted)
  }

  /// Deletes what was delivered and verified, and takes it from where other workers reach it.
  func tidy(_ paths: Set<String>, shared: [String]) async {
    await BlockingWork.run {
      for path in paths {
        for file in [path] + job.request.sideFiles.map({ $0.path(beside: path) }) {
          unlink(file)
          unlink(file + ".upload")
          unlink(file + ".part")
        }
        if let slash = path.lastIndex(of: "/") { rmdir(String(path[..<slash])) }
      }
    }
    await handover.remove(shared)
  }
}
