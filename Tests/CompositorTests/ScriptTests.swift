import Layouts
import MediaCore
import Testing

@testable import Compositor

/// Names in any script. What a machine has no font for is said and left out.
@Suite struct ScriptTests {
  static let names: [(script: String, name: String)] = [
    ("Latin", "Ångström Žižek"), ("Greek", "Ελένη Παπαδοπούλου"), ("Cyrillic", "Олександр"), ("Arabic", "ليلى حسن"),
    ("Hebrew", "נועה בר־לב"), ("Devanagari", "प्रिया रघुनाथन"), ("Bengali", "অনন্যা"), ("Tamil", "மீனாட்சி"),
    ("Thai", "สมชาย ใจดี"), ("Georgian", "ნინო"), ("Armenian", "Անահիտ"), ("Han", "王小明"), ("Kana", "さくら"),
    ("Hangul", "김민수"), ("emoji", "🎉🚀"),
  ]

  private static func hasFont(for name: String) -> Bool {
    let line = TextRenderer(families: Theme.dark.fontFamilies)?.line(
      name, fontSize: 16, weight: .medium, maximumWidth: nil)
    return line?.isComplete ?? false
  }

  @Test(arguments: names) func namesAreDrawnWithTheirOwnLetters(script: String, name: String) throws {
    guard Self.hasFont(for: name) else {
      print("no font for \(script) on this machine (the page on names and faces has the packages): not tested")
      return
    }
    let renderer = StampRenderer(theme: .dark)
    let key = StampKey.label(name, fallback: "guest-42", icon: nil, fontSize: 16, maximumWidth: 600)
    let other = StampKey.label("guest-42", fallback: "", icon: nil, fontSize: 16, maximumWidth: 600)
    let picture = Picture.plain(Sample(126, 128, 128), width: 640, height: 64)
    let stamp = try #require(renderer.draw(key))
    stamp.blend(into: picture, x: 0, y: 0, clip: PixelRect(x: 0, y: 0, width: 640, height: 64))
    let range = picture.lumaRange(PixelRect(x: 4, y: 4, width: stamp.width - 8, height: stamp.height - 8))
    #expect(range.upperBound - range.lowerBound > 100)
    let fallback = Picture.plain(Sample(126, 128, 128), width: 640, height: 64)
    try #require(renderer.draw(other)).blend(
      into: fallback, x: 0, y: 0, clip: PixelRect(x: 0, y: 0, width: 640, height: 64))
    #expect(picture.bytes != fallback.bytes)
  }

  @Test func emojiAreInColour() throws {
    guard Self.hasFont(for: "🔴") else {
      print("no font for emoji on this machine (the page on names and faces has the packages): not tested")
      return
    }
    let stamp = try #require(
      StampRenderer(theme: .dark).draw(.name("🔴", fallback: "", icon: nil, fontSize: 32, maximumWidth: 200)))
    let picture = Picture.plain(Sample(16, 128, 128), width: 64, height: 64)
    stamp.blend(into: picture, x: 0, y: 0, clip: PixelRect(x: 0, y: 0, width: 64, height: 64))
    #expect((0..<stamp.width / 2).contains { picture.sample(2 * $0, stamp.height / 2).v > 180 })
  }

  @Test func rightToLeftNamesAreShapedAndOrdered() throws {
    guard Self.hasFont(for: "ليلى") else {
      print("no font for Arabic on this machine (the page on names and faces has the packages): not tested")
      return
    }
    let text = try #require(TextRenderer(families: Theme.dark.fontFamilies))
    func width(_ words: String) -> Int {
      text.line(words, fontSize: 40, weight: .medium, maximumWidth: nil)?.width ?? 0
    }
    // Joined letters are narrower than the same letters alone.
    #expect(width("ليلى") < width("ل ي ل ى") - width("   "))
  }

  @Test func aLongRightToLeftNameKeepsItsBeginning() throws {
    guard Self.hasFont(for: "ליל") else {
      print("no font for Hebrew on this machine (the page on names and faces has the packages): not tested")
      return
    }
    let renderer = StampRenderer(theme: .dark)
    let name = "אבגדהוזחטיכלמנסעפצקרשת אבגדהוזחטיכלמנסעפצקרשת"
    let stamp = try #require(
      renderer.draw(.name(name, fallback: "", icon: nil, fontSize: 20, maximumWidth: 160)))
    #expect((120...160).contains(stamp.width))
  }

  @Test func whatNoFontHasIsLeftOutAndTheIdentityStandsForAWholeName() throws {
    let text = try #require(TextRenderer(families: Theme.dark.fontFamilies))
    // Scripts for which fonts are rare; at least one is missing on every machine that this was tried on.
    let rare = ["\u{1E5D0}", "\u{16D40}", "\u{1D800}", "\u{11F04}", "\u{10D50}", "\u{18B00}", "\u{1B170}", "\u{13000}"]
    let cleaned = rare.filter { !NameText.cleaned($0).isEmpty }
    guard let missing = cleaned.first(where: { !Self.hasFont(for: $0) }) else {
      print("every rare script has a font on this machine: not tested")
      return
    }
    #expect(text.drawable("Ada \(missing)\(missing) Lovelace") == "Ada Lovelace")
    #expect(text.drawable("\(missing)").isEmpty)
    #expect(text.drawable("Ada Lovelace") == "Ada Lovelace")
    let renderer = StampRenderer(theme: .dark)
    func label(_ name: String, _ fallback: String) -> Int? {
      renderer.draw(.label(name, fallback: fallback, icon: nil, fontSize: 16, maximumWidth: 400))?.width
    }
    #expect(label("\(missing)\(missing)", "guest-42") == label("guest-42", ""))
  }
}
