import Codecs
import Compositor
import MediaCore
import WebM

/// Small pictures of a whole recording in one, for players that show where a viewer is about to jump: which are taken, and
/// where they lie. Pure.
public struct StoryboardPlan: Sendable, Hashable {
  /// Small pictures in a row, and in all at most.
  static let columns = 10, most = 100
  /// Columns of each.
  static let tileWidth = 160
  /// In files up to this length all pictures are decoded, in longer ones only keyframes.
  static let longestWhole = Duration.seconds(120)

  /// Rows of each.
  public let tileHeight: Int
  /// From one to the next, whole seconds.
  public let interval: Duration
  /// How many the recording's length makes.
  public let count: Int
  /// The recording's length.
  public let length: Duration
  /// True to decode keyframes only.
  public let keyframesOnly: Bool

  /// Plans for a recording of this length, and of pictures of this size.
  public init(length: Duration, width: Int, height: Int) {
    // A cue has whole milliseconds, and at least one.
    self.length = .milliseconds(max(0, length.nanoseconds - 1) / 1_000_000 + 1)
    let seconds = max(1, (self.length.milliseconds - 1) / (Int64(Self.most) * 1000) + 1)
    keyframesOnly = length > Self.longestWhole
    // A recording has a keyframe each five seconds.
    interval = .seconds(keyframesOnly ? max(5, seconds) : seconds)
    count = Int((self.length.nanoseconds - 1) / interval.nanoseconds + 1)
    let rows = Self.tileWidth * max(1, min(height, 16_384)) / max(1, min(width, 16_384))
    tileHeight = max(2, min(rows, 640)) / 2 * 2
  }

  /// Where the small picture of this number lies.
  func place(_ index: Int) -> (x: Int, y: Int) {
    (index % Self.columns * Self.tileWidth, index / Self.columns * tileHeight)
  }

  /// The WebVTT: `shown` says for each interval which small picture is shown in it.
  func text(image: String, shown: [Int]) -> String {
    var text = "WEBVTT\n"
    for (index, tile) in shown.enumerated() {
      let start = SessionTime.zero + interval * index
      let (x, y) = place(tile)
      let line = "\(image)#xywh=\(x),\(y),\(Self.tileWidth),\(tileHeight)"
      let end = min(.zero + length, start + interval)
      text += "\n" + Cue(number: 0, start: start, end: end, name: "", lines: [line]).vtt
    }
    return text
  }
}

/// Makes storyboards.
public enum Storyboard {
  /// Writes the small pictures of a WebM file into `image` (PNG) and where they belong into `text` (WebVTT), which names the
  /// image by `name`, a file's name. Neither may exist; each is there as a whole or not at all. Slow: reads all of the file,
  /// and keeps a thread busy.
  public static func write(of recording: String, image: String, text: String, name: String) throws(RecordingError) {
    let pictures = try RecordedPictures(recording)
    let plan = pictures.storyboard
    let rows = (plan.count - 1) / StoryboardPlan.columns + 1
    let sprite = Picture(
      width: StoryboardPlan.tileWidth * min(plan.count, StoryboardPlan.columns), height: plan.tileHeight * rows)
    sprite.fill(y: 16, u: 128, v: 128)
    var shown = [Int?](repeating: nil, count: plan.count)
    var painted = 0
    try pictures.forEachSample(plan) { slot, picture in
      let place = plan.place(painted)
      sprite.paint(picture, x: place.x, y: place.y, width: StoryboardPlan.tileWidth, height: plan.tileHeight)
      shown[slot] = painted
      painted += 1
    }
    guard painted > 0 else { throw pictures.nothing }
    // Where nothing new came, what was there before is on show.
    var last = 0
    let tiles = shown.map { tile in
      last = tile ?? last
      return last
    }
    try WholeFile.write(sprite, to: image)
    try WholeFile.write(plan.text(image: PercentCoding.encode(name), shown: tiles), to: text)
  }
}
