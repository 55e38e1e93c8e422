import CWebMParser
import Glibc
public import MediaCore

/// Gives a killed or damaged WebM or Matroska file its Duration, Cues, SeekHead and sizes (RFC 9559 section 5.1).
/// Only the heads of elements are read, at the speed of the disk; what can be read of the media stays where it is, byte
/// for byte. What cannot be read becomes a Void element, so that both sides of a hole are kept.
///
/// Files of recbot, and others whose head has room, are repaired in place, so that a crash at any moment leaves a file
/// that plays as before. For others a repaired copy is written.
public enum WebMRepair {
  /// What can be missing or wrong in a file.
  public enum Part: String, Sendable, Hashable, CaseIterable {
    /// The size of the Segment.
    case segmentSize
    /// The sizes of Clusters.
    case clusterSizes
    /// Duration.
    case duration
    /// Cues.
    case cues
    /// SeekHead.
    case seekHead
    /// Chapters, which were given.
    case chapters
  }

  /// A damaged place with readable media before and behind it.
  public struct Hole: Sendable, Hashable {
    /// Where it begins in the file that was examined, in bytes.
    public var position: Int64
    /// Its bytes.
    public var length: Int64
    /// Time of the latest frame before it; nil: there is none.
    public var before: SessionTime?
    /// Time of the first frame behind it; nil: there is none.
    public var after: SessionTime?
  }

  /// A chapter that is to be written.
  public struct Chapter: Sendable, Hashable {
    /// First instant.
    public var start: SessionTime
    /// End; nil: up to the next chapter.
    public var end: SessionTime?
    /// Title; at most 512 bytes are kept.
    public var title: String

    /// Makes a chapter; see the properties.
    public init(start: SessionTime, end: SessionTime? = nil, title: String) {
      self.start = start
      self.end = end
      self.title = title
    }
  }

  /// What was found, and done.
  public struct Report: Sendable, Hashable {
    /// The file that was examined.
    public var path: String
    /// Its bytes, before anything was done.
    public var size: Int64
    /// Length, to the end of the last frame that can be read.
    public var duration: Duration
    /// Frames that can be read; a lace counts as one.
    public var frames: Int
    /// Cues that it has, or gets.
    public var cues: Int
    /// What is missing or wrong.
    public var parts: [Part]
    /// Holes, in file order.
    public var holes: [Hole]
    /// Bytes at the end in which nothing can be read.
    public var tail: Int64
    /// Where its head is damaged so that libwebm's parser does not come to the first frame; that cannot be repaired.
    public var headDamage: Int64?
    /// Why it cannot be repaired in place; nil: it can.
    public var obstacle: String?
    /// The repaired file: `path`, or the copy; nil: nothing was done.
    public var repaired: String?

    /// True when something is missing, wrong or damaged.
    public var needsRepair: Bool { !parts.isEmpty || !holes.isEmpty || tail > 0 }
  }

  /// A file in an unknown state is left alone for so long after its last change, where the kernel cannot say whether
  /// somebody writes it.
  public static let quietTime = Duration.seconds(3)

  /// Looks at a file and changes nothing. Throws `.open`, `.read`, `.notWebM`, or `.invalid` with the position when
  /// there is too much damage. Blocks for the disk. `chapters` would be given to `repair`.
  public static func examine(_ path: String, chapters: [Chapter] = []) throws(WebMError) -> Report {
    let descriptor = try openToRead(path)
    defer { close(descriptor) }
    return try examine(ByteSource(descriptor: descriptor, path: path), chapters).report
  }

  /// The same with bytes in memory; `name` stands for the file's name.
  public static func examine(_ bytes: UnsafeRawBufferPointer, name: String) throws(WebMError) -> Report {
    try examine(ByteSource(bytes, path: name), []).report
  }

  /// Repairs a file, when it needs that: in place, or into `output`, which must not exist. What needs nothing is not
  /// touched. Blocks for the disk: call it on a thread that may.
  ///
  /// - Parameters:
  ///   - output: writes a repaired copy there instead, which appears under its name when it is complete.
  ///   - chapters: are put into a file that has none; those behind its end are left out.
  ///   - now: nanoseconds since 1970, by the clock that dates files.
  /// - Throws: as `examine`; `.invalid` also for a file that somebody is writing, one that can be repaired as a copy
  ///   only while `output` is nil, and one of which less than half can be read; `.write`, `.full`, `.sync`, `.exists`.
  public static func repair(
    _ path: String, output: String? = nil, chapters: [Chapter] = [], now: Int64
  ) throws(WebMError) -> Report {
    let descriptor = try openToRead(path)
    defer { close(descriptor) }
    try checkQuiet(descriptor, path, now: now)
    let before = Signature(descriptor)
    let source = try ByteSource(descriptor: descriptor, path: path)
    var (report, plan) = try examine(source, chapters)
    guard report.needsRepair else { return report }
    if let output {
      try RoomyCopy(plan.scan, source).write(to: output, chapters: chapters)
      report.repaired = output
      return report
    }
    try check(report, source)
    let file = try OutputFile(existing: path)
    // The name may lead to another file by now, or somebody began to write this one.
    guard before != nil, Signature(file.descriptor) == before else {
      throw WebMError(code: .invalid, operation: "is being written; repair it when that has ended", path: path)
    }
    try RepairWriter(plan, file).write()
    report.repaired = path
    return report
  }

  /// Repairs an open file in place, without asking whether somebody else writes it.
  @discardableResult
  static func repair(_ file: OutputFile, chapters: [Chapter] = []) throws(WebMError) -> Report {
    let source = try ByteSource(descriptor: file.descriptor, path: file.path)
    var (report, plan) = try examine(source, chapters)
    guard report.needsRepair else { return report }
    try check(report, source)
    try RepairWriter(plan, file).write()
    report.repaired = file.path
    return report
  }

  /// Repairs a copy that has been made for that, however little of it can be read.
  static func repair(copy file: OutputFile, chapters: [Chapter]) throws(WebMError) {
    let source = try ByteSource(descriptor: file.descriptor, path: file.path)
    let (report, plan) = try examine(source, chapters)
    if let obstacle = report.obstacle { throw WebMError(code: .invalid, operation: obstacle, path: file.path) }
    try RepairWriter(plan, file).write()
  }

  // MARK: - Examining

  private static func examine(_ source: ByteSource, _ chapters: [Chapter]) throws(WebMError) -> (
    report: Report, plan: RepairPlan
  ) {
    let scan = try RepairScanner.scan(source)
    guard scan.frames > 0 else {
      throw WebMError(code: .invalid, operation: "there is no frame in it that can be read", path: source.path)
    }
    let plan = try RepairPlan(scan, source, chapters: chapters)
    var report = Report(
      path: source.path, size: source.size, duration: plan.duration, frames: scan.frames,
      cues: plan.goodCues == nil ? scan.cues.list.count : plan.goodCueCount, parts: plan.parts,
      holes: scan.holes.map {
        Hole(
          position: $0.position, length: $0.length, before: $0.before.map(plan.time), after: $0.after.map(plan.time))
      }, tail: scan.tailIsForeign ? 0 : scan.tail, obstacle: plan.obstacle)
    let head = source.parse(events: FirstFrame())
    let media = min(scan.firstCluster ?? .max, scan.holes.first?.position ?? .max)
    let isReplaced = scan.tops.contains {
      $0.id == ElementID.seekHead && plan.needsSeekHead
        && ($0.position...($0.end ?? $0.dataStart)).contains(Int64(clamping: head.position))
    }
    if head.stopped == 0, head.position < UInt64(clamping: media), !isReplaced {
      report.headDamage = Int64(head.position)
    }
    return (report, plan)
  }

  /// Refuses what is not to be done in place.
  private static func check(_ report: Report, _ source: ByteSource) throws(WebMError) {
    var damaged = report.holes.reduce(report.tail) { $0 + $1.length }
    var written = report.size
    if damaged > written / 2 {
      // What a recorder has reserved at the end, or the disk never got, is empty: nothing is lost with it.
      let empty = try source.zeros(from: report.size - report.tail, count: report.tail)
      damaged -= empty
      written -= empty
    }
    if damaged > written / 2 {
      let first = report.holes.first?.position ?? report.size - report.tail
      throw WebMError(
        code: .invalid,
        operation: "less than half of it can be read (damaged from byte \(first)); give --output for a repaired copy",
        path: report.path)
    }
    if let obstacle = report.obstacle {
      throw WebMError(
        code: .invalid, operation: "\(obstacle); give --output FILE for a repaired copy", path: report.path)
    }
  }

  // MARK: - Who else has it

  /// F_SETLEASE and F_SETSIG, which glibc shows only to who defines _GNU_SOURCE; the same on all Linux machines.
  private static let setLease: Int32 = 1024
  private static let setSignal: Int32 = 10

  /// What shows that a file was changed.
  private struct Signature: Equatable {
    var device: UInt
    var inode: UInt
    var size: Int
    var seconds: Int
    var nanoseconds: Int

    init?(_ descriptor: Int32) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { return nil }
      device = UInt(status.st_dev)
      inode = UInt(status.st_ino)
      size = Int(status.st_size)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
    }
  }

  private static func openToRead(_ path: String) throws(WebMError) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw WebMError(code: .open, number: errno, operation: "open it", path: path) }
    return descriptor
  }

  /// Refuses a file that is being written. The kernel gives a read lease only for a file that nobody has open for
  /// writing; where there are no leases, the time of the last change decides.
  private static func checkQuiet(_ descriptor: Int32, _ path: String, now: Int64) throws(WebMError) {
    let busy = WebMError(code: .invalid, operation: "is being written; repair it when that has ended", path: path)
    // Should somebody open it meanwhile, the signal is one that is ignored.
    _ = fcntl(descriptor, setSignal, SIGURG)
    if fcntl(descriptor, setLease, Int32(F_RDLCK)) == 0 {
      _ = fcntl(descriptor, setLease, Int32(F_UNLCK))
      return
    }
    guard errno != EAGAIN else { throw busy }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw busy }
    let changed = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    if (now &- changed).magnitude < quietTime.nanoseconds.magnitude { throw busy }
  }
}

/// Ends the parsing at the first frame.
private final class FirstFrame: ParserEvents {
  override func frame(_ frame: cwebm_frame) -> Bool { false }
}
