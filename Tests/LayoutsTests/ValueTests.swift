import Layouts
import MediaCore
import Testing

@Suite struct ValueTests {
  @Test func canvasSizesAreReadAsTheyAreWritten() {
    #expect(CanvasSize(text: "1280x720") == hd)
    #expect(hd.description == "1280x720")
    for bad in [
      "", "x", "1280", "1280x", "1281x720", "62x64", "4098x720", "1280x720x2", "+640x360", "99999999999999999999x2",
    ] {
      #expect(CanvasSize(text: bad) == nil, "\(bad)")
    }
  }

  @Test func canvasSizesAreBroughtIntoTheirLimits() {
    #expect(CanvasSize(width: -3, height: Int.max) == CanvasSize(width: 64, height: 4096))
    #expect(CanvasSize(width: 641, height: 361).description == "640x360")
  }

  static let lengths: [(text: String, length: Length, canonical: String)] = [
    ("12", .pixels(12), "12px"), ("12px", .pixels(12), "12px"), ("0", .zero, "0"), ("25%", .percent(25), "25%"),
    ("33.3333%", Length(millionths: 333_333), "33.3333%"), ("1/3", Length(millionths: 333_333), "33.3333%"),
    ("0.6gu", .milliUnits(600), "0.6gu"), ("100% - 1.2gu", .full - .milliUnits(1200), "100% - 1.2gu"),
    ("100%-1.2gu+4px", .full - .milliUnits(1200) + .pixels(4), "100% - 1.2gu + 4px"),
    ("-3gu", .milliUnits(-3000), "-3gu"), ("  50% ", .percent(50), "50%"),
  ]

  @Test(arguments: lengths)
  func lengthsAreReadAndWritten(text: String, length: Length, canonical: String) {
    #expect(Length(text: text) == length)
    #expect("\(length)" == canonical)
    #expect(Length(text: canonical) == length)
  }

  @Test(arguments: [
    "", " ", "px", "%", "12 13", "1.5", "1.5px", "0.00001%", "0.0001gu", "12em", "--3", "3-", "1/0", "1/", "/2",
    "99999999999999999999", "1e3", "٣", "12pxpx", "1+1+1+1+1+1+1+1+1",
  ])
  func whatIsNoLengthIsRefused(text: String) { #expect(Length(text: text) == nil) }

  @Test func lengthsFollowTheCanvas() throws {
    let length = try #require(Length(text: "50% - 1gu"))
    let region = Region(name: "r", x: length, width: length, selector: SourceSelector([.everyone]))
    #expect(region.rect(on: hd) == PixelRect(x: 620, y: 0, width: 620, height: 720))
    #expect(
      region.rect(on: CanvasSize(width: 640, height: 360)) == PixelRect(x: 310, y: 0, width: 310, height: 360))
  }

  @Test func edgesAreEvenAndMarginsAlike() {
    for width in stride(from: 64, through: 2000, by: 2) {
      let canvas = CanvasSize(width: width, height: 720)
      let margin = Length.milliUnits(650)
      let region = Region(name: "r", x: margin, width: .full - margin - margin, selector: SourceSelector([.everyone]))
      guard let rect = region.rect(on: canvas) else {
        Issue.record("no rectangle at \(width)")
        continue
      }
      #expect(rect.x.isMultiple(of: 2) && rect.width.isMultiple(of: 2))
      #expect(rect.x == canvas.width - rect.x - rect.width)
    }
  }

  @Test func neighboursMeetWithoutAGap() {
    for width in stride(from: 64, through: 2000, by: 2) {
      let canvas = CanvasSize(width: width, height: 720)
      let third = Length(millionths: 333_333)
      let first = Region(name: "a", width: third, selector: SourceSelector([.everyone])).rect(on: canvas)
      let second = Region(name: "b", x: third, width: third, selector: SourceSelector([.everyone])).rect(on: canvas)
      #expect(first.map { $0.x + $0.width } == second?.x)
    }
  }

  @Test(arguments: [
    ("*", "", true), ("*", "abc", true), ("a*", "abc", true), ("a*", "ba", false), ("*c", "abc", true),
    ("a*c", "ac", true), ("a*c", "abcb", false), ("*a*b*", "xxaxxbxx", true), ("**", "x", true), ("abc", "abc", true),
    ("abc", "ABC", false), ("a?c", "abc", false), ("*é", "cafe\u{301}", false), ("日*", "日本", true),
  ])
  func globsMatchWholeNames(pattern: String, text: String, matches: Bool) {
    #expect(Glob(pattern)?.matches(text) == matches)
  }

  @Test func manyStarsTakeNoTime() {
    let glob = Glob(String(repeating: "*a", count: 120) + "b")
    #expect(glob?.matches(String(repeating: "a", count: 20_000)) == false)
  }

  @Test func globsHaveALength() {
    #expect(Glob("") == nil)
    #expect(Glob(String(repeating: "x", count: 257)) == nil)
    #expect(Glob("ANN*")?.matches("anna", ignoringCase: true) == true)
  }

  @Test func termsAreReadAsTheyAreWritten() throws {
    for (word, term) in SourceTerm.words {
      #expect(SourceTerm(text: word) == term)
      #expect("\(term)" == word)
    }
    for text in ["person:Ann*", "identity:a*:b", "track:a:b", "source:*"] {
      #expect(SourceTerm(text: text).map { "\($0)" } == text)
    }
    for text in ["", "person:", "identity:", "talkers", "name:x", ":"] { #expect(SourceTerm(text: text) == nil) }
  }

  @Test(arguments: [
    ("%H:%M", 0, 0, "00:00"), ("%F %T", 1_795_225_509, 0, "2026-11-21 01:45:09"),
    ("%F %R", 1_795_225_509, 3600, "2026-11-21 02:45"),
    ("%d.%m.%y %I:%M %p", 1_795_225_509, 43_200, "21.11.26 01:45 PM"),
    ("%e|%Y%%", 951_782_400, 0, "29|2000%"), ("%F", -1, 0, "1969-12-31"),
    ("%F %T", 4_102_444_799, 0, "2099-12-31 23:59:59"),
  ])
  func clocksAreWritten(pattern: String, seconds: Int64, offset: Int, text: String) throws {
    #expect(try #require(ClockFormat(pattern)).text(seconds: seconds, utcOffset: offset) == text)
  }

  @Test func clocksAreTotal() throws {
    for bad in ["", "%", "%q", "%H%", String(repeating: "x", count: 65)] { #expect(ClockFormat(bad) == nil, "\(bad)") }
    let format = try #require(ClockFormat("%F %T %p %e %I %y"))
    for seconds in [Int64.min, .max, -1, 0] { #expect(!format.text(seconds: seconds, utcOffset: .max).isEmpty) }
  }

  @Test func coloursAreReadAsTheyAreWritten() {
    #expect(RGBColor(text: "#1B1d22")?.description == "#1b1d22")
    #expect(RGBColor(text: "white") == .white)
    for bad in ["", "#", "#12345", "#1234567", "123456", "#+12345", "#٣٣٣٣٣٣", "red"] {
      #expect(RGBColor(text: bad) == nil)
    }
  }

  @Test func overlaysAreHeldAtTheirAnchor() {
    let corner = Overlay(.text(.title), anchor: .bottomRight, x: .pixels(10), y: .pixels(20))
    let place = corner.place(width: 100, height: 50, on: hd)
    #expect([place.x, place.y] == [1170, 650])
    let middle = Overlay(.text(.title), anchor: .center, x: .zero, y: .zero)
    let centre = middle.place(width: 101, height: 50, on: hd)
    #expect([centre.x, centre.y] == [588, 334])
    _ = corner.place(width: .max, height: .min, on: hd)
  }
}
