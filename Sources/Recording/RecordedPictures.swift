import Codecs
import MediaCore
import WebM

/// The pictures of a finished WebM file, to be decoded one after the other. Confined to one thread.
final class RecordedPictures {
  /// Which of its pictures a storyboard shows.
  let storyboard: StoryboardPlan
  private let path: String
  private let track: UInt64
  private let decoder: any VideoDecoder
  private var pool = PicturePool()

  /// Looks at a file. Throws when it can't be read or has no pictures that could be decoded.
  init(_ path: String) throws(RecordingError) {
    self.path = path
    let report = try Self.reading { () throws(WebMError) in try WebMProbe.probe(path) }
    guard let track = report.tracks.first(where: { $0.kind == .video }),
      let row = CodecTable.row(matroskaCodecID: track.codec), let decoder = VideoDecoders.make(row.codec)
    else { throw Self.nothing(path) }
    storyboard = StoryboardPlan(length: report.duration, width: track.width, height: track.height)
    (self.track, self.decoder) = (track.number, decoder)
  }

  /// What is said of a file without a picture.
  var nothing: RecordingError { Self.nothing(path) }

  /// Calls `body` with the first picture of each of a storyboard's intervals that has one.
  func forEachSample(
    _ plan: StoryboardPlan, _ body: (_ slot: Int, Picture) -> Void
  ) throws(RecordingError) {
    var isTaken = [Bool](repeating: false, count: plan.count)
    try forEachFrame { frame in
      guard frame.time >= .zero, !plan.keyframesOnly || frame.isKeyframe else { return }
      let slot = Int(clamping: frame.time.nanoseconds / plan.interval.nanoseconds)
      let isWanted = slot < plan.count && !isTaken[slot]
      guard isWanted || !plan.keyframesOnly, let picture = decode(frame), isWanted else { return }
      isTaken[slot] = true
      body(slot, picture)
    }
  }

  /// The picture that is on show at a moment; nil: none yet.
  func picture(at moment: SessionTime) throws(RecordingError) -> Picture? {
    var start = SessionTime.zero
    try forEachFrame { frame in if frame.isKeyframe, frame.time <= moment { start = frame.time } }
    var shown: Picture?
    try forEachFrame { frame in
      guard frame.time >= start, frame.time <= moment else { return }
      shown = decode(frame) ?? shown
    }
    return shown
  }

  /// Calls `body` with each frame of the pictures, in the file's order.
  private func forEachFrame(_ body: (WebMReader.Frame) -> Void) throws(RecordingError) {
    try Self.reading { () throws(WebMError) in
      _ = try WebMReader.forEachFrame(path: path) { frame in if frame.track == track { body(frame) } }
    }
  }

  /// The picture of a frame; nil when there is none, or it is damaged.
  private func decode(_ frame: WebMReader.Frame) -> Picture? {
    try? decoder.decode(frame.bytes, isKeyframe: frame.isKeyframe, into: &pool)
  }

  private static func nothing(_ path: String) -> RecordingError { .input("\(path) has no pictures") }

  private static func reading<Value>(_ body: () throws(WebMError) -> Value) throws(RecordingError) -> Value {
    do throws(WebMError) {
      return try body()
    } catch {
      throw .input(error.description)
    }
  }
}
