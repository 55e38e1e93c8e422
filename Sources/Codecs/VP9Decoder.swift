public import MediaCore

/// Decodes one VP9 stream with libvpx: frames, and superframes with the spatial layers of a picture, of which the highest
/// is shown. Confined to one thread at a time.
public final class VP9Decoder: VideoDecoder {
  /// True until a keyframe has been decoded, at first and after an error.
  public private(set) var needsKeyframe = true

  private let sizeCap: SizeCap
  private let context: VPXContext
  /// A frame with an index of its own.
  private var indexed: [UInt8] = []

  /// Makes a decoder. libvpx is opened at the first keyframe.
  public init(sizeCap: SizeCap = .standard) {
    self.sizeCap = sizeCap
    context = VPXContext(sizeCap: sizeCap)
  }

  /// See `VideoDecoder`. The bytes themselves say whether they are a keyframe.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, into pool: inout PicturePool
  ) throws(CodecError) -> Picture? {
    guard let frames = VP9Superframe.frames(bytes), let first = frames.first, bytes.count <= Int(Int32.max) else {
      throw malformed("not a VP9 frame", bytes.count)
    }
    // Every frame is looked at: each may have a size of its own.
    for (number, frame) in frames.enumerated() {
      guard let header = VP9FrameHeader(frame) else { throw malformed("not a VP9 frame", frame.count) }
      guard header.profile == 0 else {
        reset()
        throw CodecError(
          library: .libvpx, reason: .unsupported, operation: "decode", text: "profile \(header.profile)",
          detail: "only profile 0, 8 bits 4:2:0, is shown")
      }
      if header.width > 0, !sizeCap.allows(width: header.width, height: header.height) {
        reset()
        throw sizeCap.error(.libvpx, width: header.width, height: header.height)
      }
      if number == 0, needsKeyframe, !header.isKeyframe { return nil }
    }
    needsKeyframe = true
    let picture: Picture?
    if frames.count > 1 || first.count < bytes.count {
      picture = try context.decode(bytes, into: &pool)
    } else {
      // Behind a frame without an index libvpx looks for more, of sizes that nobody has checked.
      indexed.removeAll(keepingCapacity: true)
      indexed.append(contentsOf: bytes)
      indexed += VP9Superframe.index([bytes.count])
      picture = try indexed.withUnsafeBufferPointer { (bytes) throws(CodecError) in
        try context.decode(UnsafeRawBufferPointer(bytes), into: &pool)
      }
    }
    needsKeyframe = false
    return picture
  }

  /// Forgets all pictures: the next frame must be a keyframe.
  public func reset() {
    context.close()
    needsKeyframe = true
  }

  private func malformed(_ text: String, _ count: Int) -> CodecError {
    reset()
    return CodecError(
      library: .libvpx, reason: .malformed, operation: "decode", text: text, detail: "\(count) bytes")
  }
}
