public import MediaCore

/// Encodes pictures of one size at constant bit rate in real time. Confined to one thread at a time.
public protocol VideoEncoder: AnyObject {
  /// What files say of the stream before its first frame: of AV1 the unit with its sequence header (AV1 specification section
  /// 5.5). Nil: nothing.
  var sequenceHeader: [UInt8]? { get }

  /// Encodes one picture. Its planes are read in place.
  ///
  /// - Parameters:
  ///   - picture: must have the encoder's size.
  ///   - pts: presentation time in 1/90000 s, later than that of the picture before.
  ///   - duration: in 1/90000 s, at least 1; nil repeats the one before (at first: one frame of the expected rate).
  ///   - forceKeyframe: makes this frame one at which decoding can start.
  ///   - body: is called once with the frame as files store it (valid only during the call) and whether it is a keyframe.
  /// - Returns: false when the library gave out no frame.
  /// - Throws: `CodecError`, or what `body` throws.
  @discardableResult
  func encode(
    _ picture: Picture, pts: Int64, duration: Int64?, forceKeyframe: Bool,
    _ body: (_ frame: UnsafeRawBufferPointer, _ isKeyframe: Bool) throws -> Void
  ) throws -> Bool

  /// A frame as files store it that shows the picture of the last one again, and changes nothing for those that follow: the encoder
  /// need not know that it was written, nor how often. Nil before the first frame, and when the codec has none.
  var repetition: [UInt8]? { get }

  /// Changes the target rate from the next frame on, in bits per second (at least 1000).
  func setBitrate(_ bitsPerSecond: Int) throws(CodecError)

  /// From the next frame on searches less, for less processor time and coarser pictures (true), or as much as always. Nothing
  /// changes with a codec that is as fast as it can be.
  func setHurried(_ isHurried: Bool) throws(CodecError)
}

extension VideoEncoder {
  /// Nothing.
  public var sequenceHeader: [UInt8]? { nil }

  /// None.
  public var repetition: [UInt8]? { nil }

  /// It is as fast as it can be.
  public func setHurried(_ isHurried: Bool) throws(CodecError) {}

  /// Encodes one picture that lasts as long as the one before.
  @discardableResult
  public func encode(
    _ picture: Picture, pts: Int64, forceKeyframe: Bool = false,
    _ body: (_ frame: UnsafeRawBufferPointer, _ isKeyframe: Bool) throws -> Void
  ) throws -> Bool {
    try encode(picture, pts: pts, duration: nil, forceKeyframe: forceKeyframe, body)
  }
}

extension CodecError {
  /// Refuses what no encoder is opened with.
  static func checkEncoder(
    _ library: Library, _ width: Int, _ height: Int, _ framesPerSecond: Int, _ bitrate: Int
  ) throws(CodecError) {
    if (1...Picture.maximumSide).contains(width), (1...Picture.maximumSide).contains(height),
      (1...240).contains(framesPerSecond), (1000...1_000_000_000).contains(bitrate)
    {
      return
    }
    throw CodecError(
      library: library, reason: .invalidArgument, operation: "init", text: "size, rate or bit rate out of range",
      detail: "\(width)x\(height), \(framesPerSecond) frames per second, \(bitrate) bits per second")
  }

  /// Refuses a picture of another size than the encoder's, and one that isn't later than the one before.
  static func checkPicture(
    _ library: Library, _ picture: Picture, _ width: Int, _ height: Int, _ pts: Int64, after last: Int64?
  ) throws(CodecError) {
    guard picture.width == width, picture.height == height else {
      throw CodecError(
        library: library, reason: .invalidArgument, operation: "encode", text: "picture of another size",
        detail: "\(picture.width)x\(picture.height), the encoder has \(width)x\(height)")
    }
    if let last, pts <= last {
      throw CodecError(
        library: library, reason: .invalidArgument, operation: "encode", text: "time does not advance",
        detail: "\(pts) after \(last)")
    }
  }
}

/// The encoders, a row for each codec of recordings.
public enum VideoEncoders {
  /// An encoder with the codec's own settings for files. See `VPXEncoder` for the ranges of its numbers; `keyframeInterval` is the
  /// most frames from one keyframe to the next, at least 1. Throws `invalidArgument`, `outOfMemory` or `library`.
  public static func make(
    _ codec: RecordingCodec, width: Int, height: Int, framesPerSecond: Int, bitrate: Int, keyframeInterval: Int = 300
  ) throws(CodecError) -> any VideoEncoder {
    switch codec {
    case .vp8:
      try vpx(.vp8, width, height, framesPerSecond, bitrate, keyframeInterval)
    case .vp9:
      try vpx(.vp9, width, height, framesPerSecond, bitrate, keyframeInterval)
    case .av1:
      try AV1Encoder(
        width: width, height: height, framesPerSecond: framesPerSecond, bitrate: bitrate,
        keyframeInterval: keyframeInterval)
    }
  }

  private static func vpx(
    _ codec: VPXCodec, _ width: Int, _ height: Int, _ framesPerSecond: Int, _ bitrate: Int, _ keyframeInterval: Int
  ) throws(CodecError) -> any VideoEncoder {
    var settings = VPXEncoderSettings(codec)
    settings.maximumKeyframeInterval = keyframeInterval
    return try VPXEncoder(
      codec, width: width, height: height, framesPerSecond: framesPerSecond, bitrate: bitrate, settings: settings)
  }
}
