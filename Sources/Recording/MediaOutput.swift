import Codecs
import Compositor
import MediaCore
import Session
import WebM

/// Where finished pictures and sound go. Confined to one thread.
protocol MediaOutput: AnyObject {
  /// Bytes of the file so far, or a little less.
  var size: Int64 { get }
  /// True while a picture would not be taken: the machine does not keep up.
  var isCrowded: Bool { get }
  /// True while it works on a thread of its own that has next to nothing to do.
  var isStarving: Bool { get }
  /// Pictures that were taken and at the end not written, for want of time.
  var discarded: UInt64 { get }
  /// How its segments stand; nil: there are none.
  var segments: SegmentProgress? { get }
  /// Takes the picture of a slot; its pixels are used before this returns. `change`: how it differs from that of the call
  /// before.
  func picture(_ picture: Picture, change: PictureChange, slot: Int64, at time: SessionTime) throws(RecordingError)
  /// Takes 20 ms of sound, a packet of Opus; its bytes are used before this returns.
  func audio(_ packet: UnsafeRawBufferPointer, at time: SessionTime) throws(RecordingError)
  /// Changes the title.
  func setTitle(_ title: String)
  /// Says where it was recorded.
  func setRoom(_ room: String)
  /// A chapter begins.
  func addChapter(start: SessionTime, title: String)
  /// From now on does without what this step leaves out of encoding; which pictures come is not decided here.
  func degrade(to step: DegradationStep) throws(RecordingError)
  /// Says that nothing more comes but `finish`, which waits until all is written.
  func end()
  /// Completes the file; gives its bytes. Nothing may be called afterwards.
  func finish() throws(RecordingError) -> Int64
}

extension MediaOutput {
  /// Whoever gives a picture waits until it is taken.
  var isCrowded: Bool { false }
  /// It has no thread of its own.
  var isStarving: Bool { false }
  /// What is taken is written.
  var discarded: UInt64 { 0 }
  /// It is written in one piece.
  var segments: SegmentProgress? { nil }
  /// What comes is written as ever.
  func degrade(to step: DegradationStep) throws(RecordingError) {}
  /// It has no place for that.
  func setRoom(_ room: String) {}
  /// All that came is written.
  func end() {}
}

/// Encodes pictures, and writes them and the sound into the file, at once; and into segments, where these are wanted. Confined to
/// one thread.
final class FileOutput: MediaOutput {
  private let settings: RecordingSettings
  private let framesPerSecond: Int64
  private var videoEncoder: (any VideoEncoder)?
  /// What is encoded while pictures have half of their columns and rows; nil: they are encoded as they come.
  private var halved: Picture?
  private let writer: WebMWriter
  private let segmentThread: SegmentThread?
  private var stillness: Stillness
  /// Pictures that the encoder was not given.
  private var repeated: Int64 = 0
  /// From here on the next picture has to be a keyframe.
  private var keyframeDue = SessionTime.zero
  /// Unicode scalars of a room's name that are kept.
  private static let longestRoom = 256

  /// Makes the encoder and the file, which must not exist.
  init(_ settings: RecordingSettings) throws(RecordingError) {
    let session = settings.session
    self.settings = settings
    framesPerSecond = Int64(session.framesPerSecond)
    stillness = Stillness(framesPerSecond: session.framesPerSecond, keyframeInterval: settings.keyframeInterval)
    do {
      if settings.isAudioOnly {
        videoEncoder = nil
      } else {
        videoEncoder = try Self.encoder(settings, session.canvas.width, session.canvas.height)
      }
    } catch {
      throw RecordingError.encoder(error.description)
    }
    var configuration = WebMConfiguration(
      video: settings.isAudioOnly
        ? nil
        : .init(
          codec: settings.codec, width: session.canvas.width, height: session.canvas.height,
          framesPerSecond: session.framesPerSecond, bitrate: settings.videoBitrate,
          sequenceHeader: videoEncoder?.sequenceHeader),
      audio: .init(channels: OpusEncoder.channels, preSkip: AudioEncoder.preSkip), title: session.title,
      date: session.startDate)
    configuration.describe(program: settings.program)
    do {
      writer = try WebMWriter(path: settings.output, configuration: configuration)
    } catch {
      throw RecordingError.output(error.description)
    }
    segmentThread = try settings.segments.map { (segments) throws(RecordingError) in
      try SegmentThread(segments, configuration, program: settings.program)
    }
    if let segmentThread {
      writer.tap = { kind, time, isKeyframe, bytes in
        segmentThread.put(
          CodedFrame(kind: kind, time: time, isKeyframe: isKeyframe, payload: MediaBuffer(copying: bytes)))
      }
    }
  }

  deinit { segmentThread?.abandon() }

  var size: Int64 { writer.size }

  var segments: SegmentProgress? { segmentThread?.progress }

  func picture(_ picture: Picture, change: PictureChange, slot: Int64, at time: SessionTime) throws(RecordingError) {
    guard let videoEncoder else { return }
    let repetition = videoEncoder.repetition
    do {
      switch stillness.next(
        change, isDue: time >= keyframeDue, canRepeat: repetition != nil, at: time)
      {
      case .repeat:
        repeated += 1
        try repetition?.withUnsafeBytes { try writer.addVideo(at: time, $0, isKeyframe: false) }
      case .encode(let isKeyframe):
        if let halved { PictureScaling.scale(picture, to: halved) }
        // The encoder counts in 1/90000 s, and does not know of what is repeated: its rate would be another one.
        _ = try videoEncoder.encode(
          halved ?? picture, pts: (slot - repeated) * 90_000 / framesPerSecond, forceKeyframe: isKeyframe
        ) { bytes, isKeyframe in
          if isKeyframe, time >= keyframeDue {
            keyframeDue = settings.segments?.boundary(after: time) ?? .distantFuture
          }
          stillness.encoded(isKeyframe: isKeyframe, at: time)
          try writer.addVideo(at: time, bytes, isKeyframe: isKeyframe)
        }
      }
    } catch let error as WebMError {
      throw RecordingError.output(error.description)
    } catch {
      throw RecordingError.encoder("\(error)")
    }
  }

  func audio(_ packet: UnsafeRawBufferPointer, at time: SessionTime) throws(RecordingError) {
    do {
      try writer.addAudio(at: time, packet)
    } catch {
      throw RecordingError.output(error.description)
    }
  }

  func degrade(to step: DegradationStep) throws(RecordingError) {
    guard videoEncoder != nil else { return }
    do throws(CodecError) {
      let canvas = settings.session.canvas
      // Files of AV1 have one size of pictures (Matroska codec mapping of AV1).
      let isHalved = step >= .halfSize && settings.codec != .av1
      if isHalved != (halved != nil) {
        halved = isHalved ? Picture(width: Self.half(canvas.width), height: Self.half(canvas.height)) : nil
        // It begins with a keyframe, from which on players take the new size.
        videoEncoder = try Self.encoder(settings, halved?.width ?? canvas.width, halved?.height ?? canvas.height)
      }
      try videoEncoder?.setHurried(step >= .encoderSpeed)
    } catch {
      throw RecordingError.encoder(error.description)
    }
  }

  /// Half of a side, even.
  private static func half(_ side: Int) -> Int { max(2, (side / 2 + 1) & ~1) }

  private static func encoder(
    _ settings: RecordingSettings, _ width: Int, _ height: Int
  ) throws(CodecError) -> any VideoEncoder {
    let framesPerSecond = settings.session.framesPerSecond
    return try VideoEncoders.make(
      settings.codec, width: width, height: height, framesPerSecond: framesPerSecond, bitrate: settings.videoBitrate,
      keyframeInterval: max(1, Int(settings.keyframeInterval.milliseconds) * framesPerSecond / 1000))
  }

  func setTitle(_ title: String) {
    writer.setTitle(title)
    segmentThread?.setTitle(title)
  }

  func setRoom(_ room: String) {
    let name = String(String.UnicodeScalarView(room.unicodeScalars.prefix(Self.longestRoom)))
    writer.setTag(WebMConfiguration.Tag.room, name)
    segmentThread?.setRoom(name)
  }

  func addChapter(start: SessionTime, title: String) { writer.addChapter(start: start, title: title) }

  func finish() throws(RecordingError) -> Int64 {
    do {
      // Its last frames go into the segments, too, before these are closed.
      let size = try writer.finish().size
      segmentThread?.finish()
      return size
    } catch {
      segmentThread?.finish()
      throw RecordingError.output(error.description)
    }
  }
}
