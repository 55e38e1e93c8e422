import Compositor
import Glibc
import Layouts
import MediaCore

/// Times `compose` with pictures that change in every frame, as in a meeting.
enum Bench {
  static func run() {
    print("1280x720 from 640x360 cameras; every camera has a new picture in every frame; labels, cards and outline on")
    measure("grid, 1 tile", .grid, count: 1)
    measure("grid, 4 tiles", .grid, count: 4)
    measure("grid, 9 tiles", .grid, count: 9)
    measure("grid, 9 tiles of 1280x720", .grid, count: 9, camera: (1280, 720))
    measure("grid, 9 tiles of 320x180", .grid, count: 9, camera: (320, 180))
    measure("grid, 9 tiles, turned 90", .grid, count: 9, rotation: 90)
    measure("grid, 16 tiles", .grid, count: 16)
    measure("speaker, 9 people", .speaker, count: 9)
    measure("grid, 9 tiles, nothing new", .grid, count: 9, isMoving: false)
    measureTalker()
  }

  private static func tiles(_ layout: LayoutName, count: Int, camera: (Int, Int), rotation: Int)
    -> (tiles: [TilePaint], pictures: [[Picture]])
  {
    let sources = (0..<count).map { LayoutSource(key: key($0)) }
    let layers = arrange(
      layout: layout, canvas: CanvasSize(width: 1280, height: 720), sources: sources, talker: key(1))
    var pictures: [[Picture]] = []
    let tiles = layers.enumerated().map { index, layer -> TilePaint in
      // As many pictures as a decoder has in use, so that they don't all stay in the caches.
      pictures.append((0..<4).map { Drawn.person(index, width: camera.0, height: camera.1, phase: 10 * $0) })
      for picture in pictures[index] { picture.rotation = rotation }
      return TilePaint(
        layer: layer, content: .video(pictures[index][0]), name: people[index % people.count],
        isMuted: index % 3 == 0, isTalking: layer.key == key(1))
    }
    return (tiles, pictures)
  }

  private static func measure(
    _ title: String, _ layout: LayoutName, count: Int, camera: (Int, Int) = (640, 360), rotation: Int = 0,
    isMoving: Bool = true
  ) {
    let compositor = Compositor(canvas: CanvasSize(width: 1280, height: 720))
    var (tiles, pictures) = tiles(layout, count: count, camera: camera, rotation: rotation)
    _ = compositor.compose(tiles)
    var times: [Int64] = []
    times.reserveCapacity(400)
    for frame in 0..<400 {
      if isMoving {
        for index in tiles.indices {
          tiles[index].content = .video(pictures[index][frame % 4])
          tiles[index].pictureID &+= 1
        }
      }
      let start = now()
      _ = compositor.compose(tiles)
      times.append(now() - start)
    }
    report(title, times)
  }

  /// The talker changes in every frame: two tiles get another look.
  private static func measureTalker() {
    let compositor = Compositor(canvas: CanvasSize(width: 1280, height: 720))
    var (tiles, _) = tiles(.grid, count: 9, camera: (640, 360), rotation: 0)
    _ = compositor.compose(tiles)
    var times: [Int64] = []
    for frame in 0..<400 {
      for index in tiles.indices { tiles[index].isTalking = index == frame % 9 }
      let start = now()
      _ = compositor.compose(tiles)
      times.append(now() - start)
    }
    report("grid, 9 tiles, only the talker changes", times)
  }

  private static func report(_ title: String, _ times: [Int64]) {
    let sorted = times.sorted()
    func milliseconds(_ share: Int) -> String {
      let microseconds = sorted[min(sorted.count - 1, sorted.count * share / 100)] / 1000
      let fraction = String(microseconds % 1000)
      return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }
    let padded = title + String(repeating: " ", count: max(0, 42 - title.count))
    print("\(padded) median \(milliseconds(50)) ms   90% \(milliseconds(90)) ms   99% \(milliseconds(99)) ms")
  }

  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
