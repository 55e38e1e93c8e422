import CWebMParser
import Glibc
import MediaCore

/// Reads WebM and Matroska files through libwebm's parser. Total on any input.
public enum WebMReader {
  /// One frame of a file.
  public struct Frame {
    /// Number of its track.
    public var track: UInt64
    /// Its time since the recording began.
    public var time: SessionTime
    /// True when decoding can start here; always for sound.
    public var isKeyframe: Bool
    /// The payload, valid during the call only.
    public var bytes: UnsafeRawBufferPointer
  }

  /// Calls `body` with each frame, in file order. Returns false when the file ends inside an element or is damaged:
  /// then the frames before that place were given.
  @discardableResult
  public static func forEachFrame(path: String, _ body: (Frame) -> Void) throws(WebMError) -> Bool {
    try withoutActuallyEscaping(body) { (body) throws(WebMError) in
      try parse(path: path, events: FrameEvents(body), wholeFrames: true).status == 0
    }
  }

  static func parse(path: String, events: ParserEvents, wholeFrames: Bool) throws(WebMError) -> cwebm_result {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw WebMError(code: .open, number: errno, operation: "open it", path: path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw WebMError(code: .read, number: errno, operation: "look at it", path: path)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw WebMError(code: .notWebM, operation: "it is not a regular file", path: path)
    }
    let result = events.withCallbacks { cwebm_parse_descriptor(descriptor, wholeFrames ? 1 : 0, &$0) }
    guard result.read_error == 0 else {
      let operation = "read at byte \(result.position)"
      throw WebMError(code: .read, number: result.read_error, operation: operation, path: path)
    }
    return result
  }

  static func parse(_ bytes: UnsafeRawBufferPointer, events: ParserEvents, wholeFrames: Bool) -> cwebm_result {
    // An empty buffer has no address, which the parser takes for a file.
    var nothing: UInt8 = 0
    return withUnsafePointer(to: &nothing) { nothing in
      let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nothing
      return events.withCallbacks { cwebm_parse_bytes(base, bytes.count, wholeFrames ? 1 : 0, &$0) }
    }
  }
}

private final class FrameEvents: ParserEvents {
  private let body: (WebMReader.Frame) -> Void
  private var scale: UInt64 = 1_000_000

  init(_ body: @escaping (WebMReader.Frame) -> Void) { self.body = body }

  override func info(_ info: cwebm_info) { scale = info.timestamp_scale }

  override func frame(_ frame: cwebm_frame) -> Bool {
    body(
      WebMReader.Frame(
        track: frame.track, time: ParserEvents.time(ticks: frame.ticks, scale: scale),
        isKeyframe: frame.is_keyframe != 0,
        bytes: UnsafeRawBufferPointer(start: frame.bytes, count: frame.available)))
    return true
  }
}
