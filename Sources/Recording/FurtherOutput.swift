import Compositor
import Logging
import MediaCore
import Session

/// One further file of a recording: its compositor, and the output that encodes and writes it. Whatever goes wrong here is told,
/// and is the end of this file only. Confined to the recording's thread.
final class FurtherOutput {
  /// How it stands.
  private(set) var progress: FurtherProgress
  /// Composes its pictures; nil: sound alone.
  let compositor: PictureCompositor?
  /// Nil once it has failed, or is finished.
  private var output: (any MediaOutput)?
  /// Of so many slots one is written.
  private let interval: Int64
  /// What is left out for lack of processor time.
  private var degradation = DegradationStep.none
  private var sparing: Sparing
  private let logger: Logger

  /// Makes the file and its encoders by `makeOutput`.
  init(
    _ file: FurtherFile, of settings: RecordingSettings, images: ImageStore, logger: Logger,
    makeOutput: (RecordingSettings) throws(RecordingError) -> any MediaOutput
  ) {
    progress = FurtherProgress(path: file.path)
    compositor = file.picture.map { PictureCompositor(canvas: $0.canvas, images: images) }
    interval = Int64(file.picture?.interval ?? 1)
    sparing = Sparing(framesPerSecond: settings.settings(of: file).session.framesPerSecond)
    self.logger = logger
    do throws(RecordingError) {
      output = try makeOutput(settings.settings(of: file))
    } catch {
      fail(error)
    }
  }

  /// Takes the picture of a slot, which `paint` makes if it is wanted. `isLate`: the machine does not keep up.
  func picture(_ plan: FramePlan, isLate: Bool, _ paint: (PictureCompositor) -> PictureCompositor.Frame) {
    guard let output, let compositor, plan.slot % interval == 0 else { return }
    let slot = plan.slot / interval
    if sparing.leavesOut(plan, by: degradation, slot: slot) { return }
    guard !isLate, !output.isCrowded else { return leaveOut() }
    attempt { (output) throws(RecordingError) in
      let frame = paint(compositor)
      try output.picture(frame.picture, change: frame.change, slot: slot, at: plan.time)
      progress.frames += 1
    }
  }

  private func leaveOut() {
    if progress.droppedFrames == 0 {
      logger.warning(
        "the machine does not keep up: pictures of a further file are left out", metadata: ["file": "\(progress.path)"])
    }
    progress.droppedFrames += 1
  }

  /// Takes 20 ms of sound, a packet of its rate.
  func audio(_ packet: UnsafeRawBufferPointer, at time: SessionTime) {
    attempt { (output) throws(RecordingError) in try output.audio(packet, at: time) }
  }

  /// From now on does without this.
  func degrade(to step: DegradationStep) {
    degradation = step
    attempt { (output) throws(RecordingError) in try output.degrade(to: step) }
  }

  /// Changes the title.
  func setTitle(_ title: String) { output?.setTitle(title) }

  /// Says where it was recorded.
  func setRoom(_ room: String) { output?.setRoom(room) }

  /// A chapter begins.
  func addChapter(start: SessionTime, title: String) { output?.addChapter(start: start, title: title) }

  /// Takes over what has been written.
  func tell() { if let output { progress.bytes = UInt64(clamping: output.size) } }

  /// Nothing more comes; `finish` follows.
  func end() { output?.end() }

  /// Completes the file.
  func finish() {
    attempt { (output) throws(RecordingError) in
      progress.bytes = UInt64(clamping: try output.finish())
      progress.frames -= min(progress.frames, output.discarded)
      progress.droppedFrames += output.discarded
    }
    output = nil
  }

  private func attempt(_ body: (any MediaOutput) throws(RecordingError) -> Void) {
    guard let output else { return }
    do throws(RecordingError) {
      try body(output)
    } catch {
      self.output = nil
      fail(error)
    }
  }

  private func fail(_ error: RecordingError) {
    progress.failure = error
    logger.error(
      "a further file ends here; the recording goes on", metadata: ["file": "\(progress.path)", "reason": "\(error)"])
  }
}

/// The further files of a recording. Confined to the recording's thread.
struct FurtherOutputs {
  private let all: [FurtherOutput]
  /// Those with pictures, by the numbers of the plans.
  private let pictures: [FurtherOutput]
  /// The encoders of sound, and which of the files take what each makes.
  private let mixes: [(encoder: AudioEncoder, files: [FurtherOutput])]

  /// Makes the files and their encoders, each by `makeOutput`. `sound` encodes that of the recording: files of the same rate
  /// take the same packets.
  init(
    _ settings: RecordingSettings, images: ImageStore, logger: Logger, sound: AudioEncoder,
    makeOutput: (RecordingSettings) throws(RecordingError) -> any MediaOutput
  ) throws(RecordingError) {
    all = settings.further.map {
      FurtherOutput($0, of: settings, images: images, logger: logger, makeOutput: makeOutput)
    }
    pictures = all.filter { $0.compositor != nil }
    var mixes: [(encoder: AudioEncoder, files: [FurtherOutput])] = [(sound, [])]
    for (file, output) in zip(settings.further, all) {
      if let index = mixes.firstIndex(where: { $0.encoder.bitrate == file.audioBitrate }) {
        mixes[index].files.append(output)
      } else {
        mixes.append((try AudioEncoder(bitrate: file.audioBitrate), [output]))
      }
    }
    self.mixes = mixes
  }

  /// How many have pictures: so many plans of a slot are theirs, the first.
  var pictureCount: Int { pictures.count }

  /// Takes the picture of a slot; see `FurtherOutput`.
  func picture(_ number: Int, _ plan: FramePlan, isLate: Bool, _ paint: (PictureCompositor) -> PictureCompositor.Frame)
  {
    guard pictures.indices.contains(number) else { return }
    pictures[number].picture(plan, isLate: isLate, paint)
  }

  /// Takes 20 ms of sound, and the recording's packet of it.
  func audio(
    _ samples: UnsafeBufferPointer<Float>, _ packet: UnsafeRawBufferPointer, at time: SessionTime
  ) throws(RecordingError) {
    for output in mixes[0].files { output.audio(packet, at: time) }
    for (encoder, files) in mixes.dropFirst() {
      let own = try encoder.encode(samples)
      for output in files { output.audio(own, at: time) }
    }
  }

  /// From now on does without this.
  func degrade(to step: DegradationStep) { for output in pictures { output.degrade(to: step) } }

  /// Changes the title.
  func setTitle(_ title: String) { for output in all { output.setTitle(title) } }

  /// Says where all of them were recorded.
  func setRoom(_ room: String) { for output in all { output.setRoom(room) } }

  /// A chapter begins.
  func addChapter(start: SessionTime, title: String) {
    for output in all { output.addChapter(start: start, title: title) }
  }

  /// Nothing more comes; `finish` follows. All write what is left at the same time.
  func end() { for output in all { output.end() } }

  /// Completes the files.
  func finish() { for output in all { output.finish() } }

  /// How they stand.
  var progress: [FurtherProgress] {
    all.map { output in
      output.tell()
      return output.progress
    }
  }
}
