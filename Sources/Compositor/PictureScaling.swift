import CYUV
import MediaCore

/// Scales whole pictures.
public enum PictureScaling {
  /// Fills a picture with another, each pixel the mean of what it covers. Pictures of any sizes; the shape is not kept.
  public static func scale(_ from: Picture, to: Picture) { scale(from, to, kFilterBox) }

  /// The same with one of libyuv's filters.
  static func scale(_ from: Picture, _ to: Picture, _ filter: FilterMode) {
    I420Scale(
      from.y, Int32(from.strideY), from.u, Int32(from.strideUV), from.v, Int32(from.strideUV), Int32(from.width),
      Int32(from.height), to.y, Int32(to.strideY), to.u, Int32(to.strideUV), to.v, Int32(to.strideUV),
      Int32(to.width), Int32(to.height), filter)
  }
}
