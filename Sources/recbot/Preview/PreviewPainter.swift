import Compositor
import Layouts
import MediaCore
import Synchronization
import Synthetic

/// Paints a made-up room in a layout with the recording's own compositor. The same room and layout give the same
/// picture on every run.
struct PreviewPainter {
  let layout: Layout
  let canvas: CanvasSize
  let room: PreviewRoom

  /// Seed of the drawn people.
  private static let seed: UInt64 = 1
  /// Instant of the drawings: far enough into the slide that there is something on it.
  private static let second = 5

  /// The picture; it is the caller's. What cannot be loaded (a logo, a background) is told to `report`.
  func picture(report: @escaping @Sendable (String) -> Void = { _ in }) -> Picture {
    var arranger = Arranger(layout: layout, canvas: canvas)
    let arrangement = arranger.arrange(room.view)
    let images = ImageStore { source, reason in report("\(source): \(reason)") }
    let compositor = PictureCompositor(canvas: canvas, images: images)
    let scene = ScenePaint(
      theme: layout.theme, background: arrangement.background, tiles: arrangement.layers.map { paint($0) },
      overlays: arrangement.overlays.map { OverlayPaint($0, text: Self.words($0)) })
    // The first time asks for the images, the second has them.
    _ = compositor.compose(scene)
    images.loadAll()
    return compositor.compose(scene).picture
  }

  /// What is wrong with the images that a layout names: a line each.
  static func imageFaults(of layout: Layout, canvas: CanvasSize?) -> [String] {
    let faults = Mutex<[String]>([])
    let canvas = canvas ?? layout.canvas ?? CanvasSize(width: 1280, height: 720)
    var room = PreviewRoom()
    room.participants = 0
    _ = PreviewPainter(layout: layout, canvas: canvas, room: room).picture { fault in
      faults.withLock { $0.append(fault) }
    }
    return faults.withLock { $0 }
  }

  private static func words(_ overlay: Overlay) -> String {
    guard case .text(let text) = overlay.content else { return "" }
    return switch text {
    case .title: "Weekly meeting"
    case .elapsed: "12:07"
    case .literal(let words): words
    // 2026-11-21, 14:30 UTC.
    case .clock(let format): format.text(seconds: 1_795_271_400)
    }
  }

  private func paint(_ layer: VideoLayer) -> TilePaint {
    guard let identity = layer.key.participant,
      let person = (1...max(room.participants, 1)).first(where: { PreviewRoom.identity($0) == identity })
    else { return TilePaint(layer: layer, content: .card(.audioOnly)) }
    let isScreen = layer.key.isScreenShare
    var content = TileContent.card(layer.look.video ? .cameraOff : .audioOnly)
    if isScreen {
      content = .video(screen())
    } else if layer.look.video, !room.withoutVideo.contains(person) {
      content = .video(camera(person))
    }
    let isTalking = !isScreen && room.isTalking(person)
    return TilePaint(
      layer: layer, content: content, name: PreviewRoom.name(person), isMuted: !isScreen && room.muted.contains(person),
      isTalking: isTalking, pictureID: 1, isPinned: !isScreen && room.pinned.contains(person),
      level: isTalking ? 700 : 0)
  }

  private func camera(_ person: Int) -> Picture {
    let isUpright = room.upright.contains(person)
    let (width, height) = PreviewRoom.cameraSize
    let size = isUpright ? (height, width) : (width, height)
    let picture = Picture(width: size.0, height: size.1)
    SyntheticCamera(seed: Self.seed, identity: person - 1, width: size.0, height: size.1)
      .draw(frame: Self.second * 30 + 7 * person, voiceLevel: room.isTalking(person) ? 0.7 : 0, into: picture)
    return picture
  }

  private func screen() -> Picture {
    let (width, height) = PreviewRoom.screenSize
    let picture = Picture(width: width, height: height)
    let screen = SyntheticScreen(seed: Self.seed, width: width, height: height)
    screen.draw(frame: Self.second * screen.framesPerSecond, into: picture)
    return picture
  }
}
