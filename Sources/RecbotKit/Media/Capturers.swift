import Synchronization

/// Where the pictures of a `LocalVideoTrack` come from: a camera, a file, a painter. While the track is published its frames are
/// asked for once, and read until they end or the track is withdrawn.
public protocol VideoCapturer: Sendable {
  /// What gives the pictures, at their own pace.
  associatedtype Frames: AsyncSequence where Frames.Element == VideoFrame

  /// The size of the pictures; one of another size is sent as it is, in its own size.
  var dimensions: Dimensions { get }
  /// Begins to capture.
  func frames() -> Frames
}

/// Where the sound of a `LocalAudioTrack` comes from, as `VideoCapturer`.
public protocol AudioCapturer: Sendable {
  /// What gives the sound, at its own pace.
  associatedtype Blocks: AsyncSequence where Blocks.Element == AudioBlock

  /// Begins to capture.
  func blocks() -> Blocks
}

/// Pictures that somebody gives when they are there, from any thread. Waits with at most two of them; more are lost.
public final class BufferCapturer: VideoCapturer {
  /// The size of the pictures.
  public let dimensions: Dimensions
  private let buffer = Buffer<VideoFrame>(limit: 2)

  /// For pictures of this size.
  public init(dimensions: Dimensions) { self.dimensions = dimensions }

  /// Gives a picture to the track, if it is published.
  public func capture(_ frame: VideoFrame) { buffer.put(frame) }

  /// What was given from now on.
  public func frames() -> AsyncStream<VideoFrame> { buffer.stream() }
}

/// Sound that somebody gives when it is there, from any thread. Waits with at most a hundred blocks; more are lost.
public final class BufferAudioCapturer: AudioCapturer {
  private let buffer = Buffer<AudioBlock>(limit: 100)

  /// For sound of any length of blocks.
  public init() {}

  /// Gives sound to the track, if it is published.
  public func capture(_ block: AudioBlock) { buffer.put(block) }

  /// What was given from now on.
  public func blocks() -> AsyncStream<AudioBlock> { buffer.stream() }
}

/// The frames of a sequence, such as those of another track: `LocalVideoTrack(capturer: SequenceCapturer(…))`.
public struct SequenceCapturer<Frames: AsyncSequence & Sendable>: VideoCapturer where Frames.Element == VideoFrame {
  /// The size of the pictures.
  public let dimensions: Dimensions
  private let sequence: Frames

  /// Reads a sequence of pictures of this size.
  public init(_ sequence: Frames, dimensions: Dimensions) { (self.sequence, self.dimensions) = (sequence, dimensions) }

  /// The sequence.
  public func frames() -> Frames { sequence }
}

/// The blocks of a sequence, such as those of another track.
public struct SequenceAudioCapturer<Blocks: AsyncSequence & Sendable>: AudioCapturer
where Blocks.Element == AudioBlock {
  private let sequence: Blocks

  /// Reads a sequence of sound.
  public init(_ sequence: Blocks) { self.sequence = sequence }

  /// The sequence.
  public func blocks() -> Blocks { sequence }
}

/// Goes to one reader at a time, the last that asked.
private final class Buffer<Element: Sendable>: Sendable {
  private let continuation = Mutex<AsyncStream<Element>.Continuation?>(nil)
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  func put(_ element: Element) { _ = continuation.withLock { $0?.yield(element) } }

  func stream() -> AsyncStream<Element> {
    let (stream, new) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(limit))
    continuation.withLock { continuation in
      continuation?.finish()
      continuation = new
    }
    return stream
  }
}
