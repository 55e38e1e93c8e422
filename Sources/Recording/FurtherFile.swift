import Layouts
import MediaCore

/// A further file of a recording: the same session at the same time in another picture, or its sound alone. What is decoded for
/// the recording is decoded for it too.
public struct FurtherFile: Sendable {
  /// The picture of a further file.
  public struct Picture: Sendable {
    /// Its size, pixels.
    public var canvas: CanvasSize
    /// Its layout, which stays; nil: that of the recording, with its changes.
    public var layout: Layout?
    /// Of so many pictures of the recording it has one, 1 and more.
    public var interval: Int
    /// What it is written in.
    public var codec: RecordingCodec
    /// Bits a second; nil: the codec's usual.
    public var bitrate: Int?

    /// Makes one; see the properties.
    public init(
      canvas: CanvasSize, layout: Layout? = nil, interval: Int = 1, codec: RecordingCodec = .vp8, bitrate: Int? = nil
    ) {
      self.canvas = canvas
      self.layout = layout
      self.interval = max(1, interval)
      self.codec = codec
      self.bitrate = bitrate
    }
  }

  /// The file to write. It must not exist.
  public var path: String
  /// Its picture; nil: sound alone.
  public var picture: Picture?
  /// Bits a second of the sound.
  public var audioBitrate: Int

  /// Makes one; see the properties.
  public init(path: String, picture: Picture?, audioBitrate: Int = 96_000) {
    self.path = path
    self.picture = picture
    self.audioBitrate = audioBitrate
  }
}

/// Where a further file stands; a snapshot.
public struct FurtherProgress: Sendable, Hashable {
  /// Path of the further file.
  public var path: String
  /// Pictures written.
  public var frames: UInt64 = 0
  /// Pictures not written because the machine was too slow.
  public var droppedFrames: UInt64 = 0
  /// Bytes written.
  public var bytes: UInt64 = 0
  /// Why nothing is written any more, though the recording went on; nil: all is well.
  public var failure: RecordingError?

  /// Nothing yet.
  public init(path: String) { self.path = path }
}
