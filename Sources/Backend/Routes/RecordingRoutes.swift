import Hummingbird
import Jobs
import JobsAPI
import NIOCore

/// Finished files: seeing, fetching, deleting them, and links to them.
struct RecordingRoutes: RouteGroup {
  let recordings: RecordingStore
  let jobs: JobStore
  let workers: WorkerStore

  func add(to routes: Routes) {
    routes.caller(.get, "/v1/recordings", .recordingsRead) { call, caller in
      let filter = JobFilter(owner: caller.visibleOwner, room: try call.query("room"), rooms: caller.rooms)
      return .json(
        try await recordings.list(filter, after: try call.query("after"), limit: try call.pageSize()))
    }
    routes.caller(.get, "/v1/recordings/{id}", .recordingsRead) { call, caller in
      .json(Self.page(of: try Self.finished(try await found(by: call, caller))))
    }
    routes.caller(.delete, "/v1/recordings/{id}", .recordingsWrite) { call, caller in
      try await delete(try await found(by: call, caller), call)
      return Response(status: .noContent)
    }
    routes.caller(.post, "/v1/recordings/{id}/links", .recordingsRead) { call, caller in
      let request = try await call.decode(LinkRequest.self)
      let job = try await found(by: call, caller)
      let number = try Self.file(request.number, beside: request.beside, of: job).number
      let lifetime = request.lifetime ?? FileLinks.usualLifetime
      guard FileLinks.lifetimes.contains(lifetime) else {
        throw Refusal.invalid("lifetime_seconds: 1 to \(FileLinks.lifetimes.upperBound), a week")
      }
      let until = Timestamp.now.seconds + lifetime
      let query = call.core.links.query(job: job.id, number: number, beside: request.beside, until: until)
      let link = LinkAnswer(url: "/v1/recordings/\(job.id)/file?\(query)", expiresAt: Timestamp(seconds: until))
      return .json(link, status: .created)
    }
    // A link has its credential in it.
    routes.add(.get, "/v1/recordings/{id}/file", access: .own) { call in
      let job = try await jobToSend(call)
      let number = try call.query("number").map { text in
        guard let number = Int(text) else { throw Refusal.invalid("number: a whole number from 1 on") }
        return number
      }
      return try await send(try Self.file(number, beside: try Self.beside(call), of: job), of: job, call)
    }
  }

  // MARK: Which one

  /// The job that the path names. One of another owner isn't there.
  private func found(by call: Call, _ caller: Caller) async throws -> Job {
    let missing = Refusal.notFound("recording")
    do {
      let job = try await jobs.job(try call.parameter("id"))
      guard caller.maySee(owner: job.owner, room: job.request.room) else { throw missing }
      return job
    } catch StoreError.notFound {
      throw missing
    }
  }

  /// The job whose file is asked for, by a link or by a caller.
  private func jobToSend(_ call: Call) async throws -> Job {
    guard let signature = try call.query("signature") else {
      let caller = try await call.core.authenticator.caller(call.request.headers[.authorization])
      try call.enter()
      guard caller.may(.recordingsRead) else {
        throw call.core.refusal(of: caller, lacking: "the grant \(Grant.recordingsRead.rawValue)")
      }
      return try await found(by: call, caller)
    }
    let id = try call.parameter("id")
    guard let until = try call.query("until").flatMap({ Int64($0) }),
      let number = try call.query("number").flatMap({ Int($0) })
    else { throw Refusal.unauthorized }
    switch call.core.links.verdict(
      job: id, number: number, beside: try Self.beside(call), until: until, signature: signature,
      now: Timestamp.now.seconds)
    {
    case .forged: throw Refusal.unauthorized
    case .ended:
      throw Refusal(.gone, "link_ended", "the link was good until \(Timestamp(seconds: until)): ask for another one")
    case .good: break
    }
    try call.enter()
    do {
      return try await jobs.job(id)
    } catch StoreError.notFound {
      throw Refusal.notFound("recording")
    }
  }

  /// A job that is over and has files; deleted ones count.
  private static func finished(_ job: Job) throws -> Job {
    guard job.state.isFinal else {
      throw Refusal(
        .conflict, "not_finished", "the recording is \(job.state.rawValue): its file comes when the job is over")
    }
    guard !job.files.isEmpty else {
      throw Refusal(.notFound, "no_file", "the job is \(job.state.rawValue) and has no file")
    }
    return job
  }

  /// Which of the files beside a recording's the query names; nil: none, the recording's own is meant.
  private static func beside(_ call: Call) throws -> JobSideFile.Kind? {
    guard let text = try call.query("beside") else { return nil }
    guard let kind = JobSideFile.Kind(rawValue: text) else {
      throw Refusal.invalid("beside: \(JobSideFile.Kind.rule)")
    }
    return kind
  }

  /// A file that is sent.
  private struct Sent {
    var number: Int
    var file: JobFile
    var contentType: String
  }

  /// One file of a job, or what is beside it. A number need not be given when there is only one.
  private static func file(_ number: Int?, beside: JobSideFile.Kind?, of job: Job) throws -> Sent {
    let count = try finished(job).files.count
    guard let number = number ?? (count == 1 ? 1 : nil) else {
      throw Refusal.invalid("number: the recording has \(count) files; say which one, from 1 to \(count)")
    }
    guard (1...count).contains(number) else { throw Refusal.invalid("number: 1 to \(count)") }
    let file = job.files[number - 1]
    if let deleted = file.deletedAt {
      throw Refusal(.gone, "deleted", "the file was deleted at \(Timestamp(seconds: deleted.seconds))")
    }
    guard let beside else { return Sent(number: number, file: file, contentType: "video/webm") }
    guard let side = file.beside?.first(where: { $0.kind == beside }) else {
      throw Refusal(.notFound, "no_file", "no \(beside.rawValue) was delivered beside the file")
    }
    return Sent(
      number: number, file: RecordingFiles.file(side, beside: file), contentType: side.kind.contentType)
  }

  private static func page(of job: Job) -> RecordingPage {
    RecordingPage(
      recordings: job.files.enumerated().map { index, file in
        RecordingPage.Entry(
          job: job.id, room: job.request.room, number: index + 1, file: file,
          finishedAt: job.finishedAt ?? job.updatedAt)
      })
  }

  // MARK: Sending and deleting

  private func send(_ sent: Sent, of job: Job, _ call: Call) async throws -> Response {
    let file = sent.file
    let isHead = call.request.method == .head
    let etag = "\"\(file.sha256 ?? "\(job.id)-\(file.size)")\""
    let headers = FileAnswer.Headers(
      range: call.request.headers[.range], ifRange: call.request.headers[.ifRange],
      ifMatch: call.request.headers[.ifMatch], ifNoneMatch: call.request.headers[.ifNoneMatch])
    let answer = FileAnswer(headers, size: file.size, etag: etag, isHead: isHead)
    var fields: HTTPFields = [
      .eTag: etag, .acceptRanges: "bytes", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
    ]
    switch answer {
    case .notModified: return Response(status: .notModified, headers: fields)
    case .preconditionFailed:
      throw Refusal(.preconditionFailed, "precondition_failed", "If-Match: the file is another one")
    case .unsatisfiable:
      var refusal = Refusal(.rangeNotSatisfiable, "no_such_range", "Range: the file has \(file.size) bytes")
      refusal.headers[.contentRange] = "bytes */\(file.size)"
      throw refusal
    case .whole, .part: break
    }
    let range = answer.bytes(of: file.size)
    let files = RecordingFiles(core: call.core, workers: workers)
    guard let permit = call.core.downloads.acquire(job.owner) else {
      var refusal = Refusal(.serviceUnavailable, "busy", "too many files are sent at this moment; try again")
      refusal.headers[.retryAfter] = "5"
      throw refusal
    }
    let source = try await files.open(file, range, isHead: isHead, now: .now)
    if case .store(let address) = source {
      return Response(status: .temporaryRedirect, headers: [.location: address, .cacheControl: "no-store"])
    }
    fields[.contentType] = sent.contentType
    fields[.contentDisposition] = RecordingFiles.disposition(file)
    if case .part = answer {
      fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
    }
    return Response(
      status: answer == .whole ? .ok : .partialContent, headers: fields,
      body: ResponseBody(contentLength: range.count) { writer in
        defer { withExtendedLifetime(permit) {} }
        try await files.send(source, range, to: &writer)
      })
  }

  private func delete(_ job: Job, _ call: Call) async throws {
    guard job.state.isFinal else {
      throw Refusal(
        .conflict, "not_finished",
        "the recording is \(job.state.rawValue): stop or cancel the job before its file is deleted")
    }
    let files = RecordingFiles(core: call.core, workers: workers)
    for (index, file) in try Self.finished(job).files.enumerated() where file.deletedAt == nil {
      try await files.remove(file, now: .now)
      try await recordings.deleted(file: index + 1, of: job.id)
      call.core.logger.notice("a file was deleted", metadata: ["job": "\(job.id)", "file": "\(file.location)"])
    }
  }
}
