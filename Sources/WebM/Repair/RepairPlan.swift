import MediaCore

/// What has to be done to a file, decided from what was found in it: nothing here writes.
struct RepairPlan {
  /// Everything that is put into the head at the end.
  struct Edit: Sendable, Hashable {
    var position: Int64
    var bytes: [UInt8]
    var end: Int64 { position + Int64(bytes.count) }
  }

  /// Kinds of level 1 elements that a SeekHead names.
  private static let named = [
    ElementID.info, ElementID.tracks, ElementID.cues, ElementID.chapters, ElementID.tags, ElementID.attachments,
  ]
  /// Bytes of an entry of a SeekHead, at most.
  private static let entryLength: Int64 = 21

  let scan: RepairScan
  /// What is missing or wrong in the file.
  private(set) var parts: [WebMRepair.Part] = []
  /// The Cues of the file, when all of them lead to Clusters.
  private(set) var goodCues: ElementHead?
  /// How many there are.
  private(set) var goodCueCount = 0
  /// Cues and SeekHeads that say something wrong: they become Voids when there are new ones.
  private(set) var stale: [ElementHead] = []
  /// Chapters that are to be written.
  private(set) var chapters: [WebMRepair.Chapter] = []
  /// Why this cannot be done in the file itself; nil: it can.
  private(set) var obstacle: String?

  /// Bytes in which nothing can be read.
  var damagedBytes: Int64 { scan.holes.reduce(scan.tailIsForeign ? 0 : scan.tail) { $0 + $1.length } }
  /// True when something has to be done.
  var isNeeded: Bool { !parts.isEmpty || damagedBytes > 0 }
  /// True when new Cues are to be written.
  var needsCues: Bool { goodCues == nil && !scan.cues.list.isEmpty }
  var needsSeekHead: Bool { parts.contains(.seekHead) }
  var needsDuration: Bool { parts.contains(.duration) }

  /// Where the latest frame ends.
  var duration: Duration { time(scan.endTicks).sinceBeginning }
  /// Ticks of the file as time; absurd ones saturate.
  func time(_ ticks: Int64) -> SessionTime { ParserEvents.time(ticks: ticks, scale: scan.info.scale) }

  /// Decides. `chapters` are to be written, should the file have none. Reads Cues and SeekHeads.
  init(_ scan: RepairScan, _ source: ByteSource, chapters: [WebMRepair.Chapter]) throws(WebMError) {
    self.scan = scan
    if !scan.tops.contains(where: { $0.id == ElementID.chapters }) {
      self.chapters = chapters.filter { $0.start <= time(scan.endTicks) }
    }
    var look = ElementLook(ByteWindow(source, size: 4096))
    look.tracks = Set(scan.tracks.map(\.number))
    let window = ByteWindow(source, size: 1 << 16)
    if scan.clusterEnds.contains(where: { $0.head.size != nil }) { parts.append(.clusterSizes) }
    if let end = scan.segment.end {
      if end != scan.end { parts.append(.segmentSize) }
    } else if fits(scan.end - scan.segment.dataStart, in: scan.segment.sizeLength) {
      parts.append(.segmentSize)
    }
    if durationIsWrong { parts.append(.duration) }
    try checkCues(look, window)
    if !self.chapters.isEmpty { parts.append(.chapters) }
    try checkSeekHeads(look, window)
    if isNeeded { obstacle = findObstacle() }
  }

  private func fits(_ size: Int64, in length: Int) -> Bool { EBMLBuffer.sizeLength(Int(size)) <= length }

  private var durationIsWrong: Bool {
    guard let ticks = scan.info.duration?.ticks, ticks.isFinite, ticks >= 0, ticks < 0x1p60 else { return true }
    let slack = Int64(clamping: max(1, 100_000_000 / scan.info.scale))
    if Int64(ticks) < scan.endTicks &- slack { return true }
    // What was cut off counts no more.
    let isCut = scan.tail > 0 && !scan.tailIsForeign || scan.segment.end.map { $0 > scan.end } == true
    return isCut && Int64(ticks) > scan.endTicks &+ slack
  }

  private mutating func checkCues(_ look: ElementLook, _ window: ByteWindow) throws(WebMError) {
    for head in scan.tops where head.id == ElementID.cues {
      var count = 0
      let isRight = try window.children(of: head) { (point) throws(WebMError) in
        guard point.id == ElementID.cuePoint else { return true }
        return try window.children(of: point) { (positions) throws(WebMError) in
          guard positions.id == ElementID.cueTrackPositions else { return true }
          var cluster: UInt64?
          var block: UInt64?
          let isWhole = try window.children(of: positions) { (child) throws(WebMError) in
            let length = Int(clamping: child.size ?? 9)
            switch child.id {
            case ElementID.cueClusterPosition: cluster = try window.number(at: child.dataStart, length: length)
            case ElementID.cueRelativePosition: block = try window.number(at: child.dataStart, length: length)
            default: break
            }
            return true
          }
          guard isWhole, let cluster else { return false }
          count += 1
          return try leads(to: cluster, block, look)
        }
      }
      if isRight, count > 0 {
        if goodCues == nil { (goodCues, goodCueCount) = (head, count) }
      } else {
        stale.append(head)
      }
    }
    if needsCues || !stale.isEmpty { parts.append(.cues) }
  }

  /// True when a Cue leads to a Cluster; and to a block in it, a keyframe if it is a picture's, when it says where: damage
  /// may have taken that and left the Cluster (RFC 9559 sections 5.1.5.1.2 and 22.1).
  private func leads(to cluster: UInt64, _ block: UInt64?, _ look: ElementLook) throws(WebMError) -> Bool {
    guard let place = scan.place(cluster, from: scan.segment.dataStart),
      case .cluster(let head, _, _) = try look.found(at: place, inCluster: false)
    else { return false }
    guard let block else { return true }
    guard let place = scan.place(block, from: head.dataStart),
      case .child(_, let found?) = try look.found(at: place, inCluster: true)
    else { return false }
    return found.isKeyframe || scan.tracks.first { $0.number == found.track }?.type != 1
  }

  private mutating func checkSeekHeads(_ look: ElementLook, _ window: ByteWindow) throws(WebMError) {
    var listed: Set<Int64> = []
    var isRight = true
    let heads = scan.tops.filter { $0.id == ElementID.seekHead }
    let known = Dictionary(scan.tops.map { ($0.position, $0.id) }) { first, _ in first }
    for head in heads {
      let isWhole = try window.children(of: head) { (seek) throws(WebMError) in
        guard seek.id == ElementID.seek else { return true }
        var id: UInt64 = 0
        var position: UInt64?
        let isWhole = try window.children(of: seek) { (child) throws(WebMError) in
          let length = Int(clamping: child.size ?? 9)
          if child.id == ElementID.seekID { id = try window.number(at: child.dataStart, length: length) ?? 0 }
          if child.id == ElementID.seekPosition { position = try window.number(at: child.dataStart, length: length) }
          return true
        }
        guard isWhole, let position, position < UInt64(scan.end) else { return false }
        let place = scan.segment.dataStart + Int64(position)
        listed.insert(place)
        if id == ElementID.cluster, case .cluster = try look.found(at: place, inCluster: false) { return true }
        return known[place].map(UInt64.init) == id
      }
      isRight = isRight && isWhole
    }
    // What lies behind the media is found by the SeekHead only.
    let first = scan.firstCluster ?? .max
    let isHidden = [ElementID.cues, ElementID.chapters, ElementID.tags].contains { id in
      let head = id == ElementID.cues ? goodCues : scan.tops.first { $0.id == id }
      return head.map { $0.position > first && !listed.contains($0.position) } ?? false
    }
    let isNew = !isRight || parts.contains(.cues) || parts.contains(.chapters)
    guard isNew || isHidden else { return }
    parts.append(.seekHead)
    let room = seekHeadRoom ?? (0, 0)
    stale += heads.filter { !(room.position..<room.position + room.length).contains($0.position) }
  }

  // MARK: - The head

  /// The first room for a SeekHead before the media: one or more Voids and SeekHeads in a row.
  private var seekHeadRoom: (position: Int64, length: Int64)? {
    var entries: Int64 = 0
    for id in Self.named {
      let isNew = id == ElementID.cues && needsCues || id == ElementID.chapters && parts.contains(.chapters)
      if isNew || scan.tops.contains(where: { $0.id == id }) { entries += 1 }
    }
    // ID and size; and what a Void behind it takes.
    let needed = entries * Self.entryLength + 5 + 2
    var run: (start: Int64, end: Int64)?
    for head in scan.beginning {
      guard head.id == ElementID.void || head.id == ElementID.seekHead, let end = head.end else {
        run = nil
        continue
      }
      if let old = run, old.end == head.position { run = (old.start, end) } else { run = (head.position, end) }
      guard let run, run.end - run.start >= needed, isInOnePage(run.start, needed + 9) else { continue }
      // All of what follows in the row belongs to it.
      var last = run.end
      for next in scan.beginning
      where next.position == last && (next.id == ElementID.void || next.id == ElementID.seekHead) {
        last = next.end ?? last
      }
      return (run.start, last - run.start)
    }
    return nil
  }

  private func isInOnePage(_ position: Int64, _ length: Int64) -> Bool {
    position / AppendFile.pageSize == (position + length - 1) / AppendFile.pageSize
  }

  private func findObstacle() -> String? {
    guard scan.info.head != nil else { return "its head is damaged (Info)" }
    if scan.tailIsForeign { return "\(scan.tail) bytes behind its Segment, from byte \(scan.end), are not of it" }
    if needsDuration {
      let info = scan.info
      let isRoom =
        info.duration.map { isInOnePage($0.head.dataStart, $0.head.size ?? 8) }
        ?? info.room.map { isInOnePage($0.position, 11 + 9) } ?? false
      guard isRoom else { return "its head has no room for a Duration" }
    }
    if needsSeekHead, seekHeadRoom == nil { return "its head has no room for a SeekHead" }
    return nil
  }

  /// The changes of the head, each in one page and each right without the others, in their order. `places`: all level 1
  /// elements that a SeekHead names.
  func headEdits(end: Int64, appended: [(id: UInt32, position: Int64)]) -> [Edit] {
    var edits: [Edit] = []
    if parts.contains(.segmentSize) || scan.segment.end.map({ $0 != end }) == true {
      edits.append(sizeEdit(scan.segment, end: end))
    }
    if needsDuration {
      if let checksum = scan.info.checksum {
        edits.append(Edit(position: checksum, bytes: [UInt8(ElementID.void)]))
      }
      if let edit = durationEdit { edits.append(edit) }
    }
    if needsSeekHead, let edit = seekHeadEdit(appended) { edits.append(edit) }
    return edits
  }

  /// The size of a Segment or Cluster in the bytes that it has; unknown when it needs more.
  func sizeEdit(_ head: ElementHead, end: Int64) -> Edit {
    var buffer = EBMLBuffer(capacity: 8)
    let size = end - head.dataStart
    if fits(size, in: head.sizeLength) {
      buffer.putSize(Int(size), length: head.sizeLength)
    } else {
      buffer.putBigEndian(UInt64(1) << UInt64(7 * head.sizeLength + 1) - 1, length: head.sizeLength)
    }
    return Edit(position: head.position + Int64(head.idLength), bytes: buffer.bytes)
  }

  private var durationEdit: Edit? {
    var buffer = EBMLBuffer(capacity: 32)
    let ticks = Double(scan.endTicks)
    if let (head, _) = scan.info.duration {
      if head.size == 4 {
        buffer.putBigEndian(UInt64(Float(ticks).bitPattern), length: 4)
      } else {
        buffer.putBigEndian(ticks.bitPattern, length: 8)
      }
      return Edit(position: head.dataStart, bytes: buffer.bytes)
    }
    guard let room = scan.info.room, let end = room.end else { return nil }
    buffer.putFloat(ElementID.duration, ticks)
    Self.putVoidHead(&buffer, total: end - room.position - Int64(buffer.count))
    return Edit(position: room.position, bytes: buffer.bytes)
  }

  private func seekHeadEdit(_ appended: [(id: UInt32, position: Int64)]) -> Edit? {
    guard let room = seekHeadRoom else { return nil }
    var places: [(id: UInt32, position: Int64)] = []
    for id in Self.named {
      if let new = appended.first(where: { $0.id == id }) {
        places.append(new)
      } else if id == ElementID.cues {
        if let goodCues { places.append((id, goodCues.position)) }
      } else if let head = scan.tops.first(where: { $0.id == id }) {
        places.append((id, head.position))
      }
    }
    var buffer = EBMLBuffer(capacity: 256)
    WebMHead.putSeekHead(&buffer, places, from: scan.segment.dataStart)
    Self.putVoidHead(&buffer, total: room.length - Int64(buffer.count))
    return Edit(position: room.position, bytes: buffer.bytes)
  }

  /// The head of a Void of so many bytes in all, as `EBMLBuffer.putVoid` makes it.
  static func putVoidHead(_ buffer: inout EBMLBuffer, total: Int64) {
    guard total >= 2 else { return }
    let length = total < 10 ? 1 : 8
    buffer.putID(ElementID.void)
    buffer.putSize(Int(total) - 1 - length, length: length)
  }
}
