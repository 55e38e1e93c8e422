import MediaCore

/// Decides which pictures of a file are encoded, and of which is only said that they are the same as the one before: nobody sees the
/// difference, and an encoder takes as long for a picture that stands still as for one that moves a little. A pure value.
struct Stillness {
  /// What becomes of a picture.
  enum Verdict: Hashable {
    case encode(isKeyframe: Bool)
    /// The picture before is shown again.
    case `repeat`
  }

  /// So many pictures are encoded after a change, until what is still has its full quality: a second of them.
  private let settling: Int
  /// How far apart keyframes are at most. The encoder counts what it is given, and is not given all.
  private let keyframeInterval: Duration
  /// After a change of a detail one of so many pictures is encoded, so often: it is small, and changes again.
  private static let detailDistance = 3, detailSettling = 5
  /// So many pictures of those are owed, and so many were repeated since the last that was encoded.
  private var owed = 0
  private var repeated = 0
  /// Pictures that were encoded since the last change, and since the last keyframe.
  private var sinceChange = 0
  private var sinceKeyframe = 0
  private var keyframeAt = SessionTime.zero

  init(framesPerSecond: Int, keyframeInterval: Duration) {
    settling = framesPerSecond
    self.keyframeInterval = keyframeInterval
  }

  /// What becomes of the next picture. `change`: how it differs from the one before; `isDue`: a keyframe is due for other reasons;
  /// `canRepeat`: the codec can say that it is the same.
  mutating func next(_ change: PictureChange, isDue: Bool, canRepeat: Bool, at time: SessionTime) -> Verdict {
    if change == .anything { sinceChange = 0 }
    if change == .detail { owed = Self.detailSettling }
    if isDue || time >= keyframeAt + keyframeInterval { return .encode(isKeyframe: true) }
    // A keyframe is coarse at first, too.
    let isSettled = sinceChange >= settling && sinceKeyframe >= settling / 2
    guard canRepeat, change == .nothing, isSettled, owed == 0 || repeated + 1 < Self.detailDistance else {
      return .encode(isKeyframe: false)
    }
    repeated += 1
    return .repeat
  }

  /// The picture of this time was encoded.
  mutating func encoded(isKeyframe: Bool, at time: SessionTime) {
    sinceChange += 1
    sinceKeyframe += 1
    owed = max(0, owed - 1)
    repeated = 0
    if isKeyframe { (sinceKeyframe, keyframeAt) = (1, time) }
  }
}
