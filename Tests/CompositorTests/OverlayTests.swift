import Layouts
import MediaCore
import Testing

@testable import Compositor

/// Overlays, notices, themes and backgrounds.
@Suite struct OverlayTests {
  private func text(_ words: String, _ kind: OverlayText = .title, anchor: Anchor = .topLeft, plate: Bool = true)
    -> OverlayPaint
  {
    OverlayPaint(Overlay(.text(kind), anchor: anchor, size: .milliUnits(2_000), plate: plate), text: words)
  }

  private func changed(_ a: Picture, _ b: Picture) -> PixelRect? {
    var (left, top, right, bottom) = (Int.max, Int.max, -1, -1)
    for y in 0..<a.height {
      for x in 0..<a.width where a.y[y * a.strideY + x] != b.y[y * b.strideY + x] {
        (left, top, right, bottom) = (min(left, x), min(top, y), max(right, x), max(bottom, y))
      }
    }
    return right < 0 ? nil : PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
  }

  private let plain = PictureCompositor(canvas: hd).compose([tile(.video(.plain(red)), whole, radius: 0)]).picture
  private static let whole = PixelRect(x: 0, y: 0, width: 1280, height: 720)

  private func over(_ overlays: [OverlayPaint]) -> ScenePaint {
    ScenePaint(tiles: [tile(.video(.plain(red)), Self.whole, radius: 0)], overlays: overlays)
  }

  @Test(arguments: Anchor.allCases) func wordsStandWhereTheLayoutAnchorsThem(anchor: Anchor) throws {
    let picture = PictureCompositor(canvas: hd).compose(over([text("Weekly review", anchor: anchor)])).picture
    let rect = try #require(changed(plain, picture))
    #expect((200...500).contains(rect.width) && (30...80).contains(rect.height))
    let left = rect.x
    let right = 1280 - rect.x - rect.width
    let top = rect.y
    let bottom = 720 - rect.y - rect.height
    switch anchor.column {
    case .start: #expect((8...16).contains(left))
    case .end: #expect((8...16).contains(right))
    case .center: #expect(abs(left - right) < 30)
    }
    switch anchor.row {
    case .start: #expect((8...16).contains(top))
    case .end: #expect((8...16).contains(bottom))
    case .center: #expect(abs(top - bottom) < 30)
    }
  }

  @Test func aClockIsADetailAndATitleIsNot() {
    let compositor = PictureCompositor(canvas: hd)
    func change(_ time: String, _ title: String) -> PictureChange {
      let clock = OverlayPaint(Overlay(.text(.elapsed), anchor: .topRight), text: time)
      return compositor.compose(over([clock, text(title)])).change
    }
    #expect(change("00:59", "Weekly review") == .anything)
    #expect(change("00:59", "Weekly review") == .nothing)
    #expect(change("01:00", "Weekly review") == .detail)
    #expect(change("01:00", "Monthly review") == .anything)
    #expect(change("1:00:00", "Monthly review") == .detail)
    #expect(change("1:00:01", "Weekly review") == .anything)
  }

  @Test func aTimeKeepsItsWidthAndIsMadeOfOneStampADigit() {
    let compositor = PictureCompositor(canvas: hd)
    _ = compositor.compose(over([text("11:11", .elapsed)]))
    let rect = compositor.overlays[0].rect
    for second in 0..<60 {
      _ = compositor.compose(over([text(second < 10 ? "12:0\(second)" : "12:\(second)", .elapsed)]))
      #expect(compositor.overlays[0].rect == rect)
    }
    // Ten digits, the colon, the plate.
    #expect(compositor.cache.count == 12)
  }

  @Test func aTimeIsPaintedOverWhatWasThereBefore() {
    let compositor = PictureCompositor(canvas: hd)
    for words in ["00:09", "00:10", "1:00:00", "00:10"] {
      let scene = over([text(words, .elapsed)])
      let isSame = compositor.compose(scene).picture.bytes == PictureCompositor(canvas: hd).compose(scene).picture.bytes
      #expect(isSame, "\(words)")
    }
  }

  @Test func wordsMayLieBelowTheTiles() {
    var scene = over([text("Weekly review", anchor: .center)])
    scene.overlays[0].overlay.isBelowTiles = true
    let isSame = PictureCompositor(canvas: hd).compose(scene).picture.bytes == plain.bytes
    #expect(isSame)
  }

  @Test func longTitlesAreShortenedAndStayOnTheCanvas() throws {
    let words = String(repeating: "Quarterly business review ", count: 30)
    let picture = PictureCompositor(canvas: hd).compose(over([text(words)])).picture
    let rect = try #require(changed(plain, picture))
    #expect(rect.x >= 8 && rect.x + rect.width <= 1280 - 8)
  }

  @Test func opacityAndColourAreTheOverlays() {
    var overlay = text("MMMM", anchor: .center, plate: false)
    overlay.overlay.color = .white
    func brightest(_ opacity: UInt8) -> Int {
      overlay.overlay.opacity = opacity
      let picture = PictureCompositor(canvas: hd).compose(over([overlay])).picture
      return picture.lumaRange(PixelRect(x: 540, y: 330, width: 200, height: 60)).upperBound
    }
    #expect(brightest(255) > 225)
    #expect((110...190).contains(brightest(128)))
    #expect(brightest(0) == red.y)
  }

  @Test func themesDifferEverywhere() {
    let tiles = [tile(.card(.cameraOff), middleRect, name: "Ada")]
    let compositor = PictureCompositor(canvas: hd)
    let dark = compositor.compose(ScenePaint(tiles: tiles)).picture.bytes
    let picture = compositor.compose(ScenePaint(theme: .light, tiles: tiles)).picture
    #expect(picture.sample(10, 10) == Sample(Theme.light.background))
    #expect(picture.sample(400, 300).y > 180)
    let isDark = compositor.compose(ScenePaint(tiles: tiles)).picture.bytes == dark
    #expect(isDark)
  }

  @Test func textIsLegibleInBothThemes() {
    // WCAG 2.1: at least 4.5 to 1 for the text on labels and cards, 3 to 1 for large text.
    func luminance(_ colour: Colour) -> Double {
      func linear(_ value: UInt8) -> Double {
        let v = Double(value) / 255
        // A polynomial near enough to the sRGB curve.
        return v * (v * (v * 0.305306011 + 0.682171111) + 0.012522878)
      }
      return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue)
    }
    func contrast(_ a: Colour, _ b: Colour) -> Double {
      let (x, y) = (luminance(a), luminance(b))
      return (max(x, y) + 0.05) / (min(x, y) + 0.05)
    }
    for theme in [Theme.dark, .light] {
      #expect(contrast(theme.text, theme.label) > 4.5)
      #expect(contrast(theme.secondaryText, theme.background) > 4.5)
      for person in theme.avatars {
        #expect(contrast(theme.secondaryText, theme.tile.mixed(with: person, share: theme.cardTint)) > 4.5)
        #expect(contrast(theme.initials, person) > 3, "\(person)")
      }
    }
  }

  @Test func theBackgroundMayBeAColour() {
    let scene = ScenePaint(background: .color(.black), tiles: [tile(.video(.plain(red)), middleRect, radius: 20)])
    let picture = PictureCompositor(canvas: hd).compose(scene).picture
    #expect(picture.sample(10, 10) == Sample(Colour(0)))
    #expect(picture.sample(320, 180).isNear(Sample(Colour(0))))
  }

  @Test func anEmptyCellIsOnlyItsGround() {
    let layer = VideoLayer(key: .empty(0), rect: middleRect, look: TileLook(ground: .black))
    let paint = TilePaint(layer: layer, content: .card(.cameraOff), name: "Ada", isMuted: true, isTalking: true)
    let picture = PictureCompositor(canvas: hd).compose([paint]).picture
    #expect(picture.lumaRange(middleRect) == 16...16)
  }

  @Test(arguments: [Notice.waiting, .paused, .reconnecting, Notice("Paused", detail: "Weekly review", symbol: .pause)])
  func noticesStandInTheMiddle(notice: Notice) throws {
    let picture = PictureCompositor(canvas: hd).compose([], notice: notice).picture
    let blank = Picture(width: 1280, height: 720)
    blank.fill(y: UInt8(clamping: background.y), u: 0, v: 0)
    let rect = try #require(changed(blank, picture))
    #expect(abs(rect.x - (1280 - rect.x - rect.width)) < 12)
    #expect(abs(rect.y - (720 - rect.y - rect.height)) < 40)
  }

  @Test func theSlateKeepsTheOverlays() throws {
    let scene = ScenePaint(overlays: [text("Weekly review")], notice: .paused)
    let picture = PictureCompositor(canvas: hd).compose(scene).picture
    #expect(picture.lumaRange(PixelRect(x: 12, y: 12, width: 200, height: 60)).upperBound > 200)
  }
}
