import CAllocationCount
import CYUV
import Compositor
import Glibc
import Layouts
import MediaCore

/// Times `compose` with pictures that change in every frame, as in a meeting, and holds it to its limits.
///
/// Machines differ, and a busy one is slow: so the limit is a ratio to a yardstick that is measured in turn with it, one
/// frame of each: libyuv scaling the same pictures into the same places, without names, corners or anything else.
final class Bench {
  /// Processor time that nine tiles may cost in the median, in nanoseconds.
  static let budget: Int64 = 2_000_000
  /// What the whole composition may cost at most, in hundredths of libyuv's bare scaling.
  static let ratio: Int64 = 100
  /// The same where tiles lie on tiles: there the large one is exactly twice its source, which is libyuv's best case.
  static let overlapRatio: Int64 = 220

  private let canvas = CanvasSize(width: 1280, height: 720)
  private var failures: [String] = []
  private let reference = Picture(width: 1280, height: 720)

  /// Runs everything. False when a limit is exceeded.
  func run() -> Bool {
    print("1280x720 from 640x360 cameras, processor time of one core; names, rounded corners, outline, cards, marks")
    measure("9 tiles", scene(9))
    measure("9 tiles, clock and watermark", scene(9, overlays: true))
    measure("1 tile", scene(1))
    measure("4 tiles", scene(4))
    measure("16 tiles", scene(16))
    measure("9 tiles of 1280x720", scene(9, camera: (1280, 720)))
    measure("9 tiles of 320x180", scene(9, camera: (320, 180)))
    measure("9 tiles, turned 90", scene(9, rotation: 90))
    measure("9 cards with level rings", scene(9, cards: true), change: .levels)
    measure("small tile over a large one", overlap(), ratio: Bench.overlapRatio)
    measure("four translucent tiles over a large one", overlap(count: 4, opacity: 160), ratio: Bench.overlapRatio)
    measure("9 tiles, everything glides", scene(9), change: .places)
    measure("9 tiles, only the talker changes", scene(9), change: .talker)
    measure("9 tiles, nothing new", scene(9), change: .nothing)
    for failure in failures { print("FAILED: \(failure)") }
    if failures.isEmpty { print("within limits: each scene's share of libyuv's bare scaling, 2 ms, no allocation") }
    return failures.isEmpty
  }

  private struct Scene {
    var paint: ScenePaint
    var pictures: [[Picture]]
  }

  private enum Change { case pictures, levels, places, talker, nothing }

  private func scene(
    _ count: Int, camera: (Int, Int) = (640, 360), rotation: Int = 0, cards: Bool = false, overlays: Bool = false
  ) -> Scene {
    var scene = Scene(paint: ScenePaint(), pictures: [])
    for (index, rect) in Room.grid(count, canvas).enumerated() {
      // As many pictures as a decoder has in use, so that they don't all stay in the caches.
      let pictures = (0..<4).map { Drawn.person(index, width: camera.0, height: camera.1, phase: 10 * $0) }
      for picture in pictures { picture.rotation = rotation }
      let layer = VideoLayer(
        key: key(index), rect: rect, cornerRadius: 12, look: TileLook(levelRing: cards))
      scene.paint.tiles.append(
        TilePaint(
          layer: layer, content: cards ? .card(.audioOnly) : .video(pictures[0]), name: people[index % people.count],
          isMuted: !cards && index % 3 == 0, isTalking: index == 1, isPinned: index == 2, isLowBandwidth: index == 3))
      scene.pictures.append(pictures)
    }
    if overlays {
      scene.paint.overlays = [
        OverlayPaint(Overlay(.text(.elapsed), anchor: .topRight), text: "00:00"),
        OverlayPaint(
          Overlay(.text(.literal("recbot")), anchor: .bottomRight, opacity: 140, plate: false), text: "recbot"),
      ]
    }
    return scene
  }

  private func overlap(count: Int = 1, opacity: UInt8 = 255) -> Scene {
    var scene = scene(1 + count)
    for index in scene.paint.tiles.indices {
      let isLarge = index == 0
      scene.paint.tiles[index].layer.rect =
        isLarge
        ? PixelRect(x: 0, y: 0, width: 1280, height: 720)
        : PixelRect(x: 1280 - index * 312, y: 528, width: 300, height: 168)
      scene.paint.tiles[index].layer.cornerRadius = isLarge ? 0 : 16
      scene.paint.tiles[index].layer.z = isLarge ? 0 : 1
      scene.paint.tiles[index].layer.border = isLarge ? nil : Border(width: 4, color: .white)
      if !isLarge { scene.paint.tiles[index].layer.look.opacity = opacity }
    }
    return scene
  }

  private func apply(_ change: Change, frame: Int, to scene: inout Scene) {
    for index in scene.paint.tiles.indices {
      switch change {
      case .pictures, .places:
        scene.paint.tiles[index].content = .video(scene.pictures[index][frame % 4])
        scene.paint.tiles[index].pictureID &+= 1
        if change == .places {
          // Half a second there and half a second back, at 30 pictures a second, growing and shrinking a little.
          let phase = abs(frame % 30 - 15)
          scene.paint.tiles[index].layer.rect.x = Room.grid(9, canvas)[index].x + 2 * (phase / 3)
          scene.paint.tiles[index].layer.rect.width = Room.grid(9, canvas)[index].width - 4 * phase
          scene.paint.tiles[index].layer.rect.height = Room.grid(9, canvas)[index].height - 2 * phase
        }
      case .levels: scene.paint.tiles[index].level = (frame * 37 + index * 211) % 1000
      case .talker: scene.paint.tiles[index].isTalking = index == frame % 9
      case .nothing: break
      }
    }
    if change != .nothing, !scene.paint.overlays.isEmpty, frame % 30 == 0 {
      scene.paint.overlays[0].text = Room.clock(frame / 30)
    }
  }

  private func measure(_ title: String, _ start: Scene, change: Change = .pictures, ratio: Int64 = Bench.ratio) {
    let compositor = PictureCompositor(canvas: canvas)
    var scene = start
    // Everything that is drawn once is drawn here: all levels, all looks, all digits.
    for frame in 0..<320 {
      apply(change, frame: frame, to: &scene)
      _ = compositor.compose(scene.paint)
    }
    var (times, yardstick): ([Int64], [Int64]) = ([], [])
    times.reserveCapacity(600)
    yardstick.reserveCapacity(600)
    var allocations: UInt64 = 0
    for frame in 0..<600 {
      apply(change, frame: frame, to: &scene)
      let count = recbot_allocation_count()
      let start = now()
      _ = compositor.compose(scene.paint)
      let middle = now()
      allocations += recbot_allocation_count() - count
      scaleOnly(scene)
      times.append(middle - start)
      yardstick.append(now() - middle)
    }
    report(title, times, yardstick, allocations, ratio: ratio)
  }

  /// The yardstick.
  private func scaleOnly(_ scene: Scene) {
    for (index, tile) in scene.paint.tiles.enumerated() {
      let (picture, rect) = (scene.pictures[index][0], tile.layer.rect)
      let target = rect.y * reference.strideY + rect.x
      let chroma = rect.y / 2 * reference.strideUV + rect.x / 2
      I420Scale(
        picture.y, Int32(picture.strideY), picture.u, Int32(picture.strideUV), picture.v, Int32(picture.strideUV),
        Int32(picture.width), Int32(picture.height), reference.y + target, Int32(reference.strideY),
        reference.u + chroma, Int32(reference.strideUV), reference.v + chroma, Int32(reference.strideUV),
        Int32(rect.width), Int32(rect.height), kFilterBilinear)
    }
  }

  private func report(
    _ title: String, _ times: [Int64], _ yardstick: [Int64], _ allocations: UInt64, ratio: Int64
  ) {
    let (times, yardstick) = (times.sorted(), yardstick.sorted())
    let (median, base) = (times[times.count / 2], max(1, yardstick[yardstick.count / 2]))
    let percent = median * 100 / base
    print(
      Room.padded(title, 42)
        + "median \(Room.milliseconds(median)) ms   99% \(Room.milliseconds(times[times.count * 99 / 100])) ms   "
        + "\(Room.padded("\(percent)% of libyuv's \(Room.milliseconds(base)) ms", 30))"
        + "\(allocations) allocations in \(times.count) frames")
    if percent > ratio { failures.append("\(title): \(percent)% of the yardstick") }
    if median > Bench.budget, base < Bench.budget {
      failures.append("\(title): \(Room.milliseconds(median)) ms in the median")
    }
    if allocations > 0 { failures.append("\(title): \(allocations) allocations in \(times.count) frames") }
  }

  private func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// Places and texts.
enum Room {
  /// Tiles of one size in rows, with gaps of 12.
  static func grid(_ count: Int, _ canvas: CanvasSize) -> [PixelRect] {
    var columns = 1
    while columns * columns < count { columns += 1 }
    let rows = (count + columns - 1) / columns
    let width = (canvas.width - 12 * (columns + 1)) / columns & ~1
    let height = (canvas.height - 12 * (rows + 1)) / rows & ~1
    return (0..<count).map {
      PixelRect(
        x: 12 + $0 % columns * (width + 12), y: 12 + $0 / columns * (height + 12), width: width, height: height)
    }
  }

  static func clock(_ seconds: Int) -> String {
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(two(seconds / 60 % 60)):\(two(seconds % 60))"
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  static func milliseconds(_ nanoseconds: Int64) -> String {
    let microseconds = nanoseconds / 1000
    let fraction = String(microseconds % 1000)
    return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
  }
}
