import Jobs
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
      let answer = try await queue.client.beat(
        job: job.id, BeatRequest(fence: fence, report: JobReport(state: .running, part: part)), wait: 5)
      #expect(answer.job.commands.map(\.verb) == [.layout])
      let later = try await queue.client.beat(
        job: job.id, BeatRequest(fence: fence, report: JobReport(confirmed: 1)))
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
          _ = try await queue.client.beat(job: job.id, BeatRequest(fence: first.job.fence, report: JobReport()))
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

  @Test func addressesAndCredentialsThatCannotBeAreRefused() {
    for url in ["", "ftp://x", "http://", "http://a?b=c", "http://user@host", "recbot", "http://a#b"] {
      #expect(throws: WorkerError.self, "\(url)") { _ = try BackendClient(url: url, credential: "x") }
    }
    for credential in ["", "a b", "a\nb", "ä"] {
      #expect(throws: WorkerError.self) { _ = try BackendClient(url: "http://localhost:1", credential: credential) }
    }
    #expect(BackendClient.escape("a b/ü?.webm") == "a%20b%2F%C3%BC%3F.webm")
  }
}
