import Codecs
import MediaCore
import WebM

/// Where finished pictures and sound go. Confined to one thread.
protocol MediaOutput: AnyObject {
  /// Bytes of the file so far, or a little less.
  var size: Int64 { get }
  /// Takes the picture of a slot; its pixels are used before this returns.
  func picture(_ picture: Picture, slot: Int64, at time: SessionTime) throws(RecordingError)
  /// Takes 20 ms of sound; the samples are used before this returns.
  func sound(_ samples: UnsafeBufferPointer<Float>, at time: SessionTime) throws(RecordingError)
  /// Changes the title.
  func setTitle(_ title: String)
  /// A chapter begins.
  func addChapter(start: SessionTime, title: String)
  /// Completes the file; gives its bytes. Nothing may be called afterwards.
  func finish() throws(RecordingError) -> Int64
}

/// Encodes pictures and sound, and writes the file, at once. Confined to one thread.
final class FileOutput: MediaOutput {
  private let framesPerSecond: Int64
  private let videoEncoder: VPXEncoder?
  private let soundEncoder: OpusEncoder
  private let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: OpusEncoder.maximumPacketSize, alignment: 16)
  private let writer: WebMWriter
  private var forcesKeyframe = true

  /// Makes the encoders and the file, which must not exist.
  init(_ settings: RecordingSettings) throws(RecordingError) {
    let session = settings.session
    framesPerSecond = Int64(session.framesPerSecond)
    do {
      if settings.isAudioOnly {
        videoEncoder = nil
      } else {
        var encoding = VPXEncoderSettings(settings.codec)
        encoding.maximumKeyframeInterval = max(
          1, Int(settings.keyframeInterval.wholeMilliseconds) * session.framesPerSecond / 1000)
        videoEncoder = try VPXEncoder(
          settings.codec, width: session.canvas.width, height: session.canvas.height,
          framesPerSecond: session.framesPerSecond, bitrate: settings.videoBitrate, settings: encoding)
      }
      var sound = OpusEncoderSettings()
      sound.bitrate = settings.audioBitrate
      soundEncoder = try OpusEncoder(settings: sound)
    } catch {
      throw RecordingError.encoder(error.description)
    }
    do {
      writer = try WebMWriter(
        path: settings.output,
        configuration: WebMConfiguration(
          video: settings.isAudioOnly
            ? nil
            : .init(
              codec: settings.codec, width: session.canvas.width, height: session.canvas.height,
              framesPerSecond: session.framesPerSecond, bitrate: settings.videoBitrate),
          audio: .init(channels: OpusEncoder.channels, preSkip: soundEncoder.preSkip), title: session.title,
          date: session.startDate))
    } catch {
      throw RecordingError.output(error.description)
    }
  }

  deinit { packet.deallocate() }

  var size: Int64 { writer.size }

  func picture(_ picture: Picture, slot: Int64, at time: SessionTime) throws(RecordingError) {
    guard let videoEncoder else { return }
    do {
      // The encoder counts in 1/90000 s.
      _ = try videoEncoder.encode(
        picture, pts: slot * 90_000 / framesPerSecond, forceKeyframe: forcesKeyframe
      ) { bytes, isKeyframe in
        try writer.addVideo(at: time, bytes, isKeyframe: isKeyframe)
      }
      forcesKeyframe = false
    } catch let error as WebMError {
      throw RecordingError.output(error.description)
    } catch {
      throw RecordingError.encoder("\(error)")
    }
  }

  func sound(_ samples: UnsafeBufferPointer<Float>, at time: SessionTime) throws(RecordingError) {
    do {
      let count = try soundEncoder.encode(samples, into: packet)
      try writer.addAudio(at: time, UnsafeRawBufferPointer(rebasing: packet[..<count]))
    } catch let error as WebMError {
      throw RecordingError.output(error.description)
    } catch {
      throw RecordingError.encoder("\(error)")
    }
  }

  func setTitle(_ title: String) { writer.setTitle(title) }

  func addChapter(start: SessionTime, title: String) { writer.addChapter(start: start, title: title) }

  func finish() throws(RecordingError) -> Int64 {
    do {
      return try writer.finish().size
    } catch {
      throw RecordingError.output(error.description)
    }
  }
}
