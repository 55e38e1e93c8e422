import Compositor
import MediaCore

/// One sink of pictures. Confined to the recording's thread.
final class PictureOutlet {
  /// Composes its pictures; nil: they are the recording's own.
  let compositor: PictureCompositor?
  private let server: SinkServer
  /// Of so many slots one is given.
  private let interval: Int64

  /// Nil for a sink of sound.
  init?(_ server: SinkServer, _ compositor: PictureCompositor?) {
    guard case .pictures(let form) = server.sink.medium else { return nil }
    self.server = server
    self.compositor = compositor
    interval = Int64(max(1, form.interval))
  }

  /// Gives the picture of a slot, which `make` is asked for when somebody reads; nil: the machine does not keep up.
  func give(_ slot: Int64, _ make: () -> Picture?) {
    guard slot % interval == 0, server.progress.readers > 0 else { return }
    let bytes = make().map(Self.bytes) ?? []
    server.put(SinkBlock(position: slot / interval, count: bytes.count, bytes: bytes))
  }

  /// The planes, without what is between their rows.
  private static func bytes(_ picture: Picture) -> [UInt8] {
    let (chromaWidth, chromaHeight) = (picture.chromaWidth, picture.chromaHeight)
    let count = picture.width * picture.height + 2 * chromaWidth * chromaHeight
    return [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      for (plane, stride, width, height) in [
        (picture.y, picture.strideY, picture.width, picture.height),
        (picture.u, picture.strideUV, chromaWidth, chromaHeight),
        (picture.v, picture.strideUV, chromaWidth, chromaHeight),
      ] {
        for row in 0..<height {
          let bytes = UnsafeRawBufferPointer(start: plane + row * stride, count: width)
          UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[filled..<filled + width])
            .copyMemory(from: bytes)
          filled += width
        }
      }
    }
  }
}
