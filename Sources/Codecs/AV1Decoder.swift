internal import CDav1d
public import MediaCore

/// Decodes one AV1 stream with libdav1d: temporal units, of whose layers the highest is shown, 8 bits 4:2:0. Owns the
/// library's context; confined to one thread at a time.
public final class AV1Decoder: VideoDecoder {
  /// True until a keyframe has been decoded, at first and after an error.
  public private(set) var needsKeyframe = true

  private let sizeCap: SizeCap
  private var context: OpaquePointer?

  /// Makes a decoder. libdav1d is opened at the first keyframe.
  public init(sizeCap: SizeCap = .standard) { self.sizeCap = sizeCap }

  deinit { close() }

  /// Decodes one temporal unit into a picture of `pool`; nil when it shows none. Throws what libdav1d refuses.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard isKeyframe || !needsKeyframe else { return nil }
    guard !bytes.isEmpty, bytes.count <= sizeCap.pixels * 3 / 2 else {
      reset()
      throw CodecError(
        library: .libdav1d, reason: .malformed, operation: "decode", text: "not a temporal unit",
        detail: "\(bytes.count) bytes")
    }
    if context == nil { context = recbot_dav1d_open(UInt32(clamping: sizeCap.pixels)) }
    guard let context else {
      throw CodecError(library: .libdav1d, reason: .outOfMemory, operation: "dav1d_open", text: "no decoder of AV1")
    }
    var decoded = Dav1dPicture()
    let result = recbot_dav1d_decode(context, bytes.baseAddress, bytes.count, &decoded)
    guard result >= 0 else {
      reset()
      throw CodecError(
        library: .libdav1d, reason: recbot_dav1d_is_out_of_memory(result) != 0 ? .outOfMemory : .corrupt,
        operation: "dav1d_get_picture", code: result, text: "the temporal unit or what it refers to is damaged")
    }
    // Nothing came of the first keyframe: it was none.
    guard result == 1 else {
      if needsKeyframe { reset() }
      return nil
    }
    defer { dav1d_picture_unref(&decoded) }
    needsKeyframe = false
    return try copy(decoded, into: &pool)
  }

  /// Forgets all pictures: the next frame must be a keyframe.
  public func reset() {
    close()
    needsKeyframe = true
  }

  private func close() {
    if let context { recbot_dav1d_close(context) }
    context = nil
  }

  private func copy(_ source: Dav1dPicture, into pool: inout PicturePool) throws(CodecError) -> Picture {
    let width = Int(source.p.w)
    let height = Int(source.p.h)
    guard sizeCap.allows(width: width, height: height) else {
      reset()
      throw sizeCap.error(.libdav1d, width: width, height: height)
    }
    guard source.p.layout == DAV1D_PIXEL_LAYOUT_I420, source.p.bpc == 8, width > 0, height > 0,
      let y = source.data.0, let u = source.data.1, let v = source.data.2
    else {
      reset()
      let (across, down) =
        switch source.p.layout {
        case DAV1D_PIXEL_LAYOUT_I420: (2, 2)
        case DAV1D_PIXEL_LAYOUT_I422: (2, 1)
        case DAV1D_PIXEL_LAYOUT_I444: (1, 1)
        default: (0, 0)
        }
      throw .unsupported(.libdav1d, "dav1d_get_picture", bits: Int(source.p.bpc), across: across, down: down)
    }
    let chroma = source.stride.1
    return pool.copy(
      width: width, height: height, y: (bytes(y), Int(source.stride.0)), u: (bytes(u), Int(chroma)),
      v: (bytes(v), Int(chroma)), colour: colour(of: source))
  }

  /// What the sequence header says.
  private func colour(of source: Dav1dPicture) -> PictureColour {
    guard let header = source.seq_hdr?.pointee else { return .usual }
    return PictureColour(
      matrixCoefficients: UInt32(header.mtrx.rawValue), isFullRange: header.color_range != 0)
  }

  private func bytes(_ plane: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt8> {
    plane.assumingMemoryBound(to: UInt8.self)
  }
}
