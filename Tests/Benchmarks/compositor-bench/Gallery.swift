import Compositor
import Layouts
import MediaCore

/// Writes pictures of everything that the compositor draws, to be looked at.
struct Gallery {
  let folder: String
  private let hd = CanvasSize(width: 1280, height: 720)

  init(folder: String) { self.folder = folder }

  func write() throws {
    for theme in ThemeName.allCases {
      for count in [1, 4, 9, 16] { try write("grid-\(count)", theme, hd, room(count, hd)) }
      try write(
        "grid-9-small", theme, CanvasSize(width: 640, height: 360), room(9, CanvasSize(width: 640, height: 360)))
      try write("cards", theme, hd, cards())
      try write("audio-only", theme, hd, audioOnly())
      try write("pip", theme, hd, pip(), overlays: overlays())
      try write("lower-third", theme, hd, lowerThird())
      try write("small-cards", theme, hd, smallCards())
      try write("scripts", theme, hd, scripts())
      try write("portrait", theme, CanvasSize(width: 720, height: 1280), room(5, CanvasSize(width: 720, height: 1280)))
      try write("empty", theme, hd, [], overlays: Array(overlays().prefix(2)))
      try write("paused", theme, hd, [], notice: Notice("Recording paused", detail: "Weekly review", symbol: .pause))
      try write("reconnecting", theme, hd, [], notice: .reconnecting)
    }
  }

  private func write(
    _ name: String, _ theme: ThemeName, _ canvas: CanvasSize, _ tiles: [TilePaint], overlays: [OverlayPaint] = [],
    notice: Notice = .waiting
  ) throws {
    let scene = ScenePaint(theme: theme, tiles: tiles, overlays: overlays, notice: notice)
    let picture = PictureCompositor(canvas: canvas).compose(scene).picture
    try writePNG(picture, path: "\(folder)/\(name)-\(canvas)-\(theme.rawValue).png")
  }

  private func person(
    _ number: Int, _ rect: PixelRect, look: TileLook = TileLook(), card: CardReason? = nil, radius: Int = 12
  ) -> TilePaint {
    let layer = VideoLayer(key: key(number), rect: rect, cornerRadius: radius, look: look)
    let picture = Drawn.person(number, width: 640, height: 360)
    return TilePaint(
      layer: layer, content: card.map { .card($0) } ?? .video(picture), name: people[number % people.count],
      isMuted: number % 3 == 0, isTalking: number == 1)
  }

  private func room(_ count: Int, _ canvas: CanvasSize) -> [TilePaint] {
    var tiles = Room.grid(count, canvas).enumerated().map { person($0, $1, card: $0 == 3 ? .cameraOff : nil) }
    if count > 2 { tiles[2].isPinned = true }
    if count > 5 {
      tiles[4].isLowBandwidth = true
      tiles[5].isDimmed = true
      tiles[count - 1].layer.key = .overflow(12)
    }
    return tiles
  }

  private func cards() -> [TilePaint] {
    let reasons = CardReason.allCases
    return Room.grid(9, hd).enumerated().map { index, rect in
      var tile = person(index, rect, card: reasons[index % reasons.count])
      tile.isPinned = index == 7
      tile.isLowBandwidth = index > 6
      return tile
    }
  }

  private func audioOnly() -> [TilePaint] {
    Room.grid(6, hd).enumerated().map { index, rect in
      var tile = person(index, rect, look: TileLook(levelRing: true), card: .audioOnly)
      tile.level = [0, 900, 200, 500, 50, 1000][index]
      return tile
    }
  }

  private func pip() -> [TilePaint] {
    var large = person(1, PixelRect(x: 0, y: 0, width: 1280, height: 720), radius: 0)
    large.content = .video(Drawn.screen(width: 1920, height: 1080))
    large.layer.key = .screenShare(ParticipantIdentity("person-1"))
    var tiles = [large]
    for index in 0..<3 {
      var tile = person(index + 2, PixelRect(x: 960, y: 24 + index * 190, width: 296, height: 166), radius: 20)
      tile.layer.z = 1
      tile.layer.border = index == 0 ? Border(width: 4, color: .white) : index == 1 ? Border(width: 2) : nil
      tile.layer.look.opacity = index == 2 ? 170 : 255
      tiles.append(tile)
    }
    return tiles
  }

  private func lowerThird() -> [TilePaint] {
    let look = TileLook(name: .lowerThird)
    return [
      person(0, PixelRect(x: 12, y: 12, width: 760, height: 696), look: look),
      person(2, PixelRect(x: 784, y: 12, width: 484, height: 342), look: look),
      person(4, PixelRect(x: 784, y: 366, width: 484, height: 342), look: look),
    ]
  }

  private func smallCards() -> [TilePaint] {
    let look = TileLook(smallCard: true)
    return [person(0, PixelRect(x: 12, y: 12, width: 1256, height: 628))]
      + (1..<6).map { index in
        person(
          index, PixelRect(x: 12 + (index - 1) * 252, y: 652, width: 240, height: 56), look: look, card: .cameraOff)
      }
  }

  private func scripts() -> [TilePaint] {
    let names = [
      "Ångström Žižek Łukasz", "Ελένη Παπαδοπούλου", "Олександр Шевченко", "ليلى حسن الشريف", "נועה בר־לב",
      "王小明 リン 김민수",
      "प्रिया रघुनाथन", "สมชาย ใจดี", "Ada 🎉👩🏽‍🚀🇩🇪 Lindqvist",
    ]
    return Room.grid(9, hd).enumerated().map { index, rect in
      var tile = person(index, rect, card: .cameraOff)
      tile.name = names[index]
      return tile
    }
  }

  private func overlays() -> [OverlayPaint] {
    [
      OverlayPaint(Overlay(.text(.title), anchor: .topLeft, size: .milliUnits(1_400)), text: "Weekly review"),
      OverlayPaint(Overlay(.text(.elapsed), anchor: .bottomRight), text: "1:02:07"),
      OverlayPaint(
        Overlay(.text(.clock(.standard)), anchor: .bottomLeft, y: .milliUnits(2_400), plate: false),
        text: "2026-11-21 14:03"),
      OverlayPaint(
        Overlay(.text(.literal("recbot")), anchor: .bottom, size: .milliUnits(2_000), opacity: 150, plate: false),
        text: "recbot"),
    ]
  }
}
