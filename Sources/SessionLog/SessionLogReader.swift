import MediaCore
import Session

/// Reads a session log from its beginning to its end, around what is damaged. Takes memory for one record. Confined to one
/// thread; blocks for the disk.
public final class SessionLogReader {
  /// Bytes of a file that are no record.
  public struct Damage: Sendable, Hashable, CustomStringConvertible {
    /// Path of the file with the damage.
    public var path: String
    /// Where they begin.
    public var offset: Int64
    /// How many.
    public var bytes: Int64
    /// True when the log ends with them: its writer was killed in the middle of a record, or the file was cut off.
    public var isTail: Bool

    /// One line.
    public var description: String {
      isTail
        ? "\(path): torn at byte \(offset): the last \(bytes) bytes are no whole record"
        : "\(path): damaged from byte \(offset) on: \(bytes) bytes are no record"
    }
  }

  /// Path of the log's folder.
  public let path: String
  /// What the session is.
  public let beginning: LogBeginning
  /// Damage that was met so far.
  public private(set) var damages: [Damage] = []
  /// Records so far that this version does not know: a later one wrote them.
  public private(set) var unknown = 0
  /// Bytes of all files.
  public let size: Int64
  /// How many of `size` have been read.
  public private(set) var position: Int64 = 0

  private let files: [String]
  private let layouts: LayoutTextReader
  private var index = 0
  private var reader: RecordReader?
  /// Bytes of the files before the one that is read.
  private var before: Int64 = 0
  private var latest = SessionTime.zero
  private var sequence: UInt64?
  /// How many times frames were missing, and of each track how many of those its frames know of.
  private var breaks = 0
  private var knownBreaks: [TrackID: Int] = [:]
  /// Nothing that a room does is longer than a year; instants beyond are damage that no checksum shows.
  private static let longest = SessionTime.zero + .seconds(366 * 86_400)

  /// Opens a log. `layouts` reads the layouts in it. Throws `.open`, `.notALog`, `.newer` or `.read`.
  public init(path: String, layouts: @escaping LayoutTextReader) throws(LogError) {
    self.path = path
    self.layouts = layouts
    var found: LogBeginning?
    var total: Int64 = 0
    files = try LogFolder.files(in: path).map { "\(path)/\($0)" }
    for file in files {
      let reader = try RecordReader(path: file)
      total += reader.size
      while found == nil, let body = try reader.next() {
        found = try Self.beginning(body, of: file, layouts)
      }
    }
    guard let found else {
      throw LogError(.notALog, "\(path): no session log: none of its files has a whole beginning")
    }
    beginning = found
    size = total
  }

  /// The beginning, when the record is one.
  private static func beginning(
    _ body: [UInt8], of file: String, _ layouts: LayoutTextReader
  ) throws(LogError) -> LogBeginning? {
    guard let record = WireRecord.read(body), case .beginning(let beginning) = record.content else {
      return nil
    }
    guard beginning.format <= LogBeginning.format else {
      throw LogError(
        .newer,
        "\(file): written by \(LogBounds.name(beginning.program)) in format \(beginning.format); this version reads "
          + "format \(LogBeginning.format): use a later recbot")
    }
    return try beginning.value(layouts)
  }

  /// The next entry; nil at the end of the log, or after the recording's end. Arrival times never go backwards, and the
  /// first frame of a track after a gap or damage is marked as following a loss.
  public func next() throws(LogError) -> LogEntry? {
    while index < files.count {
      if reader == nil { reader = try RecordReader(path: files[index]) }
      guard let reader else { return nil }
      let body = try reader.next()
      if let damage = reader.damage {
        damages.append(
          Damage(
            path: reader.path, offset: damage.offset, bytes: damage.bytes,
            isTail: damage.isTail && index == files.count - 1))
        breaks += 1
      }
      guard let body else {
        before += reader.size
        (self.reader, index) = (nil, index + 1)
        continue
      }
      position = before + reader.offset + Int64(body.count)
      guard let record = WireRecord.read(body) else {
        damages.append(
          Damage(path: reader.path, offset: reader.offset, bytes: Int64(body.count), isTail: false))
        continue
      }
      if case .beginning = record.content { continue }
      guard let entry = try record.entry(layouts) else {
        unknown += 1
        continue
      }
      switch entry {
      case .event(let event):
        guard let event = checked(event) else {
          damages.append(
            Damage(path: reader.path, offset: reader.offset, bytes: Int64(body.count), isTail: false))
          continue
        }
        return .event(event)
      case .gap:
        breaks += 1
        return entry
      case .end:
        index = files.count
        return entry
      }
    }
    position = size
    return nil
  }

  /// The event as the core may take it; nil when its number or its time cannot be.
  private func checked(_ event: SessionEvent) -> SessionEvent? {
    var event = event
    guard sequence.map({ event.sequence > $0 }) ?? true, event.arrived < Self.longest else { return nil }
    event.arrived = max(event.arrived, latest)
    (latest, sequence) = (event.arrived, event.sequence)
    if breaks > 0, case .frame(var frame, let track) = event.payload, knownBreaks[track, default: 0] < breaks {
      knownBreaks[track] = breaks
      frame.followsLoss = true
      event.payload = .frame(frame, of: track)
    }
    return event
  }
}
