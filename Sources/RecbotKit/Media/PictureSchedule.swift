/// Which encoded picture of prepared files is due when, in all layers: from the beginning to the end, or round and round, with jumps
/// back to keyframes. A pure value.
struct PictureSchedule: Sendable {
  typealias Picture = EncodedVideoFrame

  /// The pictures of all layers by their times, those of one time from the smallest.
  private let pictures: [Picture]
  /// Where decoding can begin in every layer: the index of the first picture of that time.
  private let entries: [Int]
  private let period: Duration?
  private var index = 0
  /// What is added to the pictures' own times.
  private var shift = Duration.zero

  /// A schedule of pictures, each with its time; of each layer the first is a keyframe. `period`: after which it begins again; nil: it
  /// ends.
  init(_ pictures: [Picture], layers: Int, period: Duration?) {
    let sorted = pictures.sorted { ($0.time ?? .zero, $0.layer) < ($1.time ?? .zero, $1.layer) }
    var entries: [Int] = []
    for (index, picture) in sorted.enumerated() where picture.isKeyframe && picture.layer == 0 {
      let together = sorted[index...].prefix { $0.time == picture.time }
      if together.count == layers, together.allSatisfy(\.isKeyframe) { entries.append(index) }
    }
    (self.pictures, self.period) = (sorted, period)
    // Layers that begin at different times have one place in common at least: the beginning.
    self.entries = entries.first == 0 ? entries : [0] + entries
  }

  /// When the next picture is due; nil at the end.
  var nextTime: Duration? {
    if index < pictures.count { return shift + time(index) }
    guard let period, !pictures.isEmpty else { return nil }
    return shift + period + time(0)
  }

  /// The next picture, with the time at which it is due; nil at the end.
  mutating func next() -> Picture? {
    guard let due = nextTime else { return nil }
    if index == pictures.count { (index, shift) = (0, due - time(0)) }
    defer { index += 1 }
    var picture = pictures[index]
    picture.time = due
    return picture
  }

  /// Goes to the place that is due `elapsed` after the beginning, and to the last keyframe before it.
  mutating func begin(at elapsed: Duration) {
    guard elapsed > .zero, !pictures.isEmpty else { return }
    if let period, period > .zero { shift = period * Int(elapsed / period) }
    let wanted = elapsed - shift
    index = pictures.firstIndex { $0.time ?? .zero >= wanted } ?? pictures.count
    jump()
  }

  /// Whether the next is the first of the layers of its picture.
  var isBetweenPictures: Bool {
    index == 0 || index == pictures.count || pictures[index].time != pictures[index - 1].time
  }

  /// Between pictures: goes on, at the time at which the next picture is due, with the last place at which every layer has a keyframe.
  mutating func jump() {
    guard let due = nextTime else { return }
    let entry = index == pictures.count ? 0 : entries.last { $0 <= index } ?? 0
    (index, shift) = (entry, due - time(entry))
  }

  private func time(_ index: Int) -> Duration { pictures[index].time ?? .zero }
}
