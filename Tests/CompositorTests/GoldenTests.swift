import Glibc
import Layouts
import MediaCore
import Testing

@testable import Compositor

/// Small pictures without words, which look the same whatever fonts a machine has, compared with committed ones.
@Suite struct GoldenTests {
  static let folder = "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/") + "/Goldens"

  static let scenes: [(name: String, scene: ScenePaint)] = ThemeName.allCases.flatMap { theme in
    [
      ("grid-\(theme.rawValue)", ScenePaint(theme: theme, tiles: grid())),
      ("pip-\(theme.rawValue)", ScenePaint(theme: theme, tiles: pip())),
      ("figures-\(theme.rawValue)", ScenePaint(theme: theme, tiles: figures())),
    ]
  }

  @Test(arguments: scenes) func picturesAreLikeTheCommittedOnes(name: String, scene: ScenePaint) throws {
    let picture = PictureCompositor(canvas: CanvasSize(width: 320, height: 180)).compose(scene).picture
    let path = "\(Self.folder)/\(name).png"
    if getenv("RECBOT_UPDATE_GOLDENS") != nil {
      try writePNG(picture, path: path)
      return
    }
    let golden = try ImageDecoder().decode(ImageTests.read(path), smallestSide: 180)
    let written = "/tmp/recbot-golden-\(UInt64.random(in: 0 ... .max)).png"
    try writePNG(picture, path: written)
    defer { unlink(written) }
    let drawn = try ImageDecoder().decode(ImageTests.read(written), smallestSide: 180)
    let psnr = try #require(Self.psnr(golden, drawn))
    #expect(psnr > 42, "\(name): \(psnr) dB; the picture is what RECBOT_UPDATE_GOLDENS=1 writes")
  }

  @Test(arguments: scenes) func twoRunsAreIdentical(name: String, scene: ScenePaint) {
    let canvas = CanvasSize(width: 320, height: 180)
    #expect(
      PictureCompositor(canvas: canvas).compose(scene).picture.bytes
        == PictureCompositor(canvas: canvas).compose(scene).picture.bytes
    )
  }

  @Test func twoRunsWithWordsAreIdentical() {
    for seed in UInt64(1)...12 {
      let pictures = (0..<2).map { _ in
        var random = SeededRandom(seed: seed)
        return PictureCompositor(canvas: hd).compose(RandomScene.make(hd, &random)).picture.bytes
      }
      #expect(Set(pictures).count == 1, "seed \(seed)")
    }
  }

  /// Decibels; nil when the sizes differ.
  static func psnr(_ a: Drawing, _ b: Drawing) -> Double? {
    guard a.width == b.width, a.height == b.height, let first = a.pixels, let second = b.pixels else { return nil }
    var sum = 0
    for row in 0..<a.height {
      for column in 0..<4 * a.width where column % 4 < 3 {
        let difference = Int(first[row * a.stride + column]) - Int(second[row * b.stride + column])
        sum += difference * difference
      }
    }
    return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(3 * a.width * a.height) / Double(sum))
  }

  private static func paint(_ index: Int, _ rect: PixelRect, card: Bool = false, radius: Int = 8) -> TilePaint {
    let picture = Picture(width: 160, height: 90)
    for y in 0..<90 {
      for x in 0..<160 {
        picture.y[y * picture.strideY + x] = UInt8(clamping: 40 + x + (y * (index + 1)) % 60)
        if x % 2 == 0, y % 2 == 0 {
          picture.u[y / 2 * picture.strideUV + x / 2] = UInt8(clamping: 90 + 20 * index)
          picture.v[y / 2 * picture.strideUV + x / 2] = UInt8(clamping: 170 - 20 * index)
        }
      }
    }
    // Without letters in name and identity there are no initials: a figure stands on the disc.
    let key = TileKey.camera(ParticipantIdentity(String(repeating: "·", count: index + 1)))
    return TilePaint(
      layer: VideoLayer(key: key, rect: rect, cornerRadius: radius, look: TileLook(name: .none)),
      content: card ? .card(.audioOnly) : .video(picture))
  }

  private static func grid() -> [TilePaint] {
    var tiles = (0..<4).map {
      paint($0, PixelRect(x: 4 + $0 % 2 * 158, y: 4 + $0 / 2 * 88, width: 154, height: 84), card: $0 == 2)
    }
    tiles[0].isTalking = true
    tiles[1].isPinned = true
    tiles[1].isLowBandwidth = true
    tiles[2].isMuted = true
    tiles[3].layer.fit = .contain
    return tiles
  }

  private static func pip() -> [TilePaint] {
    var tiles = [paint(0, PixelRect(x: 0, y: 0, width: 320, height: 180), radius: 0)]
    for index in 1...3 {
      var tile = paint(index, PixelRect(x: 40 + index * 50, y: 20 + index * 26, width: 110, height: 62), radius: 24)
      tile.layer.z = index == 2 ? 3 : 1
      tile.layer.border = index == 3 ? nil : Border(width: 4, color: index == 1 ? .white : nil)
      tile.layer.look.opacity = index == 3 ? 150 : 255
      tiles.append(tile)
    }
    return tiles
  }

  private static func figures() -> [TilePaint] {
    (0..<3).map { index in
      var tile = paint(index, PixelRect(x: 4 + index * 106, y: 20, width: 100, height: 140), card: true)
      tile.layer.look.levelRing = true
      tile.level = index * 500
      return tile
    }
  }
}
