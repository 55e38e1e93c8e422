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
  /// Pictures that were encoded since the last change, and since the last keyframe.
  private var sinceChange = 0
  private var sinceKeyframe = 0
  private var keyframeAt = SessionTime.zero

  init(framesPerSecond: Int, keyframeInterval: Duration) {
    settling = framesPerSecond
    self.keyframeInterval = keyframeInterval
  }

  /// What becomes of the next picture. `isChanged`: it is another one than before; `isDue`: a keyframe is due for other reasons;
  /// `canRepeat`: the codec can say that it is the same.
  mutating func next(isChanged: Bool, isDue: Bool, canRepeat: Bool, at time: SessionTime) -> Verdict {
    if isChanged { sinceChange = 0 }
    if isDue || time >= keyframeAt + keyframeInterval { return .encode(isKeyframe: true) }
    // A keyframe is coarse at first, too.
    return canRepeat && sinceChange >= settling && sinceKeyframe >= settling / 2 ? .repeat : .encode(isKeyframe: false)
  }

  /// The picture of this time was encoded.
  mutating func encoded(isKeyframe: Bool, at time: SessionTime) {
    sinceChange += 1
    sinceKeyframe += 1
    if isKeyframe { (sinceKeyframe, keyframeAt) = (1, time) }
  }
}
