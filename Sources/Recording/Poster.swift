import Compositor
import MediaCore
import WebM

/// Makes a still picture of a recording.
public enum Poster {
  /// Writes the picture that is on show at `moment` of a WebM file as PNG, which may not exist and is there as a whole or not
  /// at all; nil: of a storyboard's pictures the one with most contrast in brightness and colours. Slow: reads all of the file,
  /// and keeps a thread busy.
  public static func write(of recording: String, at moment: SessionTime?, image: String) throws(RecordingError) {
    let pictures = try RecordedPictures(recording)
    let shown = if let moment { try pictures.picture(at: moment) } else { try richest(pictures) }
    guard let shown else { throw pictures.nothing }
    try WholeFile.write(shown, to: image)
  }

  private static func richest(_ pictures: RecordedPictures) throws(RecordingError) -> Picture? {
    let plan = pictures.storyboard
    let small = Picture(width: StoryboardPlan.tileWidth, height: plan.tileHeight)
    var most: (contrast: Int, picture: Picture)?
    try pictures.forEachSample(plan) { _, picture in
      small.paint(picture, x: 0, y: 0, width: small.width, height: small.height)
      let contrast = contrast(small)
      if contrast > most?.contrast ?? -1 { most = (contrast, picture) }
    }
    return most?.picture
  }

  /// The variances of brightness and colours, added. Zero: one colour, as far as can be seen.
  static func contrast(_ picture: Picture) -> Int {
    func variance(_ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) -> Int {
      var (sum, squares) = (0, 0)
      for row in 0..<height {
        for column in 0..<width {
          let value = Int(plane[row * stride + column])
          sum += value
          squares += value * value
        }
      }
      let count = max(1, width * height)
      return (squares - sum * sum / count) / count
    }
    let (width, height) = (picture.width, picture.height)
    return variance(picture.y, picture.strideY, width, height)
      + variance(picture.u, picture.strideUV, width / 2, height / 2)
      + variance(picture.v, picture.strideUV, width / 2, height / 2)
  }
}
