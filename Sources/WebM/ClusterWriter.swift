/// Puts blocks, in the order given, into Clusters and these into the file. Confined to one thread.
struct ClusterWriter {
  /// Milliseconds after which a Cluster ends.
  static let lengthLimit: Int64 = 500
  /// Cues are at least so many milliseconds apart.
  static let cueSpacing: Int64 = 1000
  /// ID and size of a Cluster.
  private static let headLength: Int64 = 12
  /// Bytes kept for what is only known at the end: the last chapter, tags.
  private static let lastWords: Int64 = 4096

  private struct Cluster {
    /// Where it begins in the file.
    var position: Int64
    /// Milliseconds from which its blocks count.
    var time: Int64
    /// The keyframe for which it was begun.
    var keyframe: Int64?
  }

  /// Where clusters are appended.
  private(set) var output: AppendFile
  /// What is written at the end.
  var index = WebMIndex()
  /// Milliseconds at which the latest block in the file ends.
  private(set) var writtenEnd: Int64 = 0

  private let hasVideo: Bool
  private var cluster: Cluster?
  private var lastCue: Int64?
  /// Blocks that are not in the file yet, and where the latest of them ends.
  private var batch = EBMLBuffer(capacity: 1 << 18)
  private var batchEnd: Int64 = 0

  /// Continues behind the head of the file.
  init(output: AppendFile, hasVideo: Bool) {
    self.output = output
    self.hasVideo = hasVideo
  }

  /// Puts a block into the batch. `upcomingKeyframe` is the time of the keyframe that a sound block reaches, if any:
  /// such a sound goes into the keyframe's Cluster, before it, and a keyframe is otherwise the first of its Cluster
  /// (WebM muxer guidelines).
  mutating func put(
    _ entry: BlockQueue.Entry, _ payload: UnsafeRawBufferPointer, isVideo: Bool, upcomingKeyframe: Int64?
  ) throws(WebMError) {
    let isKeyPicture = isVideo && entry.isKeyframe
    let keyframe = isKeyPicture ? entry.time : upcomingKeyframe
    var begins = true
    if let cluster {
      // Times in a Cluster are 16 bits (RFC 9559 section 10.1).
      let inRange = (Int64(Int16.min)..<Self.lengthLimit).contains(entry.time - cluster.time)
      let isForThis = keyframe == nil || keyframe == cluster.keyframe
      begins = !inRange && keyframe == nil || !isForThis
    }
    if begins { try begin(at: entry.time, keyframe: keyframe) }
    guard let cluster else { return }
    if isKeyPicture || (!hasVideo && begins), lastCue.map({ entry.time - $0 >= Self.cueSpacing }) ?? true {
      lastCue = entry.time
      index.addCue(
        WebMIndex.Cue(
          time: entry.time, track: UInt64(isVideo ? TrackNumber.video : TrackNumber.audio),
          position: cluster.position - WebMHead.segmentDataStart,
          relativePosition: output.end + Int64(batch.count) - cluster.position - Self.headLength))
    }
    batch.putID(ElementID.simpleBlock)
    batch.putSize(4 + payload.count)
    batch.putBigEndian(UInt64(0x80 | (isVideo ? TrackNumber.video : TrackNumber.audio)), length: 1)
    batch.putBigEndian(UInt64(bitPattern: entry.time - cluster.time), length: 2)
    batch.putBigEndian(entry.isKeyframe ? 0x80 : 0, length: 1)
    batch.put(payload)
    batchEnd = max(batchEnd, entry.end)
  }

  /// Writes the batch.
  mutating func commit() throws(WebMError) {
    guard batch.count > 0 else { return }
    defer { batch.removeAll() }
    try output.append(&batch, leaving: index.sizeLimit + Self.lastWords)
    writtenEnd = batchEnd
  }

  /// Writes the batch and gives the Cluster under way its size.
  mutating func closeCluster() throws(WebMError) {
    try commit()
    // A Cluster that did not get into the file has no size to set.
    guard let cluster, cluster.position < output.end else { return }
    // The batch is empty here; it serves as scratch, so that nothing is allocated.
    defer { batch.removeAll() }
    batch.putSize(Int(output.end - cluster.position - Self.headLength), length: 8)
    try output.patch(batch, at: cluster.position + 4)
    self.cluster = nil
  }

  /// Writes Cues, Chapters and, unless the head has them, Tags, and takes the reserve away. Returns where they are; parts for which there is no room,
  /// neither in the reserve nor on the disk, are left out.
  mutating func writeIndex(hasTags: Bool) throws(WebMError) -> [(id: UInt32, position: Int64)] {
    index.removeCues(from: output.end - WebMHead.segmentDataStart)
    var places: [(id: UInt32, position: Int64)] = []
    for part in index.parts(duration: writtenEnd, hasTags: hasTags) {
      batch.removeAll()
      batch.put(part.bytes.bytes)
      let position = output.end
      do throws(WebMError) {
        try output.append(&batch)
        places.append((part.id, position))
      } catch { guard error.code == .full else { throw error } }
    }
    batch.removeAll()
    try output.trim()
    return places
  }

  /// Ends the Cluster under way and begins one. A Cluster begins a batch, so that its size lies in one page and can be
  /// set when it ends.
  private mutating func begin(at time: Int64, keyframe: Int64?) throws(WebMError) {
    try closeCluster()
    cluster = Cluster(position: output.end, time: time, keyframe: keyframe)
    batch.putID(ElementID.cluster)
    batch.putUnknownSize()
    batch.putUnsigned(ElementID.timestamp, UInt64(max(0, time)))
  }
}
