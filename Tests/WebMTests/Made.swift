import CWebMParser
import Glibc
import MediaCore
import Testing

@testable import WebM

/// A file in memory, as far as the system has such, that is repaired in tests.
final class RAMFile {
  let output: OutputFile

  init(_ bytes: [UInt8]) throws {
    let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    let path = "\(folder)/recbot-repair-\(getpid())-\(UInt64.random(in: 0 ... .max)).webm"
    output = try OutputFile(creating: path)
    unlink(path)
    try output.write(bytes, at: 0)
  }

  @discardableResult
  func repair(_ chapters: [WebMRepair.Chapter] = []) throws(WebMError) -> WebMRepair.Report {
    try WebMRepair.repair(output, chapters: chapters)
  }

  /// Repairs it; gives why it was refused.
  func refusal() -> WebMError? {
    do throws(WebMError) {
      try repair()
      return nil
    } catch { return error }
  }

  var bytes: [UInt8] {
    let size = Int(lseek(output.descriptor, 0, SEEK_END))
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(output.descriptor, buffer.baseAddress, size, 0))
    }
  }
}

/// Files for the tests of repairs, and what is in them.
enum Made {
  struct Frame: Hashable {
    var track: UInt64
    var ticks: Int64
    var bytes: [UInt8]
  }

  /// A recording of real frames, as bytes.
  static func recording(_ frames: [Clip.Frame], finishes: Bool = true) throws -> [UInt8] {
    var configuration = Clip.configuration
    if !frames.contains(where: \.isVideo) { configuration.video = nil }
    return try recording(configuration, finishes: finishes) { writer in for frame in frames { try writer.add(frame) } }
  }

  /// A recording of half a second and more in frames of a few bytes.
  static func small(finishes: Bool = true) throws -> [UInt8] {
    try recording(Clip.configuration, finishes: finishes) { writer in
      for time in stride(from: Int64(0), to: 1300, by: 20) {
        try writer.addAudio(time)
        if time % 40 == 0 { try writer.addPicture(time, isKeyframe: time % 400 == 0) }
      }
    }
  }

  private static func recording(
    _ configuration: WebMConfiguration, finishes: Bool, _ body: (WebMWriter) throws -> Void
  ) throws -> [UInt8] {
    let file = try RAMFile([])
    let copy = fcntl(file.output.descriptor, F_DUPFD_CLOEXEC, 0)
    let writer = try WebMWriter(descriptor: copy, path: file.output.path, configuration: configuration)
    try body(writer)
    if finishes {
      _ = try writer.finish()
    } else {
      try writer.flush()
      writer.abandon()
    }
    return file.bytes
  }

  /// What libwebm reads.
  static func contents(_ bytes: [UInt8]) -> Contents {
    let contents = Contents()
    contents.status = bytes.withUnsafeBytes { WebMReader.parse($0, events: contents, wholeFrames: true).status }
    return contents
  }

  /// The frames that libwebm reads.
  static func frames(_ bytes: [UInt8]) throws -> [Frame] {
    contents(bytes).frames.map { Frame(track: $0.track, ticks: $0.ticks, bytes: $0.bytes) }
  }

  /// The frames of each Cluster.
  static func framesByCluster(_ bytes: [UInt8]) throws -> [[Frame]] {
    let contents = contents(bytes)
    var frames = contents.frames.map { Frame(track: $0.track, ticks: $0.ticks, bytes: $0.bytes) }[...]
    return contents.clusters.map { cluster in
      defer { frames = frames.dropFirst(cluster.blocks.count) }
      return Array(frames.prefix(cluster.blocks.count))
    }
  }

  /// Where the Clusters of a whole file are.
  static func clusters(_ bytes: [UInt8]) throws -> [Range<Int>] {
    contents(bytes).clusters.map { Int($0.position)..<Int($0.position) + 12 + Int($0.size ?? 0) }
  }

  /// What holds for every repaired file; gives its frames. A hole that begins in the time of a block leaves a block that is
  /// sound but for that: nobody can say what it was, so for each hole a frame may be out of order.
  static func judged(_ bytes: [UInt8], _ context: Comment, holes: Int = 0) throws -> [Frame] {
    let report = try bytes.withUnsafeBytes { try WebMProbe.probe($0, name: "repaired") }
    let disorders = (0...holes).dropFirst().map {
      ($0 == 1 ? "1 frame is" : "\($0) frames are") + " not in order of time"
    }
    let problems = report.problems.filter { problem in
      problem != "pictures begin without a keyframe" && !disorders.contains { problem.hasSuffix(": " + $0) }
    }
    #expect(problems == [], context)
    #expect(report.hasSegmentSize && report.declaredDuration != nil && report.seekEntries >= 2, context)
    #expect(report.declaredDuration.map { abs($0.nanoseconds - report.end.nanoseconds) < 150_000_000 } == true, context)
    let contents = contents(bytes)
    #expect(contents.status == 0, context)
    var keyed: Set<UInt64> = []
    let hasPictures = contents.clusters.contains { $0.blocks.contains { $0.hasSuffix("k") } }
    for cluster in contents.clusters {
      let place = cluster.position - contents.segmentStart
      if !hasPictures || cluster.blocks.contains(where: { $0.hasSuffix("k") }) { keyed.insert(place) }
    }
    #expect(hasPictures || !report.tracks.contains { $0.kind == .audio && $0.frames > 0 } || report.cues > 0, context)
    #expect(!hasPictures || report.cues > 0, context)
    #expect(contents.cues.allSatisfy { keyed.contains($0.position) }, "\(context): a Cue leads to no keyframe")
    return try frames(bytes)
  }

  // MARK: - Changes

  static func apply(_ change: OutputFile.Change, to image: inout [UInt8]) {
    switch change {
    case .write(let offset, let bytes):
      let end = Int(offset) + bytes.count
      if image.count < end { image.append(contentsOf: repeatElement(0, count: end - image.count)) }
      image.replaceSubrange(Int(offset)..<end, with: bytes)
    case .truncate(let size): image.removeLast(image.count - Int(size))
    case .sync: break
    }
  }

  /// The parts of a change that a kill may divide: the kernel looks for fatal signals between pages. Of what a machine that
  /// stops may divide the size is that of a sector.
  static func parts(of change: OutputFile.Change, size: Int = 4096) -> [OutputFile.Change] {
    guard case .write(let offset, let bytes) = change else { return [change] }
    var parts: [OutputFile.Change] = []
    var start = 0
    while start < bytes.count {
      let count = min(bytes.count - start, size - (Int(offset) + start) % size)
      parts.append(.write(offset: offset + Int64(start), bytes: Array(bytes[start..<start + count])))
      start += count
    }
    return parts
  }
}
