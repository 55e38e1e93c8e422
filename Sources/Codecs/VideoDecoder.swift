public import MediaCore

/// Decodes the pictures of one stream. Confined to one thread at a time.
///
/// After an error the stream is undecodable until its next keyframe: `needsKeyframe` becomes true, and frames that are no
/// keyframes are passed over.
public protocol VideoDecoder: AnyObject {
  /// True when only a keyframe can be decoded next: at the start, and after an error or `reset()`.
  var needsKeyframe: Bool { get }

  /// Decodes one frame as its depacketizer made it; all layers of a picture are one frame, and the highest is shown. The
  /// picture is one of the pool, or lies in the library's memory, which it keeps; nobody writes into it. Nil when there is
  /// nothing to show, or when the frame was passed over because `needsKeyframe` is true.
  ///
  /// - Throws: `malformed`, `tooLarge`, `unsupported`, `corrupt`, `outOfMemory` or `library`. `needsKeyframe` is true after
  ///   each.
  func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture?

  /// Forgets the stream: the next frame that is decoded must be a keyframe.
  func reset()
}

/// The decoders, a row for each codec of `CodecTable`.
public enum VideoDecoders {
  /// A decoder of a codec; nil when it carries no pictures.
  public static func make(_ codec: Codec, sizeCap: SizeCap = .standard) -> (any VideoDecoder)? {
    switch codec {
    case .vp8: VP8Decoder(sizeCap: sizeCap)
    case .vp9: VP9Decoder(sizeCap: sizeCap)
    case .h264: LibavDecoder(.h264, sizeCap: sizeCap)
    case .h265: LibavDecoder(.h265, sizeCap: sizeCap)
    case .av1: AV1Decoder(sizeCap: sizeCap)
    case .opus, .g722, .pcmu, .pcma: nil
    }
  }
}

/// The largest picture that is decoded. A header of ten bytes can claim 16383x16383 and cost gigabytes, so sizes are
/// checked before memory is taken. Orientation doesn't matter: the longer sides and the shorter sides are compared.
public struct SizeCap: Hashable, Sendable {
  /// Pixels of the longer side.
  public var longSide: Int
  /// Pixels of the shorter side.
  public var shortSide: Int
  /// Makes a cap out of a width and a height, in either order.
  public init(width: Int, height: Int) {
    longSide = max(width, height)
    shortSide = min(width, height)
  }
  /// 4096x2304 or 2304x4096.
  public static let standard = SizeCap(width: 4096, height: 2304)
  /// Whether a picture of this size may be decoded.
  public func allows(width: Int, height: Int) -> Bool {
    max(width, height) <= longSide && min(width, height) <= shortSide
  }
  /// Pixels of the largest picture, rounded up to whole blocks.
  var pixels: Int { (longSide + 127) / 128 * 128 * ((shortSide + 127) / 128 * 128) }

  func error(_ library: CodecError.Library, width: Int, height: Int) -> CodecError {
    CodecError(
      library: library, reason: .tooLarge, operation: "decode", text: "picture larger than accepted",
      detail: "\(width)x\(height), at most \(longSide)x\(shortSide)")
  }
}
