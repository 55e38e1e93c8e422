import Glibc
import MediaCore
import SystemKit
import TestKit
import Testing

@testable import WebM

/// The file plays at every moment: every change that the writer makes is recorded, and the file is looked at as it was
/// between any two of them, and also where the kernel might have stopped in the middle of one.
@Suite(.enabled(if: Tool.judgesAreThere)) struct CrashTests {
  let directory = TemporaryDirectory()

  /// Writes the clip and returns what the writer did to the file. `finishes` false: as far as a kill would let it.
  private func trace(of frames: [Clip.Frame], finishes: Bool = true) throws -> [Trace.Step] {
    try Trace.of(frames, finishes: finishes, in: directory)
  }

  private static func probe(_ image: [UInt8]) throws -> ProbeReport {
    try image.withUnsafeBytes { try WebMProbe.probe($0, name: "image") }
  }

  @Test func everyMomentPlaysAndAtMostASecondIsMissing() throws {
    let steps = try trace(of: Clip.shared.frames)
    var image: [UInt8] = []
    var moments = 0
    var frames = 0
    var worst = Duration.zero
    var samples: [[UInt8]] = []
    var random = SeededRandom(seed: 7)
    for step in steps {
      let parts = Made.parts(of: step.change)
      for (index, part) in parts.enumerated() {
        Made.apply(part, to: &image)
        moments += 1
        let report = try Self.probe(image)
        #expect(report.problems == [], "moment \(moments): \(report.problems)")
        let count = report.tracks.reduce(0) { $0 + $1.frames }
        #expect(count >= frames, "moment \(moments): frames vanished")
        frames = count
        worst = max(worst, step.taken - report.end)
        let isTorn = index + 1 < parts.count
        if random.next() % (isTorn ? 20 : 50) == 0 || step.change.isInPlace(before: image.count) && moments % 60 == 0 {
          samples.append(image)
        }
      }
    }
    #expect(frames == Clip.shared.frames.count)
    #expect(worst < .milliseconds(100), "\(worst) were missing")
    #expect(try Self.probe(image).endedCleanly)
    #expect(samples.count >= 15)
    let path = directory.path("moment.webm")
    for sample in samples.prefix(40) {
      Files.write(sample, to: path)
      let report = try Self.probe(sample)
      // Before the first frame there is nothing that ffmpeg could decode.
      if report.end > .zero { #expect(Tool.decode(path, in: directory) == "") }
    }
  }

  @Test func theLastMomentsPlayToo() throws {
    // The end of a recording: index, cutting off the reserve, the final head.
    let steps = try trace(of: Clip.shared.frames)
    let unfinished = try trace(of: Clip.shared.frames, finishes: false).count
    var image: [UInt8] = []
    let path = directory.path("moment.webm")
    for (index, step) in steps.enumerated() {
      Made.apply(step.change, to: &image)
      guard index >= unfinished - 1 else { continue }
      Files.write(image, to: path)
      #expect(Tool.decode(path, in: directory) == "", "step \(index)")
    }
  }

  @Test func everythingThatTakesEffectLiesInOnePage() throws {
    // What makes the test above hold in a real kernel: writes of more than one page only fill the reserve.
    for step in try trace(of: Clip.shared.frames) {
      guard case .write(let offset, let bytes) = step.change else { continue }
      let isInOnePage = Int(offset) / 4096 == (Int(offset) + bytes.count - 1) / 4096
      #expect(isInOnePage || bytes.count > 8)
      if bytes.count <= 8 || offset == 0 { #expect(isInOnePage) }
    }
  }

  @Test func anyCutIsReadUpToTheCut() throws {
    // After a power cut the file may end anywhere.
    var image: [UInt8] = []
    for step in try trace(of: Clip.shared.frames) { Made.apply(step.change, to: &image) }
    var random = SeededRandom(seed: 3)
    let path = directory.path("cut.webm")
    for index in 0..<500 {
      let cut = Int(random.next() % UInt64(image.count))
      let prefix = Array(image[..<cut])
      guard let report = try? Self.probe(prefix) else {
        #expect(cut < 4096)
        continue
      }
      #expect(!report.endedCleanly)
      let bytes = report.tracks.reduce(0) { $0 + $1.bytes }
      // All that is missing is the block that was cut; block and Cluster heads take less than a tenth here.
      #expect(cut < 4096 || bytes > Int64(cut - 4096) * 9 / 10 - 20_000)
      if index % 25 == 0, report.end > .seconds(1) {
        Files.write(prefix, to: path)
        let arguments = ["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "null", "-"]
        #expect(Tool.run(arguments, in: directory).status == 0)
      }
    }
  }

  @Test func aKilledWriterLeavesAFileThatPlays() throws {
    let input = directory.path("input.webm")
    Files.write(Clip.shared.file, to: input)
    var random = SeededRandom(seed: 5)
    for round in 0..<5 {
      let path = directory.path("killed-\(round).webm")
      let errors = directory.path("killed-\(round).err")
      // As fast as it goes: nearly every kill then comes in the middle of a system call.
      let (process, log) = try #require(Tool.start(["webm-writer-loop", input, path], errors: errors))
      let target = Int(20_000 + random.next() % 80_000)
      var said: [UInt8] = []
      while said.count < target, let more = Files.readSome(log) { said += more }
      kill(process, SIGKILL)
      while let more = Files.readSome(log) { said += more }
      close(log)
      #expect(ChildProcess.wait(process) == 128 + SIGKILL, "\(String(decoding: Files.read(errors), as: UTF8.self))")
      let lines = String(decoding: said, as: UTF8.self).split(separator: "\n")
      let taken = try #require(lines.last.flatMap { Int64($0) })
      let report = try WebMProbe.probe(path)
      #expect(report.problems == [] && report.gaps == [])
      #expect(taken - report.end.milliseconds < 1000)
      #expect(Tool.decode(path, in: directory) == "")
    }
  }

  @Test func aFileSizeLimitEndsTheRecordingProperly() throws {
    let input = directory.path("input.webm")
    Files.write(Clip.shared.file, to: input)
    let path = directory.path("limited.webm")
    let loop = try #require(Tool.find("webm-writer-loop"))
    let script = "ulimit -f 400; trap '' XFSZ; exec \(loop) \(input) \(path) --finish"
    let result = Tool.run(["sh", "-c", script], in: directory)
    #expect(result.status == 1)
    #expect(result.errors.contains("no space left"))
    let report = try WebMProbe.probe(path)
    #expect(report.endedCleanly && report.problems == [] && report.cues > 0)
    #expect(Tool.decode(path, in: directory) == "")
  }
}

extension OutputFile.Change {
  /// True for a write that does not make the file longer.
  fileprivate func isInPlace(before size: Int) -> Bool {
    guard case .write(let offset, let bytes) = self else { return false }
    return Int(offset) + bytes.count < size
  }
}
