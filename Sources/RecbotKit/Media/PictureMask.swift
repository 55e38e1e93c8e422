import Compositor
import MediaCore
import Synchronization

/// Shows one picture in the place of all that it is given, such as a logo or a portrait: whole, upright, in the middle, with black around it.
/// `VideoProcessor.mask` shows black alone. It may be used for several tracks.
///
/// ```swift
/// track.process(by: PictureMask(logo))
/// ```
public final class PictureMask: CustomVideoProcessor {
  private struct Shape: Hashable {
    let size: Dimensions
    let rotation: Int
  }

  private struct State {
    let picture: Picture
    var shape: Shape?
    var made: Picture?
  }

  private let state: Mutex<State>
  private let rotation: Int

  /// Takes the picture; its time does not matter.
  public init(_ picture: VideoFrame) {
    // Its own, as it is turned otherwise for each rotation of those in whose place it stands.
    let own = Picture(width: picture.dimensions.width, height: picture.dimensions.height)
    PictureScaling.scale(picture.picture, to: own)
    state = Mutex(State(picture: own))
    rotation = VideoFrame.quarter(picture.rotation)
  }

  /// Gives the picture in the size and with the rotation of another.
  public func process(_ frame: VideoFrame) -> VideoFrame {
    let shape = Shape(size: frame.dimensions, rotation: VideoFrame.quarter(frame.rotation))
    let made = state.withLock { state in
      if let made = state.made, state.shape == shape { return made }
      state.picture.rotation = (rotation - shape.rotation + 360) % 360
      let made = Picture(width: shape.size.width, height: shape.size.height)
      PictureScaling.fit(state.picture, into: made)
      made.rotation = shape.rotation
      (state.shape, state.made) = (shape, made)
      return made
    }
    return VideoFrame(made, time: frame.time)
  }
}
