import MediaCore

/// Walks over a WebM or Matroska file by the heads of its elements (RFC 8794, RFC 9559). It never reads payloads, keeps
/// a window of 64 KiB, and goes on behind damage. Total on any bytes. Confined to one thread.
///
/// Clusters are walked as if none said its size: their blocks say where they end. Where no element can be, the next
/// place is sought from which it can go on: a Cluster, the blocks behind the damage in the same Cluster, or another
/// level 1 element. When that place lies inside the element before, then that one's size was wrong: it is damaged too.
final class RepairScanner {
  private static let window = 1 << 16
  /// More of them than any disk leaves.
  private static let itemLimit = 100_000
  private static let elementLimit = 4096
  /// Clusters of six days.
  private static let clusterLimit = 1 << 20

  private struct OpenCluster {
    var head: ElementHead
    var ticks: Int64
    var checksum: Int64?
    /// Where its latest part ends.
    var contentEnd: Int64
    /// True while an element ended where the Cluster says that it ends.
    var isMatched = false
    var hasHole = false
  }

  /// The latest element, which counts when something readable follows it.
  private struct Pending {
    var head: ElementHead
    var isTop = false
    var block: ElementLook.Block?
  }

  private let source: ByteSource
  private let window: ByteWindow
  private var look: ElementLook
  /// Looks far ahead without moving the other one's window.
  private var peek: ElementLook
  private var scan = RepairScan()
  private var cluster: OpenCluster?
  private var pending: Pending?
  /// The Tracks element that says what the tracks are.
  private var tracksPosition: Int64?
  private var latestTicks: Int64?
  /// Of each track, the time of the latest frame.
  private var trackTicks: [UInt64: Int64] = [:]
  private var firstHoleWithoutEnd = 0

  private init(_ source: ByteSource) {
    self.source = source
    window = ByteWindow(source, size: Self.window)
    look = ElementLook(window)
    peek = ElementLook(ByteWindow(source, size: 4096))
  }

  /// Scans everything. Throws `.notWebM`, `.read`, or `.invalid` when there is too much damage to go on.
  static func scan(_ source: ByteSource) throws(WebMError) -> RepairScan {
    let scanner = RepairScanner(source)
    try scanner.run()
    return scanner.scan
  }

  private func fail(_ text: String) -> WebMError { WebMError(code: .invalid, operation: text, path: source.path) }

  private func run() throws(WebMError) {
    try readStart()
    var position = scan.segment.dataStart
    scan.reserve = position
    scan.end = position
    while position < source.size {
      match(position)
      guard let next = try step(at: position) else { break }
      position = next
    }
    match(position)
    try commitPending()
    closeCluster()
    if position >= source.size { scan.end = source.size }
    scan.reserve = min(scan.reserve, scan.end)
  }

  /// An element ended here.
  private func match(_ position: Int64) {
    if let end = cluster?.head.end, end == position { cluster?.isMatched = true }
  }

  // MARK: - Beginning

  private func readStart() throws(WebMError) {
    func notWebM(_ text: String) -> WebMError { WebMError(code: .notWebM, operation: text, path: source.path) }
    guard source.size > 0 else { throw notWebM("it is empty") }
    guard let header = try window.head(at: 0), header.id == ElementID.ebml, let size = header.size, size <= 4096 else {
      throw notWebM("it has no EBML head")
    }
    var type: [UInt8] = []
    _ = try window.children(of: header) { (child) throws(WebMError) in
      if child.id == ElementID.docType { type = try window.some(at: child.dataStart, count: Int(child.size ?? 0)) }
      return true
    }
    let name = String(decoding: type.prefix { $0 != 0 }, as: UTF8.self)
    guard name == "webm" || name == "matroska" else { throw notWebM("its EBML head names no WebM") }
    guard let segment = try window.head(at: header.dataStart + size), segment.id == ElementID.segment else {
      throw notWebM("it has no Segment")
    }
    scan.segment = segment
  }

  // MARK: - Elements

  /// Takes what stands at a position; gives where the next element begins, or nil when there is none.
  private func step(at position: Int64) throws(WebMError) -> Int64? {
    var found = try look.found(at: position, inCluster: cluster != nil)
    // Behind a Cluster there may be elements that are not known here.
    if case .bad = found, cluster?.isMatched == true { found = try look.found(at: position, inCluster: false) }
    switch found {
    case .cluster(let head, let ticks, let checksum):
      try commitPending()
      closeCluster()
      if scan.firstCluster == nil {
        scan.firstCluster = position
        guard !scan.tracks.isEmpty else {
          throw fail("its head is damaged before byte \(position): nothing says what its tracks are")
        }
      }
      scan.clusters += 1
      cluster = OpenCluster(head: head, ticks: ticks, checksum: checksum, contentEnd: head.dataStart)
      scan.reserve = head.dataStart
      return head.dataStart
    case .top(let head):
      try commitPending()
      closeCluster()
      pending = Pending(head: head, isTop: true)
      note(head)
      if head.id == ElementID.info { try readInfo(head) }
      if head.id == ElementID.tracks { try readTracks(head) }
      return passed(head)
    case .filler(let head):
      try commitPending()
      pending = Pending(head: head)
      note(head)
      if head.id != ElementID.void { scan.reserve = head.end ?? position }
      return head.end
    case .child(let head, let block):
      try commitPending()
      pending = Pending(head: head, block: block)
      return passed(head)
    case .other(let head):
      try commitPending()
      if cluster?.isMatched == true { closeCluster() }
      pending = Pending(head: head)
      note(head)
      return passed(head)
    case .bad: return try damage(at: position)
    }
  }

  /// Notes where an element ends that is no Void.
  private func passed(_ head: ElementHead) -> Int64? {
    guard let end = head.end else { return nil }
    scan.reserve = end
    if cluster != nil {
      cluster?.isMatched = false
      cluster?.contentEnd = end
    }
    return end
  }

  /// Notes an element of the beginning.
  private func note(_ head: ElementHead) {
    if scan.firstCluster == nil, scan.beginning.count < Self.elementLimit { scan.beginning.append(head) }
  }

  private func commitPending() throws(WebMError) {
    guard let pending else { return }
    self.pending = nil
    if pending.isTop, scan.tops.count < Self.elementLimit { scan.tops.append(pending.head) }
    if let block = pending.block { try count(block) }
  }

  /// Ends the Cluster under way. Its size is right when an element ended where it says that the Cluster does. One that says
  /// none gets one, too: the Segment gets its size, and players object to what has none in what has one.
  private func closeCluster() {
    guard let open = cluster else { return }
    cluster = nil
    if open.hasHole, let checksum = open.checksum { scan.brokenChecksums.append(checksum) }
    if !open.isMatched, scan.clusterEnds.count < Self.clusterLimit {
      scan.clusterEnds.append(RepairScan.ClusterEnd(head: open.head, end: open.contentEnd))
    }
  }

  private func count(_ block: ElementLook.Block) throws(WebMError) {
    guard let cluster, let track = scan.tracks.first(where: { $0.number == block.track }) else { return }
    let ticks = max(0, cluster.ticks + block.ticks)
    scan.frames += 1
    latestTicks = ticks
    trackTicks[block.track] = ticks
    while firstHoleWithoutEnd < scan.holes.count {
      scan.holes[firstHoleWithoutEnd].after = ticks
      firstHoleWithoutEnd += 1
    }
    let scale = Int64(clamping: scan.info.scale)
    var length = track.frameDuration
    if track.isOpus, !block.isLaced {
      let packet = try window.some(at: block.payload, count: 2)
      length = packet.withUnsafeBytes { OpusPacket($0)?.duration } ?? length
    }
    let lengthTicks = block.duration ?? (length &+ scale / 2) / scale
    scan.endTicks = max(scan.endTicks, ticks + lengthTicks)
    let isPicture = track.type == 1
    guard block.isKeyframe, track.type == 1 || track.type == 2 else { return }
    let cue = WebMIndex.Cue(
      time: ticks, track: track.number, position: cluster.head.position - scan.segment.dataStart,
      relativePosition: block.position - cluster.head.dataStart)
    scan.cues.offer(cue, isPicture: isPicture, spacing: ClusterWriter.cueSpacing &* 1_000_000 / scale)
  }

  // MARK: - Damage

  /// What stands at a position is no element: finds where it goes on.
  private func damage(at position: Int64) throws(WebMError) -> Int64? {
    // Without its Timestamp a Cluster would be lost: that element is never given up.
    let isTimed = pending?.head.id == ElementID.timestamp
    let from = isTimed ? position : pending?.head.position ?? position
    if position == scan.segment.end, scan.firstCluster != nil {
      scan.tailIsForeign = true
    } else if try isSecondFile(at: position) {
      throw fail("a second file begins in it, at byte \(position); take them apart first")
    } else if let first = try resume(after: from),
      let next = isTimed && first - position < 2 ? try resume(after: first) : first
    {
      var start = position
      if next < position || next - position < 2 || goesBack(pending?.block) {
        // The size of the element before was wrong; or its time, in which the damage begins; and a single byte is too
        // little for a Void.
        start = from
        forgetPending()
      }
      try commitPending()
      guard next - start >= 2 else { throw fail("damaged at byte \(start): one byte, too little for a Void") }
      try addHole(start, next)
      return next
    }
    var end = position
    if !scan.tailIsForeign, goesBack(pending?.block) {
      end = from
      forgetPending()
      cluster?.contentEnd = end
      cluster?.isMatched = false
    }
    try commitPending()
    scan.reserve = min(scan.reserve, end)
    scan.end = end
    scan.tail = source.size - end
    return nil
  }

  /// True for a block that is not later than the one before it of its track.
  private func goesBack(_ block: ElementLook.Block?) -> Bool {
    guard let block, let cluster, let latest = trackTicks[block.track] else { return false }
    return cluster.ticks + block.ticks <= latest
  }

  /// An element becomes a part of a hole: what it said of the file counts no more.
  private func forgetPending() {
    if let position = pending?.head.position {
      if position == scan.info.head?.position { scan.info = RepairScan.Info() }
      if position == tracksPosition { take([], from: nil) }
    }
    pending = nil
  }

  /// True where an EBML head and a Segment stand (RFC 8794 section 8.1).
  private func isSecondFile(at position: Int64) throws(WebMError) -> Bool {
    guard let head = try peek.window.head(at: position), head.id == ElementID.ebml, let end = head.end,
      end - position < 4096, let segment = try peek.window.head(at: end)
    else { return false }
    return segment.id == ElementID.segment
  }

  private func addHole(_ start: Int64, _ end: Int64) throws(WebMError) {
    guard scan.holes.count < Self.itemLimit else {
      throw fail("damaged in more than \(Self.itemLimit) places up to byte \(start)")
    }
    scan.holes.append(RepairScan.Hole(position: start, length: end - start, before: latestTicks, after: nil))
    scan.reserve = end
    // It becomes a Void, with the element whose size was wrong.
    if scan.firstCluster == nil { scan.beginning.removeAll { $0.position >= start } }
    note(ElementHead(id: ElementID.void, position: start, idLength: 1, sizeLength: 1, size: end - start - 2))
    if let open = cluster, open.isMatched, start >= open.head.end ?? .max {
      closeCluster()
    } else {
      cluster?.contentEnd = end
      cluster?.hasHole = true
      cluster?.isMatched = false
    }
  }

  /// The first place behind a position at which something stands that can be believed; nil: none.
  private func resume(after position: Int64) throws(WebMError) -> Int64? {
    var table = [Bool](repeating: false, count: 256)
    // The first bytes of the IDs of all level 1 elements, and of blocks.
    for byte in [0x1F, 0x11, 0x15, 0x16, 0x1C, 0x10, 0x12, 0x19, 0xA3, 0xA0] { table[byte] = true }
    // Blocks belong to this Cluster only as far as it says that it goes: behind that, their times would be wrong.
    let clusterEnd = cluster.flatMap { $0.isMatched ? nil : $0.head.end } ?? 0
    var position = position + 1
    while let candidate = try window.firstByte(in: table, from: position) {
      let byte = try window.byte(at: candidate) ?? 0
      if byte == 0xA3 || byte == 0xA0 {
        if candidate < clusterEnd, try peek.blocksBegin(at: candidate, clusterEnd: clusterEnd) { return candidate }
      } else if let id = try window.number(at: candidate, length: 4).map({ UInt32(truncatingIfNeeded: $0) }),
        id == ElementID.cluster || ElementLook.isTop(id), try peek.topBegins(at: candidate)
      {
        return candidate
      }
      position = candidate + 1
    }
    return nil
  }

  // MARK: - Info and Tracks

  private func readInfo(_ head: ElementHead) throws(WebMError) {
    var info = RepairScan.Info(head: head)
    let window = peek.window
    let isWhole = try window.children(of: head) { (child) throws(WebMError) in
      let size = child.size ?? 0
      switch child.id {
      case ElementID.timestampScale:
        let value = try window.number(at: child.dataStart, length: Int(size)) ?? 0
        guard (1...1_000_000_000_000).contains(value) else { return false }
        info.scale = value
      case ElementID.duration where size == 4 || size == 8:
        let bits = try window.number(at: child.dataStart, length: Int(size)) ?? 0
        let ticks =
          size == 8 ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        info.duration = (child, ticks)
      case ElementID.crc32: info.checksum = child.position
      case ElementID.void:
        let total = (child.end ?? 0) - child.position
        if info.room == nil, total == 11 || total >= 13 { info.room = child }
      default: break
      }
      return true
    }
    guard isWhole else {
      guard scan.firstCluster == nil else { return }
      throw fail("its head is damaged at byte \(head.position) (Info)")
    }
    if scan.info.head == nil { scan.info = info }
  }

  private func readTracks(_ head: ElementHead) throws(WebMError) {
    let window = peek.window
    let limit = Self.elementLimit
    var tracks: [RepairScan.Track] = []
    let isWhole = try window.children(of: head) { (entry) throws(WebMError) in
      guard entry.id == ElementID.trackEntry, tracks.count < limit else { return true }
      var track = RepairScan.Track(number: 0)
      let isWhole = try window.children(of: entry) { (child) throws(WebMError) in
        let size = Int(clamping: child.size ?? 9)
        switch child.id {
        case ElementID.trackNumber: track.number = try window.number(at: child.dataStart, length: size) ?? 0
        case ElementID.trackType: track.type = try window.number(at: child.dataStart, length: size) ?? 0
        case ElementID.defaultDuration:
          let value = try window.number(at: child.dataStart, length: size) ?? 0
          track.frameDuration = value <= 1_000_000_000_000 ? Int64(value) : 0
        case ElementID.codecID:
          track.isOpus = try window.some(at: child.dataStart, count: size) == Array("A_OPUS".utf8)
        default: break
        }
        return true
      }
      if track.number > 0 { tracks.append(track) }
      return isWhole
    }
    guard scan.tracks.isEmpty else { return }
    guard isWhole, !tracks.isEmpty else { throw fail("its head is damaged at byte \(head.position) (Tracks)") }
    take(tracks, from: head.position)
  }

  private func take(_ tracks: [RepairScan.Track], from position: Int64?) {
    tracksPosition = position
    scan.tracks = tracks
    look.tracks = Set(tracks.map(\.number))
    peek.tracks = look.tracks
  }
}
