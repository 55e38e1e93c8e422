import Delivery
import Foundation
import Glibc
import Jobs
import Logging
import WebM

/// From parts to files where they belong.
extension JobRun {
  /// Joins the parts, delivers, and tells the backend.
  func finish(_ error: JobError?) async -> Outcome {
    isRecorded = true
    shortfall = error
    state = .finishing
    await note(JournalEntry(kind: .recorded, job: id, fence: fence, error: error))
    // Nothing gets its final name under a lease that somebody else may have by now.
    while !(await beat()) {
      if isFenced { return .fenced }
      try? await Task.sleep(for: .seconds(1))
    }
    let all = allParts()
    let (found, lacks) = await gather(all)
    if isFenced { return .fenced }
    if !lacks.isEmpty {
      let lack = JobError(
        name: "partsMissing",
        message: "not reached from \(context.settings.name): \(lacks.joined(separator: "; ")); where they are, "
          + "`recbot concat` joins them with this file")
      logger.warning("parts can't be reached from here", metadata: ["reason": "\(lack.message)"])
      // Another worker may have them.
      if found.isEmpty { return .failed(lack, mayRetry: job.attempt < 10) }
      shortfall = shortfall ?? lack
    }
    guard !found.isEmpty else { return await complete([]) }
    var outcome: Outcome
    do {
      let sources = try await join(found)
      if isFenced { return .fenced }
      state = .uploading
      _ = await beat()
      let files = try await deliver(sources, parts: found)
      if isFenced { return .fenced }
      outcome = await complete(files)
      if isDone {
        await discard(found, sources)
        await handover.remove(all.map(\.location))
      }
    } catch let error as DeliveryError {
      context.counts.deliveryFailed()
      outcome = .failed(
        JobError(name: "deliveryFailed", message: error.description),
        mayRetry: error.isPassing || error.code == .file)
    } catch let error as WorkerError where !error.isFolder {
      // What the settings don't allow no other attempt gets round.
      outcome = .failed(JobError(name: "notDeliverable", message: error.description), mayRetry: false)
    } catch {
      outcome = .failed(JobError(name: "notFinished", message: "\(error)"), mayRetry: true)
    }
    return outcome
  }

  /// For so long what another worker may still be sending is waited for.
  private static let handoverTime = Duration.seconds(20)
  /// What a part's length may be short of what is known of it.
  private static let tolerance: Int64 = 3_000_000

  /// The parts as they are here, those of other machines fetched from the store; and what can't be reached of them.
  private func gather(_ all: [JobPart]) async -> (found: [JobPart], lacks: [String]) {
    let end = ContinuousClock.now + Self.handoverTime
    while true {
      var found: [JobPart] = []
      var lacks: [String] = []
      for part in all {
        if access(part.location, R_OK) == 0 {
          found.append(part)
          continue
        }
        let place = "on \(part.worker) at \(part.location)"
        guard let fetched = await fetch(part) else {
          lacks.append("\(Self.seconds(part.duration)) \(place)")
          continue
        }
        found.append(fetched)
        let rest = part.duration - fetched.duration
        if rest > Self.tolerance { lacks.append("the last \(Self.seconds(rest)) of the part \(place)") }
      }
      guard !lacks.isEmpty, handover.isPossible, !isFenced, ContinuousClock.now < end else { return (found, lacks) }
      try? await Task.sleep(for: .seconds(2))
    }
  }

  /// A part of another machine as a file here; nil when the store has nothing of it.
  private func fetch(_ part: JobPart) async -> JobPart? {
    guard let name = part.location.split(separator: "/").last, let folder = try? context.folder.parts(of: id) else {
      return nil
    }
    let path = "\(folder)/\(WorkerFolder.fileName(String(name.dropLast(name.hasSuffix(".webm") ? 5 : 0)))).webm"
    guard await handover.fetch(part.location, to: path), let found = await Blocking.run({ PartFile.probe(path) }) else {
      return nil
    }
    logger.info("fetched from the store", metadata: ["part": "\(part.worker):\(part.location)"])
    var part = part
    (part.location, part.duration) = (path, found.duration)
    return part
  }

  private static func seconds(_ microseconds: Int64) -> String { "\((microseconds + 500_000) / 1_000_000) s" }

  /// What was recorded of the job, here and before, in order of time.
  private func allParts() -> [JobPart] {
    let here = Set(parts.map(\.location))
    return (job.parts.filter { !here.contains($0.location) } + parts).sorted { $0.startedAt < $1.startedAt }
  }

  /// The finished file of some parts. One that ended well is finished as it is. Parts that can't be joined stay apart:
  /// nothing of a recording is lost.
  private func join(_ found: [JobPart]) async throws(WorkerError) -> [String] {
    if found.count == 1, wholeParts.contains(found[0].location) { return [found[0].location] }
    if found.count == 1, job.isRecorded, await isWhole(found[0].location) { return [found[0].location] }
    await dropLive()
    let path = "\(try context.folder.parts(of: id))/\(fence)-joined.webm"
    _ = unlink(path)
    let launch = context.settings.launch
    let result = await HelperProcess.run(
      launch.executable, ["concat", path] + found.map(\.location), environment: launch.environment)
    guard result.isSuccess, access(path, R_OK) == 0 else {
      logger.error("the parts can't be joined; they are delivered one by one", metadata: ["reason": "\(result.text)"])
      shortfall = JobError(name: "partsNotJoined", message: result.text)
      return found.map(\.location)
    }
    return [path]
  }

  private func isWhole(_ path: String) async -> Bool {
    await Blocking.run { (try? WebMProbe.probe(path)).map { $0.problems.isEmpty && $0.declaredDuration != nil } }
      ?? false
  }

  private func deliver(_ sources: [String], parts: [JobPart]) async throws -> [JobFile] {
    let time = parts.first?.startedAt.microseconds ?? Timestamp.now.microseconds
    let outputs = job.request.outputs.isEmpty ? [JobOutput()] : job.request.outputs
    var files: [JobFile] = []
    for source in sources {
      let duration = await Blocking.run { PartFile.probe(source)?.duration ?? 0 }
      for (index, output) in outputs.enumerated() {
        let target = try context.delivery.target(isStore: output.destination.map { $0 == .s3 })
        let name = try context.delivery.name(
          template: output.template, room: job.request.room, job: id, time: time, attempt: job.attempt)
        var done: Delivered?
        if index == 0, let live, live.path == source {
          live.task.cancel()
          await live.task.value
          done = await context.delivery.finish(live.upload)
          self.live = nil
        }
        var file = done
        if file == nil { file = try await bring(source, to: target, name: name) }
        guard let file else { continue }
        let isStored = file.location.hasPrefix("s3://")
        files.append(
          JobFile(
            location: file.location, size: file.size, duration: duration, sha256: file.sha256,
            dataFolder: isStored ? nil : context.folderID))
        if isFenced { return files }
        await runAfter(files[files.count - 1], path: isStored ? source : file.location)
        if isFenced { return files }
      }
    }
    return files
  }

  /// Runs the operator's command for a finished file. When it fails, the job is completed all the same, and says so.
  private func runAfter(_ file: JobFile, path: String) async {
    guard let after = context.settings.after else { return }
    logger.info("runs the command after finishing", metadata: ["file": "\(path)"])
    let values = [
      "RECORDING_FILE": path, "RECORDING_LOCATION": file.location, "RECORDING_JOB": id,
      "RECORDING_ROOM": job.request.room, "RECORDING_OWNER": job.owner, "RECORDING_SIZE": "\(file.size)",
      "RECORDING_SECONDS": "\(file.duration / 1_000_000)", "RECORDING_SHA256": file.sha256 ?? "",
      "RECORDING_ERROR": shortfall?.name ?? "",
    ]
    guard let reason = await after.run(values, while: { await !self.isFenced }), !isFenced else { return }
    let text = "the command after finishing \(reason)"
    logger.error("\(text)", metadata: ["file": "\(path)"])
    if shortfall == nil {
      shortfall = JobError(name: "afterFailed", message: "\(text); the worker's log has what it said")
    } else {
      shortfall?.message += "; \(text)"
    }
  }

  /// Brings a file where it belongs; when a store does not take it, to the backup folder, if there is one.
  private func bring(_ source: String, to target: DeliveryTarget, name: String) async throws(DeliveryError) -> Delivered
  {
    do {
      return try await context.delivery.deliver(source, to: target, name: name)
    } catch {
      guard case .s3 = target, let backup = context.settings.delivery.backup else { throw error }
      context.counts.deliveryFailed()
      logger.error("kept in the backup folder", metadata: ["reason": "\(error)"])
      let kept = try await context.delivery.keep(source, name: name, job: id, reason: error, in: backup)
      shortfall = JobError(
        name: "deliveryFailed", message: "waits in the backup folder to become \(kept.target): \(error)")
      return kept.file
    }
  }

  /// Tells the backend, now or when it is back.
  private func complete(_ files: [JobFile]) async -> Outcome {
    await note(JournalEntry(kind: .completing, job: id, fence: fence, files: files))
    let (id, request) = (id, CompleteRequest(fence: fence, files: files))
    _ = await beat()
    if isFenced { return .fenced }
    let answer = await context.insist(
      { client throws(BackendError) in _ = try await client.complete(job: id, request) }, logger: logger)
    switch answer {
    case .fenced: return .fenced
    // What the backend doesn't take stays in the journal, and the parts where they are.
    case .refused: return .recorded(shortfall)
    case .accepted: break
    }
    await close()
    isDone = true
    for file in files { logger.info("delivered", metadata: ["file": "\(file.location)"]) }
    return .recorded(shortfall)
  }

  /// What was delivered and verified needs no second place.
  private func discard(_ parts: [JobPart], _ sources: [String]) async {
    let paths = Set(parts.map(\.location) + sources)
    await Blocking.run {
      for path in paths {
        unlink(path)
        unlink(path + ".upload")
        if let slash = path.lastIndex(of: "/") { rmdir(String(path[..<slash])) }
      }
    }
  }

  /// Deletes what a recording without any picture has left.
  func discard(_ path: String) async {
    let log = log(of: path)
    await Blocking.run {
      unlink(path)
      if let log { try? FileManager.default.removeItem(atPath: log) }
    }
  }

  /// The folder of the session log that belongs to a part; nil: the job wants none.
  func log(of path: String) -> String? {
    guard job.request.log == true, let name = path.split(separator: "/").last else { return nil }
    return "\(context.settings.logs)/\(WorkerFolder.fileName("\(id)-\(name.split(separator: ".")[0])"))"
  }

  // MARK: Uploading meanwhile

  /// Begins to upload what is being recorded, when that is wanted and it is the job's first part.
  func startLive(_ path: String, startedAt: Timestamp) {
    let delivery = context.delivery
    guard live == nil, parts.count == 1, job.parts.isEmpty, delivery.plan.upload == .live else { return }
    let output = job.request.outputs.first ?? JobOutput()
    guard let target = try? delivery.target(isStore: output.destination.map { $0 == .s3 }),
      let name = try? delivery.name(
        template: output.template, room: job.request.room, job: id, time: startedAt.microseconds, attempt: job.attempt),
      let upload = delivery.live(path, to: target, name: name)
    else { return }
    let logger = logger
    let task = Task {
      var isTold = false
      while !Task.isCancelled {
        do throws(DeliveryError) {
          try await upload.advance()
        } catch {
          if !isTold { logger.notice("uploading lags behind", metadata: ["reason": "\(error)"]) }
          isTold = true
        }
        try? await Task.sleep(for: .seconds(5))
      }
    }
    live = (upload, task, path)
  }

  /// Takes an upload back that is of no use: of one part of several, or of a job that is somebody else's.
  func dropLive() async {
    guard let live else { return }
    self.live = nil
    live.task.cancel()
    await live.task.value
    await live.upload.cancel()
  }
}
