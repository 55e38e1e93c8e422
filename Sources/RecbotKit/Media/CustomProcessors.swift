/// Makes other pictures of those of a track, before anybody sees them: what `VideoProcessor` does not have.
///
/// It runs on a thread of its own, and is given one picture after another. When it throws, or has not come back after half a second, black
/// pictures go on in the place of its own, never what it was given. One that takes longer than a picture lasts loses some.
public protocol CustomVideoProcessor: AnyObject, Sendable {
  /// Gives the picture that goes on in the place of another. It may have another size; its time is that of the other one.
  func process(_ frame: VideoFrame) throws -> VideoFrame
}

/// Makes other sound of that of a track, before anybody hears it: what `AudioProcessor` does not have.
///
/// It runs on a thread of its own, and is given one stretch after another. When it throws, gives a stretch of another length, or has not come
/// back after half a second, silence goes on in the place of its own, never what it was given.
public protocol CustomAudioProcessor: AnyObject, Sendable {
  /// Gives the sound that goes on in the place of another, as long as that.
  func process(_ block: AudioBlock) throws -> AudioBlock
}

/// What a processor of somebody's own may be given.
protocol Processable: Sendable {
  /// So many wait for a processor beside the one that it has.
  static var waitingLimit: Int { get }
  /// What goes on when nothing else may: it tells nothing of this.
  var withheld: Self { get }
  /// What a processor made of this as it may go on; nil: it may not.
  func replaced(by made: Self) -> Self?
}

extension VideoFrame: Processable {
  static var waitingLimit: Int { 1 }

  var withheld: VideoFrame {
    var black = VideoFrame(dimensions, y: 16, u: 128, v: 128, time: time)
    black.rotation = rotation
    return black
  }

  func replaced(by made: VideoFrame) -> VideoFrame? {
    var made = made
    made.time = time
    return made
  }
}

extension AudioBlock: Processable {
  /// Half a second of the usual 20 ms.
  static var waitingLimit: Int { 25 }

  var withheld: AudioBlock {
    AudioBlock([Float](repeating: 0, count: samples.count), channels: channels, time: time)
  }

  func replaced(by made: AudioBlock) -> AudioBlock? {
    guard made.duration == duration else { return nil }
    var made = made
    made.time = time
    return made
  }
}
