import MediaCore
import Session

/// The order in which the outputs of a few slots are carried out: what is to be decoded goes first, track by track, then come
/// the plans. A decoder that takes one frame among eight others finds the caches full of their pictures; one that takes
/// several at once does not. Pure.
enum Burst {
  /// How long slots are held back until they are planned together: of 30 a second three. A longer time gains nothing more, and
  /// each slot takes a picture of every track.
  static let length = Duration.milliseconds(70)
  /// The same while nothing comes, so that a recorder of an empty room sleeps. Less than what further files may be behind (`Pace`).
  static let quietLength = Duration.milliseconds(400)

  /// Puts outputs in that order. Those of a track stay in theirs, and nothing moves past what ends decoders.
  static func order(_ outputs: inout [SessionOutput]) {
    var begin = 0
    for index in outputs.indices {
      guard outputs[index].endsDecoders else { continue }
      order(&outputs, begin..<index)
      begin = index + 1
    }
    order(&outputs, begin..<outputs.count)
  }

  private static func order(_ outputs: inout [SessionOutput], _ range: Range<Int>) {
    var tracks: [TrackID: Int] = [:]
    var decodes: [(place: Int, index: Int, output: SessionOutput)] = []
    var others: [SessionOutput] = []
    for index in range {
      guard case .decode(_, _, let track, _) = outputs[index] else {
        others.append(outputs[index])
        continue
      }
      let place = tracks[track] ?? tracks.count
      tracks[track] = place
      decodes.append((place, index, outputs[index]))
    }
    guard decodes.count > tracks.count else { return }
    decodes.sort { ($0.place, $0.index) < ($1.place, $1.index) }
    outputs.replaceSubrange(range, with: decodes.map(\.output) + others)
  }
}

extension SessionOutput {
  /// True for what ends the lives of decoders: of what is to be decoded nothing moves past it.
  var endsDecoders: Bool {
    switch self {
    case .release, .usePictures: true
    default: false
    }
  }
}
