import Glibc
import MediaCore
import TestKit
import Testing

@testable import WebM

/// Disks that fail: at every single change, once and for good.
@Suite struct FaultTests {
  let directory = TemporaryDirectory()

  /// What became of a recording whose disk failed.
  private struct Outcome {
    var addErrors: [WebMError] = []
    var finishError: WebMError?
    var summary: WebMWriter.Summary?
    var changes = 0
  }

  /// Writes a small recording to a disk on which `fault` decides about each change by its index.
  private func record(
    _ path: String, seconds: Int64 = 2, pictureSize: Int = 3000, chapters: Int64 = 0,
    fault: @escaping (Int, OutputFile.Change) -> Int32
  ) throws -> Outcome {
    var outcome = Outcome()
    let file = try OutputFile(creating: path)
    var count = 0
    file.observer = { change in
      count += 1
      return fault(count - 1, change)
    }
    let writer: WebMWriter
    do {
      writer = try WebMWriter(file: file, configuration: Clip.configuration, syncs: false)
    } catch {
      outcome.addErrors.append(error)
      outcome.changes = count
      return outcome
    }
    let picture = [UInt8](repeating: 7, count: pictureSize)
    for index in 0..<chapters {
      writer.addChapter(start: .milliseconds(index), title: String(repeating: "é", count: 250))
      writer.setTag("TAG\(index)", String(repeating: "x", count: 300))
    }
    for index in 0..<seconds * 10 {
      do throws(WebMError) {
        try writer.addAudio(index * 100)
        try writer.addVideo(at: .milliseconds(index * 100), picture, isKeyframe: index % 10 == 0)
      } catch { outcome.addErrors.append(error) }
    }
    do throws(WebMError) { outcome.summary = try writer.finish() } catch { outcome.finishError = error }
    outcome.changes = count
    return outcome
  }

  @Test func aDiskThatFailsOnceLeavesAValidFileAtEveryChange() throws {
    let whole = try record(directory.path("whole.webm")) { _, _ in 0 }
    #expect(whole.summary?.videoFrames == 20 && whole.changes > 60)
    for number in [ENOSPC, EIO] {
      for failing in 0..<whole.changes {
        let path = directory.path("failing.webm")
        let outcome = try record(path) { index, _ in index == failing ? number : 0 }
        let context = Comment(rawValue: "change \(failing), error \(number)")
        if failing == 0 {
          #expect(outcome.addErrors.first?.number == number, context)
        } else {
          let report = try WebMProbe.probe(path)
          #expect(report.problems == [], context)
          let isTold = !outcome.addErrors.isEmpty || outcome.finishError != nil
          // Only the index may be left out without an error, and then the summary says so.
          #expect(isTold || report.cues == outcome.summary?.cues, context)
          #expect(outcome.addErrors.dropFirst().allSatisfy { $0.code == .closed }, context)
          if outcome.finishError == nil { #expect(report.endedCleanly || report.cues == 0, context) }
        }
        unlink(path)
      }
    }
  }

  @Test func aFullDiskStillEndsTheFileProperly() throws {
    // Full means: what is there may be overwritten, nothing can be added.
    for limit in stride(from: Int64(8192), through: 90_000, by: 4096) {
      let path = directory.path("full.webm")
      let outcome = try record(path, seconds: 4) { _, change in
        guard case .write(let offset, let bytes) = change else { return 0 }
        return offset + Int64(bytes.count) > limit ? ENOSPC : 0
      }
      let context = Comment(rawValue: "disk of \(limit) bytes")
      let error = try #require(outcome.addErrors.first, context)
      #expect(error.code == .full, context)
      #expect(error.description.contains("no space left"))
      #expect(outcome.addErrors.dropFirst().allSatisfy { $0.code == .closed }, context)
      #expect(outcome.finishError == nil, context)
      let report = try WebMProbe.probe(path)
      #expect(report.problems == [], context)
      #expect(report.declaredDuration != nil && report.hasSegmentSize && report.size <= limit, context)
      #expect(report.declaredDuration == outcome.summary?.duration, context)
      unlink(path)
    }
  }

  @Test func aFullDiskLeavesRoomForTheIndexWhereverItIsFull() throws {
    for chapters in [Int64(0), 40] {
      for pictureSize in 3000..<3128 {
        let path = directory.path("full.webm")
        let outcome = try record(path, seconds: 9, pictureSize: pictureSize, chapters: chapters) { _, change in
          guard case .write(let offset, let bytes) = change else { return 0 }
          return offset + Int64(bytes.count) > 184_320 ? ENOSPC : 0
        }
        let context = Comment(rawValue: "pictures of \(pictureSize) bytes, \(chapters) chapters")
        #expect(outcome.addErrors.first?.code == .full && outcome.finishError == nil, context)
        let report = try WebMProbe.probe(path)
        #expect(report.endedCleanly && report.problems == [] && report.cues > 0, context)
        #expect(report.chapters.count == Int(chapters) && report.size <= 184_320, context)
        unlink(path)
      }
    }
  }

  @Test func aDeadDiskLeavesWhatWasWritten() throws {
    let whole = try record(directory.path("whole.webm")) { _, _ in 0 }
    for failing in 1..<whole.changes {
      let path = directory.path("dead.webm")
      let outcome = try record(path) { index, _ in index >= failing ? EIO : 0 }
      let context = Comment(rawValue: "from change \(failing)")
      #expect(outcome.finishError?.number == EIO, context)
      #expect(try WebMProbe.probe(path).problems == [], context)
      unlink(path)
    }
  }

  @Test func aFailedStartLeavesNoFile() throws {
    // /dev/full takes no byte and is no regular file.
    let descriptor = open("/dev/full", O_RDWR)
    let error = #expect(throws: WebMError.self) {
      try WebMWriter(descriptor: descriptor, path: "/dev/full", configuration: Clip.configuration)
    }
    #expect(error?.code == .invalid)
    #expect(!isOpen(descriptor, on: "/dev/full"))
  }

  @Test func aFullFileSystemIsMetOnARealOne() throws {
    // Needs a small file system: only where one may be mounted.
    let mount = directory.path("disk")
    mkdir(mount, 0o700)
    guard Tool.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount], in: directory).status == 0 else {
      return
    }
    defer { _ = Tool.run(["umount", mount], in: directory) }
    let path = mount + "/full.webm"
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    var first: WebMError?
    do throws(WebMError) { for frame in Clip.shared.frames { try writer.add(frame) } } catch { first = error }
    #expect(first?.code == .full && first?.number == ENOSPC)
    _ = try writer.finish()
    let report = try WebMProbe.probe(path)
    #expect(report.endedCleanly && report.problems == [] && report.cues > 0)
    #expect(Tool.decode(path, in: directory) == "")
  }

  @Test func aFileThatHardlyGrowsIsSyncedEachFourSeconds() {
    var pace = SyncPace()
    // The head, a second of a meeting, ten of an empty room, another of a meeting.
    let sizes = [4096, 300_000] + (1...10).map { 300_000 + 1500 * Int64($0) } + [615_000]
    let due = sizes.map { pace.isDue(size: $0) }
    #expect(due == [true, true, false, false, true, false, false, true, false, false, true, false, true])
    // What only changes, such as a tag in the head.
    let same = (0..<8).map { _ in pace.isDue(size: 615_000) }
    #expect(same == [false, false, false, true, false, false, false, true])
  }

  @Test func theSyncerTellsOfADiskThatRefuses() {
    // A pipe cannot be synced: EINVAL, as a dead disk gives EIO.
    var pipe: [Int32] = [0, 0]
    #expect(Glibc.pipe(&pipe) == 0)
    let syncer = FileSyncer.start(descriptor: pipe[1], interval: .milliseconds(1))
    syncer?.markDirty()
    var turns = 0
    while syncer?.failureNumber == 0, turns < 10_000_000 {
      sched_yield()
      turns += 1
    }
    #expect(syncer?.failureNumber == EINVAL)
    syncer?.stop()
    close(pipe[0])
    close(pipe[1])
  }
}
