import Codecs
import Glibc
import MediaCore
import Platform
import Synchronization
import WebM

/// What is wrong with a file, in one line that names it.
public typealias FileError = WebM.WebMError

/// A WebM or Matroska file to be played into rooms: the pictures and the sound of its first tracks, at the pace of the clock. Both
/// begin together, with the first that is published. A thread of its own reads and decodes for each of them.
public final class WebMFile: Sendable {
  /// How long it is.
  public let duration: Duration
  /// Its pictures; nil when it has none that can be decoded.
  public let video: (any VideoCapturer)?
  /// Its sound; nil when it has none that can be decoded.
  public let audio: (any AudioCapturer)?

  /// Looks into a file. Throws when it cannot be read, or is no WebM.
  public init(path: String) throws(FileError) {
    let report = try WebMProbe.probe(path)
    let start = PlayingStart()
    func first(_ kind: MediaKind) -> (track: ProbeReport.Track, codec: Codec)? {
      for track in report.tracks where track.kind == kind {
        if let row = CodecTable.row(matroskaCodecID: track.codec) { return (track, row.codec) }
      }
      return nil
    }
    duration = report.duration
    video = first(.video).map {
      FileVideo(
        dimensions: Dimensions(width: $0.track.width, height: $0.track.height),
        player: FilePlayer(path: path, track: $0.track.number, codec: $0.codec, start: start))
    }
    audio = first(.audio).map {
      FileAudio(player: FilePlayer(path: path, track: $0.track.number, codec: $0.codec, start: start))
    }
  }
}

private struct FileVideo: VideoCapturer {
  let dimensions: Dimensions
  let player: FilePlayer

  func frames() -> AsyncStream<VideoFrame> {
    let (stream, continuation) = AsyncStream.makeStream(of: VideoFrame.self, bufferingPolicy: .bufferingNewest(4))
    player.play(continuation) { codec in
      guard let decoder = VideoDecoders.make(codec) else { return nil }
      var pool = PicturePool(limit: 8)
      return { frame, time in
        let picture = try? decoder.decode(frame.bytes, isKeyframe: frame.isKeyframe, into: &pool)
        return picture.flatMap { $0 }.map { VideoFrame($0, time: time) }
      }
    }
    return stream
  }
}

private struct FileAudio: AudioCapturer {
  let player: FilePlayer

  func blocks() -> AsyncStream<AudioBlock> {
    let (stream, continuation) = AsyncStream.makeStream(of: AudioBlock.self, bufferingPolicy: .bufferingNewest(100))
    player.play(continuation) { codec in
      guard let decoder = try? AudioDecoders.make(codec) else { return nil }
      var samples = [Float](repeating: 0, count: AudioDecoders.maximumBufferCount)
      return { frame, time in
        let count = samples.withUnsafeMutableBufferPointer { try? decoder.decode(frame.bytes, into: $0) } ?? 0
        return count > 0 ? AudioBlock(Array(samples[..<(2 * count)]), time: time) : nil
      }
    }
    return stream
  }
}

/// When a file's tracks began to be played: all at once.
final class PlayingStart: Sendable {
  /// So that the track that is published second has the beginning, too.
  private static let lead = Duration.milliseconds(200)
  private let start = Mutex<Instant?>(nil)

  var instant: Instant {
    start.withLock { start in
      let instant = start ?? MonotonicClock.now + Self.lead
      start = instant
      return instant
    }
  }
}

/// Plays one track of a file.
private struct FilePlayer: Sendable {
  typealias Decode<Element> = (WebMReader.Frame, Duration) -> Element?

  /// How often it is looked whether anybody still reads.
  private static let step = Duration.milliseconds(50)

  let path: String
  let track: UInt64
  let codec: Codec
  let start: PlayingStart

  /// Gives what `makeDecoder`'s decoder makes of the frames when it is due, on a thread of its own.
  func play<Element: Sendable>(
    _ continuation: AsyncStream<Element>.Continuation, _ makeDecoder: @escaping @Sendable (Codec) -> Decode<Element>?
  ) {
    let isOver = Flag()
    continuation.onTermination = { _ in isOver.set() }
    let isStarted = DetachedThread.isStarted(name: "file") {
      defer { continuation.finish() }
      guard let decode = makeDecoder(codec) else { return }
      let begin = start.instant
      // A file that is damaged ends where it is.
      _ = try? WebMReader.forEachFrame(path: path) { frame in
        guard frame.track == track, !isOver.isSet else { return }
        let time = frame.time.sinceBeginning
        while case let wait = begin + time - MonotonicClock.now, wait > .zero, !isOver.isSet {
          usleep(UInt32(clamping: min(wait, Self.step).microseconds + 1))
        }
        if let element = decode(frame, time) { continuation.yield(element) }
      }
    }
    if !isStarted { continuation.finish() }
  }
}

private final class Flag: Sendable {
  private let value = Atomic(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
