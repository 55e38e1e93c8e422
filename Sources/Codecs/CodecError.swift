/// Why a codec did not do what it was asked: one value for every library behind this module.
public struct CodecError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The library that was asked.
  public enum Library: String, Hashable, Sendable {
    /// VP8 and VP9.
    case libvpx
    /// H.264, H.265 and G.722.
    case libavcodec
    /// AV1, decoding.
    case libdav1d
    /// AV1, encoding.
    case libaom
    /// Opus.
    case libopus
    /// G.711, which needs no library.
    case g711
  }

  /// What a caller can tell apart and act upon.
  public enum Reason: String, Hashable, Sendable {
    /// The bitstream isn't what its RFC says. The next frame may be fine.
    case malformed
    /// The picture is larger than the decoder was told to accept.
    case tooLarge
    /// The picture's samples are of another form than 8 bits 4:2:0, which `text` names; so will be the next ones.
    case unsupported
    /// The bitstream could be read, but pictures that it builds upon are damaged or missing.
    case corrupt
    /// An argument is outside what the codec can do (a size, a bit rate, a buffer that is too small).
    case invalidArgument
    /// The library could not get the memory that it needs.
    case outOfMemory
    /// Anything else that the library reports.
    case library
  }

  /// The library that was asked.
  public var library: Library
  /// What a caller can act upon.
  public var reason: Reason
  /// What was being done, by the name of the library's function.
  public var operation: String
  /// The library's own result code; 0 when the library was not called at all.
  public var code: Int32
  /// The library's own text for `code`, or ours when it was not called.
  public var text: String
  /// More about this one failure, when there is more to say.
  public var detail: String?

  /// Makes an error; see the properties.
  public init(
    library: Library, reason: Reason, operation: String, code: Int32 = 0, text: String, detail: String? = nil
  ) {
    self.library = library
    self.reason = reason
    self.operation = operation
    self.code = code
    self.text = text
    self.detail = detail
  }

  /// The error of pictures of another form than 8 bits 4:2:0: bits of a sample, and how many columns and rows share a sample of
  /// each colour; 0: another number of planes.
  static func unsupported(
    _ library: Library, _ operation: String, bits: Int, across: Int, down: Int
  ) -> CodecError {
    let chroma =
      switch (across, down) {
      case (2, 2): "4:2:0"
      case (2, 1): "4:2:2"
      case (1, 1): "4:4:4"
      case (0, 0): "4:0:0"
      default: "\(across):\(down)"
      }
    return CodecError(
      library: library, reason: .unsupported, operation: operation, text: "\(bits) bits \(chroma)",
      detail: "only 8 bits 4:2:0 are shown")
  }

  /// One line for a log: `libvpx: vpx_codec_decode: Corrupt frame detected (7): Truncated packet`.
  public var description: String {
    let codeText = code == 0 ? "" : " (\(code))"
    let detailText = detail.map { ": \($0)" } ?? ""
    return "\(library.rawValue): \(operation): \(text)\(codeText)\(detailText)"
  }
}
