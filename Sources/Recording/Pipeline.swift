import Codecs
import Compositor
import Layouts
import Logging
import MediaCore
import Platform
import Session

/// From the core's outputs to bytes in the file: decode, mix, compose, encode, write. Confined to the recording's
/// thread.
final class Pipeline: OutputHandler {
  /// After a plan sound is mixed for so long at most: less than has been handed on by then, so that what comes late has its
  /// place, too.
  private static let mixedAhead = Duration.milliseconds(40)

  /// Sound that the core has not asked for so long after it arrived, in the session's time, it does not want: longer than
  /// the core lets sound be late (`PublisherClock`, four seconds).
  private static let longestWait = Duration.seconds(5)

  /// What is being made of the outputs so far.
  private(set) var progress = RecordingProgress()
  private let settings: RecordingSettings
  private let control: any RoomControl
  private var videos = VideoTracks()
  /// False: what is to be decoded need not be.
  private var usesPictures = true
  private var audio: AudioTracks
  private let compositor: PictureCompositor
  private let output: any MediaOutput
  private let further: FurtherOutputs
  private let audioEncoder: AudioEncoder
  private let images: ImageStore
  private var scene = ScenePaint()
  private var sparing: Sparing
  private var attendance = AttendanceList()
  private let notes: Notes
  private var chapters: ChapterMaker
  private let chronicle: Chronicle?
  private let sinks: Sinks?
  private let logger: Logger

  /// Opens the files and the encoders: `makeOutput` makes those of the media, and `makeFurther` those of each further file.
  /// `listener` is told what goes into the timeline, `sinks` are given sound and pictures,
  /// and `logger` is told of images that cannot be used and of low bandwidth.
  init(
    settings: RecordingSettings, control: any RoomControl, listener: TimelineListener?, sinks: [SinkServer] = [],
    logger: Logger,
    makeOutput: (RecordingSettings) throws(RecordingError) -> any MediaOutput = { (settings) throws(RecordingError) in
      try FileOutput(settings)
    },
    makeFurther: (RecordingSettings) throws(RecordingError) -> any MediaOutput = { (settings) throws(RecordingError) in
      try ThreadedOutput(.skips) { () throws(RecordingError) in try FileOutput(settings) }
    }
  ) throws(RecordingError) {
    self.settings = settings
    self.control = control
    self.logger = logger
    let session = settings.session
    sparing = Sparing(framesPerSecond: session.framesPerSecond)
    audio = AudioTracks(normalizesLoudness: settings.normalizesLoudness)
    images = ImageStore(fetcher: settings.images.fetcher) { source, reason in
      logger.warning("an image cannot be used", metadata: ["image": "\(source)", "reason": "\(reason)"])
    }
    compositor = PictureCompositor(canvas: session.canvas, images: images)
    self.sinks = sinks.isEmpty ? nil : Sinks(sinks, canvas: session.canvas, images: images)
    audioEncoder = try AudioEncoder(bitrate: settings.audioBitrate)
    output = try makeOutput(settings)
    further = try FurtherOutputs(
      settings, images: images, logger: logger, sound: audioEncoder, makeOutput: makeFurther)
    notes = try Notes(settings: settings, listener: listener)
    chapters = ChapterMaker(settings.chapters)
    chronicle = try Chronicle(settings)
    progress.phase = .recording
    progress.title = session.title
    DetachedThread.start(name: "images") { [images] in images.run() }
  }

  deinit { images.close() }

  /// Looks at an event before the core does: sound is decoded at once, and gets its level.
  func prepare(_ event: inout SessionEvent) {
    if case .room(let news) = event.payload {
      chronicle?.collector.prepare(news)
      sinks?.take(news)
    }
    guard case .frame(var frame, let track) = event.payload, frame.codec.kind == .audio else { return }
    let errors = audio.errors
    let level = audio.decode(FrameID(event.sequence), frame, of: track, arrived: event.arrived)
    if audio.errors != errors { chronicle?.collector.decodeError(track) }
    progress.decodeErrors = videos.errors + audio.errors
    guard frame.audioLevel == nil else { return }
    frame.audioLevel = level
    event.payload = .frame(frame, of: track)
  }

  /// Says that these outputs of other instants begin: of a track's pictures only the newest is needed any more. While the encoder has
  /// little to do, all processors decode; while it has enough, they would only keep it from its own.
  func beginBurst(_ outputs: [SessionOutput]) {
    videos.beginBurst()
    if output.isStarving, !settings.isWithoutPictures, usesPictures { videos.decodeAhead(outputs) }
  }

  /// Carries out one output; gives what the core has to know of it. `isLate`: the machine does not keep up, so the picture of
  /// this slot is left out, and what is to be decoded waits for a keyframe.
  func perform(_ output: SessionOutput, isLate: Bool) throws(RecordingError) -> SessionFinding? {
    switch output {
    case .decode where settings.isWithoutPictures: break
    case .usePictures(let isUse):
      usesPictures = isUse
      if !isUse { videos.releaseAll() }
      chronicle?.collector.interruptFreezes(at: progress.time)
    case .decode(_, let frame, let track, let time) where !usesPictures:
      chronicle?.collector.picture(track, frame, isShown: false, at: max(time, progress.time))
    case .decode(let id, _, let track, _) where isLate:
      videos.skip(track)
      return SessionFinding(id, of: track, .needsKeyframe)
    case .decode(let id, let frame, let track, let time):
      let errors = videos.errors
      let outcome = videos.decode(id, frame, of: track)
      if let collector = chronicle?.collector {
        if videos.errors != errors { collector.decodeError(track) }
        // What comes too late for its place is shown by the next plan.
        collector.picture(track, frame, isShown: outcome.isDecoded, at: max(time, progress.time))
      }
      progress.decodeErrors = videos.errors + audio.errors
      switch outcome {
      case .decoded: return SessionFinding(id, of: track, .decoded)
      case .needsKeyframe(let error):
        if let error {
          logger.info(
            "a frame cannot be decoded; its track goes on with the next keyframe",
            metadata: [
              "track": "\(track)", "codec": "\(frame.codec.title)", "keyframe": "\(frame.isKeyframe)",
              "reason": "\(error.reason): \(error.text)",
            ])
        }
        return SessionFinding(id, of: track, .needsKeyframe)
      case .unsupported(let form): return SessionFinding(id, of: track, .unsupported(form))
      }
    case .audio(let id, let frame, let track, let time, let end):
      let isCopy = audio.play(id, of: track, at: time, until: end)
      chronicle?.collector.audio(track, frame, isCopy: isCopy, at: time)
    case .process(let track, let processor): audio.process(processor, track: track)
    case .compose(let plan): try compose(plan, isLate: isLate)
    case .composeFurther(let number, let plan) where number < further.pictureCount:
      further.picture(number, plan, isLate: isLate) { paint(plan, on: $0) }
    case .composeFurther(let number, let plan):
      sinks?.picture(number - further.pictureCount, slot: plan.slot) { isLate ? nil : paint(plan, on: $0).picture }
    case .note(let entry): note(entry)
    case .requestKeyframe(let track): control.requestKeyframe(track)
    case .subscribe(let track): control.subscribe(track)
    case .receive(let wishes):
      control.receive(wishes)
      chronicle?.collector.receive(wishes, at: progress.time)
    case .view(let tracks): control.view(tracks)
    case .release(let track):
      chronicle?.collector.lateAudio(track, audio.dropped(of: track))
      videos.release(track)
      audio.release(track)
    case .ended: break
    }
    return nil
  }

  /// Takes over, for progress, what the core knows of the room.
  func tell(_ core: borrowing SessionCore, at now: SessionTime) {
    audio.forget(before: core.nextInstant - Self.longestWait)
    attendance.tell(core, &progress, at: now)
    progress.pins = core.pins
    progress.spotlight = core.spotlight
    progress.processorRules = core.processorRules
    progress.further = further.progress
    progress.sinks = sinks?.progress ?? []
    tellSegments()
  }

  private func tellSegments() {
    let segments = output.segments
    if let failure = segments?.failure, progress.segments?.failure == nil {
      logger.error("the segments have ended; the recording goes on without them", metadata: ["reason": "\(failure)"])
    }
    progress.segments = segments
  }

  /// From now on does without this; sound stays as it is.
  func degrade(to step: DegradationStep) throws(RecordingError) {
    progress.degradation = step
    try output.degrade(to: step)
    further.degrade(to: step)
  }

  /// Completes the file.
  func finish(at end: SessionTime) throws(RecordingError) {
    // The sound reaches the end of the last picture, never falls short of it.
    while audio.position < AudioTracks.samples(at: end) { try mixBlock() }
    if let chronicle {
      for track in audio.tracks { chronicle.collector.lateAudio(track, audio.dropped(of: track)) }
    }
    divide(chapters.finish(at: end))
    further.end()
    defer { finishFurther() }
    progress.bytes = UInt64(clamping: try output.finish())
    tellSegments()
    progress.time = end
    progress.phase = .finished
    audio.finish()
    chronicle?.finish(at: end)
  }

  /// Completes the further files: also when the recording itself can't be.
  func finishFurther() {
    further.end()
    further.finish()
    progress.further = further.progress
  }

  /// Remembers what happened before the part of the session that is recorded.
  func remember(_ entry: TimelineEntry) {
    if case .started(let room) = entry.event { setRoom(room) }
    chronicle?.collector.remember(entry)
    chapters.remember(entry)
  }

  private func setRoom(_ room: String) {
    output.setRoom(room)
    further.setRoom(room)
  }

  /// Writes the manifest, if one is wanted, of a file that is whole: `counts` is what the transport says of each track, `end`
  /// why the recording ended.
  func writeManifest(_ counts: [TrackID: ReceptionCounts], end: SessionEnd) {
    do throws(RecordingError) {
      try chronicle?.write(settings, progress, counts, end)
    } catch {
      logger.error("the manifest cannot be written; the recording is whole", metadata: ["reason": "\(error)"])
    }
  }

  private func compose(_ plan: FramePlan, isLate: Bool) throws(RecordingError) {
    let slotEnd = settings.session.slotTime(plan.slot + 1)
    chronicle?.take(plan.talking, at: plan.time)
    // With few pictures a second most of the sound comes between them.
    try mix(until: plan.time)
    if sparing.leavesOut(plan, by: progress.degradation) {
      progress.sparedFrames += 1
      sinks?.picture(nil, slot: plan.slot)
    } else if isLate {
      progress.droppedFrames += 1
      sinks?.picture(nil, slot: plan.slot)
    } else if !settings.isAudioOnly {
      let frame = paint(plan, on: compositor)
      try output.picture(frame.picture, change: frame.change, slot: plan.slot, at: plan.time)
      sinks?.picture(frame.picture, slot: plan.slot)
      progress.frames += 1
    }
    try mix(until: min(slotEnd, plan.time + Self.mixedAhead))
    progress.time = slotEnd
    progress.lateAudio = audio.dropped
    progress.participants = plan.participants
    progress.talker = plan.talker
    progress.layout = plan.layout
    progress.scene = plan.scene
    progress.phase = plan.isReconnecting ? .reconnecting : .recording
    progress.bytes = UInt64(clamping: output.size)
  }

  /// What happened goes into the timeline; what divides the recording becomes a chapter.
  private func note(_ entry: TimelineEntry) {
    notes.take(entry, &progress)
    chronicle?.collector.take(entry)
    if case .started(let room) = entry.event { setRoom(room) }
    if case .title(let title) = entry.event {
      output.setTitle(title)
      further.setTitle(title)
    }
    if case .unsupportedCodec(let track, let identity, _, let codec) = entry.event {
      let supported = CodecTable.codecs.filter { $0.kind == .video }.map(\.title).joined(separator: ", ")
      logger.warning(
        "a track cannot be shown: its codec is not supported in this form; publish 8 bits 4:2:0",
        metadata: ["participant": "\(identity)", "track": "\(track)", "codec": "\(codec)", "supported": "\(supported)"])
    }
    if case .bandwidth(let alert) = entry.event {
      logger.notice(
        "bandwidth alert",
        metadata: [
          "bandwidth": "\(alert.bandwidth)", "stream-bandwidth": "\(alert.streamBandwidth)",
          "videos": "\(alert.numberOfVideos)", "limited": "\(alert.isLimited)",
        ])
    }
    divide(chapters.take(entry))
  }

  private func divide(_ chapters: [TimelineChapter]) {
    for chapter in chapters {
      output.addChapter(start: chapter.start, title: chapter.title)
      further.addChapter(start: chapter.start, title: chapter.title)
    }
  }

  private func paint(_ plan: FramePlan, on compositor: PictureCompositor) -> PictureCompositor.Frame {
    scene.theme = plan.theme
    scene.background = plan.background
    scene.notice =
      switch plan.pause {
      case nil: plan.isReconnecting ? .reconnecting : .waiting
      case .redact: Notice("Not recorded", symbol: .pause)
      case .cut, .slate: .paused
      }
    scene.tiles.removeAll(keepingCapacity: true)
    for tile in plan.tiles { scene.tiles.append(paint(tile)) }
    scene.overlays.removeAll(keepingCapacity: true)
    for overlay in plan.overlays { scene.overlays.append(OverlayPaint(overlay.overlay, text: overlay.text)) }
    return compositor.compose(scene)
  }

  private func paint(_ tile: PlannedTile) -> TilePaint {
    var content = TileContent.card(.joining)
    var pictureID: UInt64 = 0
    switch tile.content {
    case .card(let reason): content = .card(reason.card)
    case .picture(let frame, let track):
      // Nothing decoded yet (the keyframe was damaged, say): the card stays until there is something true to show.
      if let newest = videos.picture(frame, of: track) {
        content = .video(newest.picture)
        pictureID = newest.id.rawValue
      }
    }
    return TilePaint(
      layer: tile.layer, content: content, name: tile.name, isMuted: tile.isMuted, isTalking: tile.isTalking,
      pictureID: pictureID, isDimmed: tile.isDimmed, isPinned: tile.isPinned, isLowBandwidth: tile.isLowBandwidth,
      level: tile.level, avatar: settings.images.avatars.source(of: tile.avatar),
      processor: tile.processor)
  }

  private func mix(until time: SessionTime) throws(RecordingError) {
    while audio.position + Int64(OpusEncoder.frameSamples) <= AudioTracks.samples(at: time) { try mixBlock() }
  }

  private func mixBlock() throws(RecordingError) {
    let position = audio.position
    let time = SessionTime(nanoseconds: position * 125_000 / 6)
    let samples = audio.mix(tap: sinks?.tap)
    sinks?.mixed(samples, at: position)
    let packet = try audioEncoder.encode(samples)
    try output.audio(packet, at: time)
    try further.audio(samples, packet, at: time)
  }
}

extension PlaceholderReason {
  /// The compositor's card for it.
  fileprivate var card: CardReason {
    switch self {
    case .cameraOff, .overflow, .empty: .cameraOff
    case .notReceived: .notReceived
    case .encrypted: .encrypted
    case .starting: .joining
    case .arriving: .audioOnly
    case .noSignal: .noSignal
    case .lowBandwidth: .lowBandwidth
    case .unsupportedCodec(let codec): .unsupportedCodec(codec)
    case .reconnecting: .reconnecting
    }
  }
}
