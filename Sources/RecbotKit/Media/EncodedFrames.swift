import MediaCore

/// A picture that is encoded already.
public struct EncodedVideoFrame: Sendable {
  /// What the encoder gave, of one picture of one layer.
  public var bytes: [UInt8]
  /// Whether decoding can begin with it.
  public var isKeyframe: Bool
  /// Its encoding, counted from the smallest; 0 when there is one only.
  public var layer: Int
  /// When it was captured, by a clock of the source's own, the same for all layers; nil: now.
  public var time: Duration?

  /// Makes a frame; see the properties.
  public init(_ bytes: [UInt8], isKeyframe: Bool, layer: Int = 0, time: Duration? = nil) {
    (self.bytes, self.isKeyframe, self.layer, self.time) = (bytes, isKeyframe, layer, time)
  }
}

/// A stretch of sound that is encoded already.
public struct EncodedAudioFrame: Sendable {
  /// One packet of Opus (RFC 6716).
  public var bytes: [UInt8]
  /// When it was captured, by a clock of the source's own; nil: now.
  public var time: Duration?
  /// How loud it is, -dBov (RFC 6464): 0 is the loudest, 127 is silence; nil: unknown, and nobody is seen talking.
  public var level: UInt8?

  /// Makes a frame; see the properties.
  public init(_ bytes: [UInt8], time: Duration? = nil, level: UInt8? = nil) {
    (self.bytes, self.time, self.level) = (bytes, time, level)
  }
}

/// Where the frames of an `EncodedVideoTrack` come from: files, cameras with an encoder of their own, another room.
public protocol EncodedVideoSource: Sendable {
  /// What gives the frames, at their own pace: all layers of a picture one after another.
  associatedtype Frames: AsyncSequence where Frames.Element == EncodedVideoFrame

  /// What the frames are encoded as.
  var codec: VideoPublishOptions.Codec { get }
  /// The encodings, from the smallest to the largest, one to three. Of VP9 one.
  var layers: [EncodedVideoLayer] { get }
  /// Begins to give frames; of each layer a keyframe first.
  func frames() -> Frames
  /// Somebody in the room cannot go on without a keyframe: of one layer, or of all (nil). May be called on any thread.
  func keyframeWanted(layer: Int?)
}

extension EncodedVideoSource {
  /// Does nothing: the next keyframe comes when it comes.
  public func keyframeWanted(layer: Int?) {}
}

/// Where the frames of an `EncodedAudioTrack` come from.
public protocol EncodedAudioSource: Sendable {
  /// What gives the frames, at their own pace.
  associatedtype Frames: AsyncSequence where Frames.Element == EncodedAudioFrame

  /// Begins to give frames.
  func frames() -> Frames
}
