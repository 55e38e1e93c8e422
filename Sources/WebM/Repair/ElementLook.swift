/// Says what stands at a position of a file, without believing it: an element is one only when everything that can be
/// known of it is as it should be. Confined to one thread.
struct ElementLook {
  /// What stands somewhere.
  enum Found {
    /// A Cluster, with its time and the place of its checksum.
    case cluster(ElementHead, ticks: Int64, checksum: Int64?)
    /// Another level 1 element.
    case top(ElementHead)
    /// A Void or a checksum, at home everywhere.
    case filler(ElementHead)
    /// A part of a Cluster; nil: one without a frame.
    case child(ElementHead, Block?)
    /// An element that is not known here, and behind which a known one follows.
    case other(ElementHead)
    /// Nothing that can be.
    case bad
  }

  /// A SimpleBlock or BlockGroup (RFC 9559 sections 5.1.3.4 and 5.1.3.5).
  struct Block: Sendable {
    var position: Int64
    var track: UInt64
    /// From its Cluster's time.
    var ticks: Int64
    var isKeyframe: Bool
    /// In ticks, when it says so.
    var duration: Int64?
    /// Where the frame's bytes begin, or its lace.
    var payload: Int64
    var isLaced: Bool
  }

  /// Largest frame that is believed.
  static let longestBlock: Int64 = 1 << 28

  let window: ByteWindow
  /// Numbers of the tracks.
  var tracks: Set<UInt64> = []

  private var size: Int64 { window.source.size }

  init(_ window: ByteWindow) { self.window = window }

  static func isTop(_ id: UInt32) -> Bool {
    switch id {
    case ElementID.seekHead, ElementID.info, ElementID.tracks, ElementID.cues, ElementID.chapters, ElementID.tags,
      ElementID.attachments:
      true
    default: false
    }
  }

  /// What stands at a position of a Segment, or of a Cluster in it.
  func found(at position: Int64, inCluster: Bool) throws(WebMError) -> Found {
    try found(at: position, inCluster: inCluster, isBehindOther: false)
  }

  private func found(at position: Int64, inCluster: Bool, isBehindOther: Bool) throws(WebMError) -> Found {
    guard let head = try window.head(at: position) else { return .bad }
    if head.id == ElementID.cluster {
      guard let (ticks, checksum) = try timestamp(of: head) else { return .bad }
      return .cluster(head, ticks: ticks, checksum: checksum)
    }
    // Only Segments and Clusters may have no size (RFC 9559 section 5.1).
    guard let end = head.end, end <= size else { return .bad }
    if Self.isTop(head.id) { return .top(head) }
    switch head.id {
    case ElementID.void: return .filler(head)
    case ElementID.crc32: return head.size == 4 ? .filler(head) : .bad
    case ElementID.simpleBlock where inCluster, ElementID.blockGroup where inCluster:
      guard let block = try block(head) else { return .bad }
      return .child(head, block)
    case ElementID.timestamp where inCluster, ElementID.position where inCluster, ElementID.prevSize where inCluster:
      return (head.size ?? 9) <= 8 ? .child(head, nil) : .bad
    case ElementID.encryptedBlock where inCluster, ElementID.silentTracks where inCluster: return .child(head, nil)
    default:
      // In a Cluster, all elements are known.
      guard !inCluster, !isBehindOther else { return .bad }
      switch try found(at: end, inCluster: false, isBehindOther: true) {
      case .cluster, .top, .filler: return .other(head)
      case .child, .other, .bad: return .bad
      }
    }
  }

  /// The time of a Cluster, which is the first in it (RFC 9559 section 5.1.3.1), and the place of its checksum; nil: it
  /// is none.
  private func timestamp(of cluster: ElementHead) throws(WebMError) -> (ticks: Int64, checksum: Int64?)? {
    var position = cluster.dataStart
    var checksum: Int64?
    for _ in 0..<4 {
      guard let child = try window.head(at: position), let end = child.end, end <= size else { return nil }
      switch child.id {
      case ElementID.timestamp:
        guard let size = child.size, size <= 8, let value = try window.number(at: child.dataStart, length: Int(size)),
          value < 1 << 48
        else { return nil }
        return (Int64(value), checksum)
      case ElementID.crc32: checksum = child.size == 4 ? child.position : nil
      case ElementID.void, ElementID.position, ElementID.prevSize: break
      default: return nil
      }
      position = end
    }
    return nil
  }

  private func block(_ head: ElementHead) throws(WebMError) -> Block? {
    guard let size = head.size, size >= 4, size <= Self.longestBlock else { return nil }
    if head.id == ElementID.simpleBlock { return try frame(head, in: head) }
    var block: Block?
    var isReferring = false
    var duration: Int64?
    var count = 0
    let isWhole = try window.children(of: head) { (child) throws(WebMError) in
      count += 1
      switch child.id {
      case ElementID.block:
        block = try frame(child, in: head)
        guard block != nil else { return false }
      case ElementID.referenceBlock: isReferring = true
      case ElementID.blockDuration:
        let value = try window.number(at: child.dataStart, length: Int(clamping: child.size ?? 9))
        duration = value.map { Int64(clamping: min($0, 1 << 48)) }
      default: break
      }
      return count <= 64
    }
    guard isWhole else { return nil }
    block?.isKeyframe = !isReferring
    block?.duration = duration
    return block
  }

  /// Track, time and flags, with which a block begins (RFC 9559 section 10.1).
  private func frame(_ head: ElementHead, in element: ElementHead) throws(WebMError) -> Block? {
    guard let track = try window.marked(at: head.dataStart), let number = track.value, tracks.contains(number),
      let rest = try window.number(at: head.dataStart + Int64(track.length), length: 3),
      (head.size ?? 0) >= Int64(track.length) + 3
    else { return nil }
    let flags = UInt8(truncatingIfNeeded: rest)
    let payload = head.dataStart + Int64(track.length) + 3
    guard flags & 0x70 == 0, try laceFits(flags & 0x06, payload, to: head.end ?? payload) else { return nil }
    return Block(
      position: element.position, track: number, ticks: Int64(Int16(truncatingIfNeeded: rest >> 8)),
      isKeyframe: flags & 0x80 != 0, duration: nil, payload: payload,
      isLaced: flags & 0x06 != 0)
  }

  /// True when the frames of a lace fit into their block (RFC 9559 section 10.3).
  private func laceFits(_ kind: UInt8, _ payload: Int64, to end: Int64) throws(WebMError) -> Bool {
    guard kind != 0 else { return true }
    guard payload < end, let first = try window.byte(at: payload) else { return false }
    // All but the last say their size.
    let count = Int64(first)
    var position = payload + 1
    var frames: Int64 = 0
    switch kind {
    case 0x04: return (end - position) % (count + 1) == 0
    case 0x02:
      for _ in 0..<count {
        var byte: UInt8 = 255
        while byte == 255 {
          guard position < end, let next = try window.byte(at: position) else { return false }
          byte = next
          frames += Int64(byte)
          position += 1
        }
      }
    default:
      var size: Int64 = 0
      for index in 0..<count {
        guard let (value, length) = try window.marked(at: position), let value else { return false }
        // The first is a size, the others are differences, stored from the middle of their range on.
        let middle = (Int64(1) << Int64(7 * length - 1)) - 1
        size = index == 0 ? Int64(value) : size + Int64(value) - middle
        guard size >= 0, size <= end - payload else { return false }
        frames += size
        position += Int64(length)
      }
    }
    return position + frames <= end
  }

  /// True when from a position on there is one block after the other up to the end of their Cluster, or many of them. Our
  /// writer leaves Voids between them.
  func blocksBegin(at position: Int64, clusterEnd: Int64) throws(WebMError) -> Bool {
    var position = position
    var blocks = 0
    for _ in 0..<16 where blocks < 8 {
      guard position < clusterEnd else { return false }
      let head: ElementHead
      switch try found(at: position, inCluster: true) {
      case .child(let block, .some):
        head = block
        blocks += 1
      case .filler(let filler) where blocks > 0: head = filler
      default: return false
      }
      guard let end = head.end else { return false }
      if end == clusterEnd { return true }
      position = end
    }
    return blocks == 8
  }

  /// True when a level 1 element stands at a position that can be believed where nothing else could be.
  func topBegins(at position: Int64) throws(WebMError) -> Bool {
    switch try found(at: position, inCluster: false) {
    case .cluster: return true
    case .top(let head):
      guard let end = head.end, let first = try window.head(at: head.dataStart), (first.end ?? .max) <= end else {
        return false
      }
      let isOwn: Bool =
        switch (head.id, first.id) {
        case (ElementID.seekHead, ElementID.seek), (ElementID.info, ElementID.timestampScale),
          (ElementID.tracks, ElementID.trackEntry), (ElementID.cues, ElementID.cuePoint),
          (ElementID.chapters, ElementID.editionEntry), (ElementID.tags, ElementID.tag), (_, ElementID.crc32):
          true
        default: false
        }
      guard isOwn else { return false }
      if end == size { return true }
      if case .bad = try found(at: end, inCluster: false) { return false }
      return true
    default: return false
    }
  }
}
