import Codecs
import Compositor
import MediaCore
import WebM

/// A still picture out of a recording.
enum Poster {
  /// Writes the picture that is on show at `moment` as PNG.
  static func write(from recording: String, at moment: SessionTime, to path: String) throws {
    let track = try WebMProbe.probe(recording).tracks.first { $0.kind == .video }
    guard let track, let row = CodecTable.row(matroskaCodecID: track.codec), let decoder = VideoDecoders.make(row.codec)
    else { throw Failure(.inputUnusable, "\(recording) has no pictures") }
    var pool = PicturePool()
    var shown: Picture?
    _ = try WebMReader.forEachFrame(path: recording) { frame in
      guard frame.track == track.number, frame.time <= moment else { return }
      if let picture = try? decoder.decode(frame.bytes, isKeyframe: frame.isKeyframe, into: &pool) { shown = picture }
    }
    guard let shown else { throw Failure(.inputUnusable, "\(recording) has no pictures") }
    try writePNG(shown, path: path)
  }
}
