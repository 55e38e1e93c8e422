/// What `RepairScanner` found in a file: where its elements are, and where it is damaged. Positions are bytes of the
/// file, times are ticks of its TimestampScale.
struct RepairScan {
  /// The Segment's head.
  var segment = ElementHead(id: ElementID.segment, position: 0, idLength: 4, sizeLength: 8, size: nil)
  /// Level 1 elements before the first Cluster, Voids among them.
  var beginning: [ElementHead] = []
  /// All level 1 elements but Clusters and Voids.
  var tops: [ElementHead] = []
  /// What the Info element says.
  var info = Info()
  /// Tracks that were found, in the order of the file.
  var tracks: [Track] = []

  /// The first Cluster.
  var firstCluster: Int64?
  /// Clusters that can be read.
  var clusters = 0
  /// Frames that can be read; a lace counts as one.
  var frames = 0
  /// Where the latest frame ends.
  var endTicks: Int64 = 0
  /// Places to seek to.
  var cues = CueList()

  /// Damaged places between readable ones.
  var holes: [Hole] = []
  /// Clusters whose size is not where their last readable block ends.
  var clusterEnds: [ClusterEnd] = []
  /// Checksums of Clusters that are damaged: one-byte IDs of CRC-32 elements.
  var brokenChecksums: [Int64] = []
  /// Where the readable elements end.
  var end: Int64 = 0
  /// Where the Voids begin with which they end; `end` when there are none.
  var reserve: Int64 = 0
  /// Bytes behind `end` in which nothing can be read.
  var tail: Int64 = 0
  /// True when that is no damage: the Segment ends before, by what it says.
  var tailIsForeign = false

  /// The Info element (RFC 9559 section 5.1.2) as far as it could be read.
  struct Info {
    /// The element; nil when there is none.
    var head: ElementHead?
    /// Nanoseconds of a tick.
    var scale: UInt64 = 1_000_000
    /// The Duration element and its value in ticks.
    var duration: (head: ElementHead, ticks: Double)?
    /// A Void in which a Duration has room: exactly, or with room for another Void.
    var room: ElementHead?
    /// Its CRC-32 element.
    var checksum: Int64?
  }

  /// A track.
  struct Track {
    var number: UInt64
    /// 1 video, 2 audio.
    var type: UInt64 = 0
    var isOpus = false
    /// Nanoseconds of a frame; 0: not said.
    var frameDuration: Int64 = 0
  }

  /// A damaged place.
  struct Hole {
    var position: Int64
    var length: Int64
    /// Time of the latest frame before it, and of the first one behind it; nil when there is none.
    var before: Int64?
    var after: Int64?
  }

  /// The size that a Cluster should have.
  struct ClusterEnd {
    var head: ElementHead
    var end: Int64
  }

  /// The place so many bytes behind another one; nil when nothing is read there.
  func place(_ distance: UInt64, from start: Int64) -> Int64? {
    guard distance < UInt64(end) else { return nil }
    let place = start + Int64(distance)
    // Holes are in their order: the last one that begins before it.
    var (low, high) = (0, holes.count)
    while low < high {
      let middle = (low + high) / 2
      if holes[middle].position <= place { low = middle + 1 } else { high = middle }
    }
    let isInHole = low > 0 && place < holes[low - 1].position + holes[low - 1].length
    return place < end && !isInHole ? place : nil
  }

  /// The chosen track for Cues, and their number, bounded: when there are too many, every second one goes.
  struct CueList {
    static let limit = 1 << 18
    private(set) var list: [WebMIndex.Cue] = []
    /// True once they are keyframes of pictures.
    private(set) var areOfPictures = false
    private var spacing: Int64 = 0
    private var latest: Int64?

    /// Offers a place; `spacing` are the ticks that are at least between two.
    mutating func offer(_ cue: WebMIndex.Cue, isPicture: Bool, spacing given: Int64) {
      if isPicture, !areOfPictures {
        // Sound serves only where there is no picture.
        areOfPictures = true
        list.removeAll(keepingCapacity: true)
        latest = nil
      }
      guard isPicture == areOfPictures else { return }
      spacing = max(spacing, given)
      if let latest, cue.time - latest < spacing, cue.time >= latest { return }
      latest = cue.time
      list.append(cue)
      guard list.count >= Self.limit else { return }
      list = list.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
      spacing = spacing &* 2
    }
  }
}
