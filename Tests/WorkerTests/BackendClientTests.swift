import JobsAPI
import NIOCore
import NIOPosix
import Testing

@testable import Worker

/// The client against the real backend.
@Suite struct BackendClientTests {
  @Test func aJobGoesThroughTheWorkerAPI() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let assignment = try #require(try await queue.claim())
      #expect(assignment.job.id == job.id && assignment.ticket.url == "ws://127.0.0.1:7880")
      let fence = assignment.job.fence
      let part = JobPart(
        attempt: 1, worker: "w1", location: "/a.webm", startedAt: Timestamp(seconds: 1_700_000_000), duration: 5)
      _ = try await queue.store.command(.layout, argument: "speaker", job: job.id)
      let answer = try await queue.client.heartbeat(
        job: job.id, HeartbeatRequest(fence: fence, report: JobReport(state: .running, part: part)), wait: 5)
      #expect(answer.job.commands.map(\.verb) == [.layout])
      let later = try await queue.client.heartbeat(
        job: job.id, HeartbeatRequest(fence: fence, report: JobReport(confirmed: 1)))
      #expect(later.job.commands.isEmpty && later.job.steering.layout == "speaker" && later.job.parts == [part])
      let files = [JobFile(location: "/b.webm", size: 1, duration: 2)]
      let done = try await queue.client.complete(job: job.id, CompleteRequest(fence: fence, files: files))
      #expect(done.state == .completed && done.files == files)
      // The answer was lost: the same once more is answered alike.
      _ = try await queue.client.complete(job: job.id, CompleteRequest(fence: fence, files: files))
    }
  }

  @Test func whoHasAnOldLeaseIsFenced() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let first = try #require(try await queue.claim())
      queue.clock.advance(.seconds(16))
      try await queue.store.expire()
      let second = try #require(try await queue.claim("w2"))
      #expect(second.job.fence == first.job.fence + 1)
      await #expect(
        performing: {
          let late = HeartbeatRequest(fence: first.job.fence, report: JobReport())
          _ = try await queue.client.heartbeat(job: job.id, late)
        }, throws: { ($0 as? BackendError)?.isFenced == true })
    }
  }

  @Test func refusalsAndAbsenceAreToldApart() async throws {
    try await TestQueue.run { queue in
      let stranger = try BackendClient(url: queue.client.url, credential: "not-the-secret-of-the-workers-at-all")
      let claim = ClaimRequest(worker: "w", count: 1, status: WorkerStatus(running: 0, capacity: 1))
      await #expect(
        performing: { _ = try await stranger.claim(claim) },
        throws: { error in
          guard case .refused(401, _)? = error as? BackendError else { return false }
          return (error as? BackendError)?.isPassing == false
        })
      await stranger.shutdown()
      // Nothing listens at port 9 of this machine (discard).
      let lost = try BackendClient(url: "http://127.0.0.1:9", credential: "x")
      await #expect(
        performing: { _ = try await lost.claim(claim) },
        throws: { error in
          (error as? BackendError)?.isPassing == true
        })
      await lost.shutdown()
    }
  }

  /// A proxy may pass on half of an answer, and then nothing: a worker must not wait for the rest for ever.
  @Test(.timeLimit(.minutes(1))) func anAnswerThatStallsIsGivenUp() async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(HalfAnAnswer()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let client = try BackendClient(
      url: "http://127.0.0.1:\(port)", credential: "x", timeLimit: .milliseconds(500))
    await #expect(
      performing: { _ = try await client.workerJob("job_1") },
      throws: { error in
        guard case .away(let text)? = error as? BackendError else { return false }
        return text == "its answer takes too long" && (error as? BackendError)?.isPassing == true
      })
    await client.shutdown()
    try await server.close().get()
  }

  private final class HalfAnAnswer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let text = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
      context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
    }
  }

  /// Only a backend says that a job is another's: what stands between may answer anything while one moves.
  @Test func aProxyEndsNoRecording() {
    func refusal(_ status: Int, _ code: String) -> BackendError {
      .refused(status: status, APIProblem.Body(code: code, message: ""))
    }
    for (status, code) in [(409, "fenced"), (409, "is_over"), (404, "not_found")] {
      #expect(refusal(status, code).isFenced, "\(code)")
    }
    for (status, code) in [
      (404, "http404"), (404, "unknown_path"), (409, "http409"), (401, "unauthorized"), (409, "conflict"),
      (409, "impossible_state"),
      (502, "http502"), (503, "unavailable"),
    ] {
      #expect(!refusal(status, code).isFenced, "\(code)")
    }
    #expect(refusal(404, "http404").isForeign && !refusal(404, "not_found").isForeign)
    #expect(refusal(409, "conflict").isPassing && refusal(409, "impossible_state").isOvertaken)
  }

  /// A worker that was started with the wrong secret keeps what it must tell for a start with the right one.
  @Test func whatTheBackendDoesNotTakeStaysInTheJournal() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let fence = try #require(try await queue.claim()).job.fence
      let path = queue.folder + "/journal.jsonl"
      let files = [JobFile(location: "/r/a.webm", size: 1, duration: 2)]
      do {
        let (journal, _) = try Journal.open(path)
        try await journal.append(JournalEntry(kind: .taken, job: job.id, fence: fence))
        try await journal.append(JournalEntry(kind: .completing, job: job.id, fence: fence, files: files))
      }
      let context = try queue.context(RecordingLaunch())
      let stranger = try BackendClient(url: queue.client.url, credential: "not-the-secret-of-the-workers-at-all")
      for (client, isTaken) in [(stranger, false), (queue.client, true)] {
        let (journal, open) = try Journal.open(path)
        #expect(open.map(\.completion) == [CompleteRequest(fence: fence, files: files)])
        await JournalRecovery(folder: context.folder, journal: journal, open: open)
          .settle(client, worker: "w1", delivery: context.delivery, logger: queue.logger)
        #expect(try Journal.open(path).open.isEmpty == isTaken)
        #expect(try await queue.store.job(job.id).state == (isTaken ? .completed : .waiting))
      }
      await stranger.shutdown()
    }
  }

  /// Who starts a worker with the wrong secret is told, and does not wait for jobs that never come.
  @Test(.timeLimit(.minutes(1))) func aWorkerThatIsNotTakenEnds() async throws {
    try await TestQueue.run { queue in
      let stranger = try BackendClient(url: queue.client.url, credential: "not-the-secret-of-the-workers-at-all")
      let worker = try JobWorker(
        WorkerSettings(dataDirectory: queue.folder + "/data"), client: stranger, logger: queue.logger)
      await #expect(
        performing: { try await worker.run() },
        throws: { error in
          guard case .refused(401, _)? = error as? BackendError else { return false }
          return true
        })
      await stranger.shutdown()
    }
  }

  @Test func addressesAndCredentialsThatCannotBeAreRefused() {
    for url in ["", "ftp://x", "http://", "http://a?b=c", "http://user@host", "recbot", "http://a#b"] {
      #expect(throws: WorkerError.self, "\(url)") { _ = try BackendClient(url: url, credential: "x") }
    }
    for credential in ["", "a b", "a\nb", "ä"] {
      #expect(throws: WorkerError.self) { _ = try BackendClient(url: "http://localhost:1", credential: credential) }
    }
  }
}
