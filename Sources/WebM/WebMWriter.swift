import MediaCore

/// Writes one recording as WebM (RFC 8794, RFC 9559, WebM container guidelines) so that the file plays at every
/// moment: killed at any instant it plays up to the last frames written; ended by `finish()` it also has Duration,
/// Cues, Chapters, Tags and a SeekHead, and seeks.
///
/// Blocks go to the file at once, in Clusters of at most half a second; each append takes effect wholly or not at all
/// (see `AppendFile`). Data is made durable once a second on a thread of its own.
/// Confined to one thread. Calls block only as long as the kernel's page cache does.
public final class WebMWriter {
  /// What `finish()` left behind.
  public struct Summary: Sendable, Hashable {
    /// Bytes of the file.
    public var size: Int64
    /// Length of the recording, to the end of the last frame.
    public var duration: Duration
    /// Coded pictures that were written.
    public var videoFrames: Int
    /// Packets of sound that were written.
    public var audioFrames: Int
    /// Places to seek to. 0 when the disk had no room left for the index: such a file plays, and seeks slowly.
    public var cues: Int
  }

  /// A frame waits at most so long, in media time, for earlier ones of the other track.
  static let reorderLimit: Int64 = 250
  /// Largest payload of a block: sizes are written in at most four bytes.
  static let maximumFrameSize = 1 << 27

  /// The file's name, as given.
  public var path: String { file.path }
  /// Bytes written so far, without the reserve. Same thread.
  public var size: Int64 { clusters.output.end }
  /// End of the latest frame taken so far. Same thread.
  public var duration: Duration { .milliseconds(max(video.end, audio.end)) }
  /// Pictures dropped because no keyframe came before them. Same thread.
  public private(set) var framesBeforeKeyframe = 0

  /// Is given each frame that goes into the file, in the file's order, with its bytes, which are there during the call, and the
  /// time that it has in the file.
  package var tap: ((_ kind: MediaKind, _ time: SessionTime, _ isKeyframe: Bool, UnsafeRawBufferPointer) -> Void)?

  private enum State { case open, failed, closed }
  private struct TrackProgress {
    var queue = BlockQueue()
    var isPresent: Bool
    /// Milliseconds of the latest frame taken; -1 before the first.
    var latest: Int64 = -1
    /// Milliseconds at which the latest frame ends.
    var end: Int64 = 0
    var written = 0
  }

  let file: OutputFile
  private var configuration: WebMConfiguration
  private var clusters: ClusterWriter
  private let syncer: FileSyncer?
  private var state = State.open
  private var video: TrackProgress
  private var audio: TrackProgress

  /// Creates a file, which must not exist, mode 0600, and writes its head. Throws `.exists`, `.open`, `.full`,
  /// `.write` or `.invalid`; then no file is left behind.
  /// `syncs`: false where losing the file to a crash of the machine costs nothing, since it can be made again.
  public convenience init(
    path: String, configuration: WebMConfiguration, syncs: Bool = true
  ) throws(WebMError) {
    if let fault = configuration.fault { throw WebMError(code: .invalid, operation: fault, path: path) }
    let file = try OutputFile(creating: path)
    do throws(WebMError) {
      try self.init(file: file, configuration: configuration, syncs: syncs)
    } catch {
      file.remove()
      throw error
    }
  }

  /// Takes over an open descriptor of an empty, writable regular file (closed also when this throws) and writes the
  /// head. `path` names the file in messages and says which directory to sync.
  public convenience init(
    descriptor: Int32, path: String, configuration: WebMConfiguration
  ) throws(WebMError) {
    let file = try OutputFile(descriptor: descriptor, path: path)
    if let fault = configuration.fault { throw WebMError(code: .invalid, operation: fault, path: path) }
    try self.init(file: file, configuration: configuration)
  }

  init(file: OutputFile, configuration: WebMConfiguration, syncs: Bool = true) throws(WebMError) {
    self.file = file
    self.configuration = configuration
    video = TrackProgress(isPresent: configuration.video != nil)
    audio = TrackProgress(isPresent: configuration.audio != nil)
    let output = AppendFile(file: file, headSize: Int64(WebMHead.size))
    clusters = ClusterWriter(output: output, hasVideo: configuration.video != nil)
    for tag in configuration.tags { clusters.index.setTag(tag.name, tag.value) }
    let tags = WebMHead.fitting(clusters.index.tags, in: configuration)
    try output.patch(WebMHead.page(configuration, tags: tags), at: 0)
    syncer = syncs ? FileSyncer.start(descriptor: file.descriptor) : nil
    syncer?.markDirty()
  }

  deinit { syncer?.stop() }

  /// Takes a frame of the configuration's codec. Its bytes are copied. `time` is when it is shown, since the recording began, rounded
  /// to milliseconds; a time not later than that of the picture before becomes one millisecond later. Pictures before
  /// the first keyframe cannot be decoded and are dropped; empty frames (the encoder skipped one) are ignored.
  /// After an error nothing more is taken: what is in the file stays valid, and `finish()` can still end it properly.
  public func addVideo(
    at time: SessionTime, _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool
  ) throws(WebMError) {
    try checkOpen(bytes)
    guard let settings = configuration.video else {
      throw WebMError(code: .invalid, operation: "this recording has no pictures", path: path)
    }
    guard !bytes.isEmpty else { return }
    guard isKeyframe || video.latest >= 0 else {
      framesBeforeKeyframe += 1
      return
    }
    let milliseconds = max(Self.milliseconds(time), video.latest + 1)
    video.latest = milliseconds
    let end = milliseconds + (settings.frameDuration + .microseconds(500)).milliseconds
    video.end = end
    video.queue.append(time: milliseconds, end: end, isKeyframe: isKeyframe, bytes: bytes)
    try drain(everything: false)
  }

  /// Takes an Opus packet (RFC 6716). Its bytes are copied. `time` is that of the first sample that went into the
  /// encoder for this packet, since the recording began, rounded to milliseconds: the encoder's delay is told to players
  /// as CodecDelay. A time not later than that of the packet before becomes one millisecond later. Errors as for
  /// `addVideo`.
  public func addAudio(at time: SessionTime, _ bytes: UnsafeRawBufferPointer) throws(WebMError) {
    try checkOpen(bytes)
    guard audio.isPresent else {
      throw WebMError(code: .invalid, operation: "this recording has no sound", path: path)
    }
    guard !bytes.isEmpty else { return }
    let milliseconds = max(Self.milliseconds(time), audio.latest + 1)
    audio.latest = milliseconds
    let length = configuration.audio?.copied.map { $0.duration(bytes) } ?? OpusPacket(bytes)?.duration
    let end = milliseconds + ((length ?? 0) + 500_000) / 1_000_000
    audio.end = end
    audio.queue.append(time: milliseconds, end: end, isKeyframe: true, bytes: bytes)
    try drain(everything: false)
  }

  /// Adds a chapter, written by `finish()`. `end` nil: up to the next chapter. Titles keep at most 512 bytes.
  public func addChapter(start: SessionTime, end: SessionTime? = nil, title: String) {
    clusters.index.addChapter(start: start, end: end, title: title)
  }

  /// Changes the recording's title. The head is rewritten at once, in one write, so that a file that is never ended has
  /// it too; when that fails, `finish()` writes it.
  public func setTitle(_ title: String) {
    configuration.title = title
    if configuration.tags.contains(where: { $0.name == WebMConfiguration.Tag.title }) {
      clusters.index.setTag(WebMConfiguration.Tag.title, configuration.tagTitle)
    }
    rewriteHead()
  }

  /// Sets a tag of the whole recording; an empty value takes it away. Names are upper case by convention (RFC 9559
  /// section 21): "TITLE", "DESCRIPTION". In a file that has tags from its beginning they are in the head at once, as the title
  /// is; in others, and should the head have no room for all of them, `finish()` writes them behind the Clusters.
  public func setTag(_ name: String, _ value: String) {
    clusters.index.setTag(name, value)
    if !configuration.tags.isEmpty { rewriteHead() }
  }

  /// The tags that the head has.
  private var headTags: [WebMConfiguration.Tag] {
    configuration.tags.isEmpty ? [] : WebMHead.fitting(clusters.index.tags, in: configuration)
  }

  private func rewriteHead() {
    guard state == .open else { return }
    let tags = headTags
    try? clusters.output.patch(WebMHead.page(configuration, tags: tags), at: 0)
    syncer?.markDirty()
  }

  /// Writes all frames that still wait for the other track.
  public func flush() throws(WebMError) {
    guard state == .open else { throw WebMError(code: .closed, operation: "write", path: path) }
    try drain(everything: true)
  }

  /// Ends the recording: writes what waits, index, chapters and tags, then the final head, makes everything durable and
  /// closes. Also after an error of `add…`, as far as the disk lets it. Blocks for the disk. When it throws the file is
  /// closed and plays like one that was never ended; `.closed` when called again.
  public func finish() throws(WebMError) -> Summary {
    guard state != .closed else { throw WebMError(code: .closed, operation: "finish", path: path) }
    defer { close() }
    if state == .open {
      // A full disk shows itself here as in `add…`: the file is then ended with what it has.
      do throws(WebMError) { try drain(everything: true) } catch { guard error.code == .full else { throw error } }
    }
    try clusters.closeCluster()
    var tags = headTags
    let places = try clusters.writeIndex(hasTags: tags != clusters.index.tags)
    // One element with all of them; with some of them only when the disk was full.
    if places.contains(where: { $0.id == ElementID.tags }) { tags = [] }
    let end = clusters.output.end
    let final = WebMHead.Final(duration: clusters.writtenEnd, fileSize: end, places: places)
    try clusters.output.patch(WebMHead.page(configuration, tags: tags, final: final), at: 0)
    try file.syncEverything()
    return Summary(
      size: end, duration: .milliseconds(clusters.writtenEnd), videoFrames: video.written,
      audioFrames: audio.written, cues: places.contains { $0.id == ElementID.cues } ? clusters.index.cueCount : 0)
  }

  /// Closes the file as it is, like a kill would. Waiting frames are lost. Safe to call again; `deinit` does the same.
  public func abandon() { close() }

  private func close() {
    state = .closed
    syncer?.stop()
    file.close()
  }

  // MARK: - Order

  private static func milliseconds(_ time: SessionTime) -> Int64 {
    let limit: Int64 = 1 << 60
    return (min(max(0, time.nanoseconds), limit) + 500_000) / 1_000_000
  }

  private func checkOpen(_ bytes: UnsafeRawBufferPointer) throws(WebMError) {
    guard state == .open else { throw WebMError(code: .closed, operation: "write", path: path) }
    guard bytes.count <= Self.maximumFrameSize else {
      throw WebMError(code: .invalid, operation: "a frame of \(bytes.count) bytes is too large", path: path)
    }
    let number = syncer?.failureNumber ?? 0
    guard number == 0 else {
      state = .failed
      throw WebMError(code: .sync, failed: "fdatasync", path: path, number: number)
    }
  }

  /// Writes the waiting frames whose turn has come: those for which no earlier one of the other track can follow, and
  /// those that have waited long enough. Sound goes before a picture of the same time (WebM muxer guidelines).
  private func drain(everything: Bool) throws(WebMError) {
    do throws(WebMError) {
      let newest = max(video.latest, audio.latest)
      while true {
        let picture = video.queue.first
        let packet = audio.queue.first
        if let packet, picture.map({ packet.time <= $0.time }) ?? true {
          // Wait for the pictures up to the sound's end, so that it is known whether a keyframe falls into it.
          let isNext = picture != nil || !video.isPresent || video.latest >= packet.end
          guard isNext || everything || newest - packet.time >= Self.reorderLimit else { break }
          let keyframe = picture.flatMap { $0.isKeyframe && $0.time < packet.end ? $0.time : nil }
          try audio.queue.withFirstPayload { (payload) throws(WebMError) in
            try clusters.put(packet, payload, isVideo: false, upcomingKeyframe: keyframe)
            tap?(.audio, .zero + .milliseconds(packet.time), true, payload)
          }
          audio.queue.removeFirst()
          audio.written += 1
        } else if let picture {
          let isNext = packet != nil || !audio.isPresent || audio.latest >= picture.time
          guard isNext || everything || newest - picture.time >= Self.reorderLimit else { break }
          try video.queue.withFirstPayload { (payload) throws(WebMError) in
            try clusters.put(picture, payload, isVideo: true, upcomingKeyframe: nil)
            tap?(.video, .zero + .milliseconds(picture.time), picture.isKeyframe, payload)
          }
          video.queue.removeFirst()
          video.written += 1
        } else {
          break
        }
      }
      try clusters.commit()
      syncer?.markDirty()
    } catch {
      state = .failed
      throw error
    }
  }
}
