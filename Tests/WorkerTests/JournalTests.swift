import Foundation
import JobsAPI
import MediaCore
import Testing

@testable import Worker

@Suite struct JournalTests {
  /// A folder of its own for one test.
  private func withFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.path + "/recbot-journal-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
  }

  private static func part(_ attempt: Int, _ duration: Int64, at location: String) -> JobPart {
    JobPart(
      attempt: attempt, worker: "w", location: location, startedAt: Timestamp(seconds: 1_700_000_000),
      duration: duration)
  }

  private static let error = JobError(name: "roomFull", code: 24, message: "the room is full")

  private static let story: [JournalEntry] = [
    JournalEntry(kind: .taken, job: "job_1", fence: 1),
    JournalEntry(kind: .part, job: "job_1", fence: 1, part: part(1, 0, at: "/a/1-0.webm")),
    JournalEntry(kind: .taken, job: "job_2", fence: 7),
    JournalEntry(kind: .part, job: "job_1", fence: 1, part: part(1, 5_000_000, at: "/a/1-0.webm")),
    JournalEntry(kind: .part, job: "job_1", fence: 1, part: part(1, 9_000_000, at: "/a/1-1.webm")),
    JournalEntry(kind: .failing, job: "job_2", fence: 7, error: error, mayRetry: true),
    JournalEntry(kind: .taken, job: "job_3", fence: 2),
    JournalEntry(kind: .recorded, job: "job_1", fence: 1, error: error),
    JournalEntry(kind: .closed, job: "job_3", fence: 2),
    JournalEntry(
      kind: .completing, job: "job_1", fence: 1,
      files: [JobFile(location: "/r/x.webm", size: 10, duration: 14_000_000, sha256: "ab")]),
  ]

  @Test func whatIsOpenIsKnownAfterwardsInItsOrder() {
    let open = OpenJob.fold(Self.story)
    #expect(open.map(\.job) == ["job_1", "job_2"])
    #expect(open[0].parts.map(\.duration) == [5_000_000, 9_000_000])
    #expect(open[0].isRecorded && open[0].error == Self.error)
    #expect(open[0].completion?.fence == 1 && open[0].completion?.files.first?.location == "/r/x.webm")
    #expect(open[1].failure == FailRequest(fence: 7, error: Self.error, mayRetry: true))
    #expect(open[1].completion == nil && open[1].parts.isEmpty)
  }

  @Test func tidyingUpChangesNothingOfWhatIsOpen() {
    let open = OpenJob.fold(Self.story)
    #expect(OpenJob.fold(open.flatMap(\.entries)) == open)
  }

  @Test func twoLeasesOfOneJobAreTwoThings() {
    let entries = [
      JournalEntry(kind: .taken, job: "a", fence: 1), JournalEntry(kind: .taken, job: "a", fence: 2),
      JournalEntry(kind: .closed, job: "a", fence: 1),
      JournalEntry(kind: .recorded, job: "a", fence: 1),
    ]
    let open = OpenJob.fold(entries)
    #expect(open.map(\.fence) == [2] && !open[0].isRecorded)
  }

  /// A crash can cut the file anywhere: every entry before that place is there, and nothing else.
  @Test func aTornTailLosesNothingBeforeIt() throws {
    var bytes: [UInt8] = []
    var ends: [Int] = []
    for entry in Self.story {
      bytes += try Journal.line(entry)
      ends.append(bytes.count)
    }
    for length in 0...bytes.count {
      let whole = ends.count { $0 <= length }
      #expect(Journal.read(Array(bytes[..<length])) == Array(Self.story[..<whole]))
    }
  }

  @Test func bytesThatAreNoEntriesArePassedOver() throws {
    for seed in 1...300 as ClosedRange<UInt64> {
      var random = SeededRandom(seed: seed)
      var bytes = try Self.story.flatMap { try Journal.line($0) }
      for _ in 0..<(1 + random.next() % 8) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      let read = Journal.read(bytes)
      #expect(read.count <= Self.story.count + 8, "seed \(seed)")
      _ = OpenJob.fold(read)
    }
  }

  @Test func whatWasAppendedIsThereWhenItIsOpenedAgain() async throws {
    try await withFolder { folder in
      let path = folder + "/journal.jsonl"
      do {
        let (journal, open) = try Journal.open(path)
        #expect(open.isEmpty)
        for entry in Self.story { try await journal.append(entry) }
      }
      // The tail that a crash leaves.
      let handle = try #require(fopen(path, "a"))
      fputs("{\"kind\":\"closed\",\"job\":\"job_1\",\"fen", handle)
      fclose(handle)
      let (again, open) = try Journal.open(path)
      #expect(open == OpenJob.fold(Self.story))
      try await again.append(JournalEntry(kind: .closed, job: "job_1", fence: 1))
      let (_, last) = try Journal.open(path)
      #expect(last.map(\.job) == ["job_2"])
      // Tidied up: only what is open, and only for this user.
      #expect(Journal.read(Array(try Data(contentsOf: URL(filePath: path)))).count == 2)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
      #expect(mode?.intValue == 0o600)
    }
  }

  /// A disk that is full takes half a line; when there is room again, the next one must be readable.
  @Test func halfALineSpoilsNoOther() async throws {
    try await withFolder { folder in
      let path = folder + "/journal.jsonl"
      let (journal, _) = try Journal.open(path)
      for entry in Self.story {
        try await journal.append(entry)
        let handle = try #require(fopen(path, "a"))
        fputs("{\"kind\":\"compl", handle)
        fclose(handle)
      }
      try await journal.append(JournalEntry(kind: .taken, job: "job_9", fence: 1))
      #expect(
        Journal.read(Array(try Data(contentsOf: URL(filePath: path))))
          == Self.story + [JournalEntry(kind: .taken, job: "job_9", fence: 1)])
    }
  }

  @Test func aJournalThatCannotBeWrittenSaysSo() async throws {
    #expect(throws: WorkerError.self) { _ = try Journal.open("/proc/nowhere/journal.jsonl") }
  }

  @Test func aPlaceHasOneWorkerAndWhatIsLeftThereIsFound() async throws {
    try await withFolder { folder in
      let first = try WorkerFolder.take(in: folder)
      let second = try WorkerFolder.take(in: folder)
      #expect(first.path != second.path)
      #expect(try WorkerFolder.abandoned(in: folder).isEmpty)
      let (journal, _) = try Journal.open(second.journal)
      try await journal.append(JournalEntry(kind: .taken, job: "a", fence: 1))
      // In use: nobody else's.
      #expect(try WorkerFolder.abandoned(in: folder).isEmpty)
      withExtendedLifetime((first, second)) {}
    }
  }

  @Test func namesOfJobsCannotLeadOutOfTheFolder() {
    #expect(WorkerFolder.fileName("../../etc/passwd") == "______etc_passwd")
    #expect(WorkerFolder.fileName("job_01abc") == "job_01abc")
    #expect(WorkerFolder.fileName("") == "_")
  }
}
