import Compositor
import Layouts
import MediaCore

/// Writes pictures of typical rooms, to be looked at.
struct Gallery {
  let folder: String

  func write() throws {
    for size in ["1280x720", "640x360"] {
      guard let canvas = CanvasSize(text: size) else { continue }
      for count in [0, 1, 2, 3, 4, 5, 9] {
        try write("grid-\(count)-\(size)", .grid, canvas, count: count)
      }
      try write("grid-16-\(size)", .grid, canvas, count: 16, cards: [3: .cameraOff, 9: .cameraOff, 12: .noSignal])
      try write(
        "grid-cards-\(size)", .grid, canvas, count: 6,
        cards: [0: .cameraOff, 1: .notReceived, 2: .noSignal, 3: .reconnecting, 4: .joining, 5: .audioOnly])
      try write("grid-mixed-\(size)", .grid, canvas, count: 4, talker: 1, cards: [2: .cameraOff], dimmed: 3)
      try write("grid-30-\(size)", .grid, canvas, count: 30, cards: [4: .cameraOff])
      try write("speaker-1-\(size)", .speaker, canvas, count: 1)
      try write("speaker-2-\(size)", .speaker, canvas, count: 2)
      try write("speaker-4-\(size)", .speaker, canvas, count: 4, talker: 2, cards: [1: .cameraOff])
      try write("speaker-9-\(size)", .speaker, canvas, count: 9, talker: 3, cards: [1: .cameraOff, 2: .noSignal])
      try write("speaker-share-\(size)", .speaker, canvas, count: 5, talker: 0, cards: [3: .cameraOff], share: true)
      try write("speaker-card-\(size)", .speaker, canvas, count: 3, talker: 1, cards: [1: .cameraOff])
    }
    let portrait = CanvasSize(width: 720, height: 1280)
    try write("grid-5-720x1280", .grid, portrait, count: 5)
    try write("speaker-4-720x1280", .speaker, portrait, count: 4, cards: [1: .cameraOff])
  }

  private func write(
    _ name: String, _ layout: LayoutName, _ canvas: CanvasSize, count: Int, talker: Int = 1,
    cards: [Int: CardReason] = [:], dimmed: Int? = nil, share: Bool = false
  ) throws {
    var sources = (0..<count).map { LayoutSource(key: key($0), hasPicture: cards[$0] == nil) }
    let screen = TileKey.screenShare(ParticipantIdentity("person-0"))
    if share { sources.append(LayoutSource(key: screen, pictureWidth: 1920, pictureHeight: 1080)) }
    if count > 4 {
      sources[4].pictureWidth = 360
      sources[4].pictureHeight = 640
    }
    let layers = arrange(layout: layout, canvas: canvas, sources: sources, talker: key(talker))
    let tiles = layers.map { layer -> TilePaint in
      if layer.key == screen {
        return TilePaint(
          layer: layer, content: .video(Drawn.screen(width: 1920, height: 1080)), name: "\(people[0]) (screen)")
      }
      let number = (0..<count).first { key($0) == layer.key } ?? 0
      let picture =
        number == 4
        ? Drawn.person(number, width: 360, height: 640) : Drawn.person(number, width: 640, height: 360)
      return TilePaint(
        layer: layer, content: cards[number].map { .card($0) } ?? .video(picture), name: people[number % people.count],
        isMuted: number % 3 == 0, isTalking: number == talker, isDimmed: number == dimmed)
    }
    let compositor = Compositor(canvas: canvas)
    try writePNG(compositor.compose(tiles).picture, path: "\(folder)/\(name).png")
  }
}
