import Codecs
import Compositor
import Foundation
import LayoutFiles
import Layouts
import MediaCore
import Testing
import WebM

/// `recbot layouts`, as it is called from a shell.
@Suite struct PreviewTests {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  static let pictures = root.appendingPathComponent("Sources/recbot/Documentation.docc/Resources")

  /// The size of the pictures in the documentation.
  static func size(_ name: String) -> String { name == "portrait" ? "360x640" : "640x360" }

  /// Their flags.
  static func flags(_ name: String, _ theme: String) -> [String] {
    let size = size(name)
    let common = ["--size", size, "--theme", theme, "--participants", "6", "--talker", "2", "--muted", "3"]
    return ["presentation", "side-by-side"].contains(name) ? common + ["--screen-share"] : common
  }

  @Test(arguments: LayoutStore.builtInNames)
  func picturesAreLikeThoseInTheDocumentation(name: String) throws {
    let committed = Self.pictures.appendingPathComponent("layout-\(name).png")
    let folder = try TemporaryFolder()
    let drawn = folder.file("\(name).png")
    let again = folder.file("again.png")
    for path in [drawn, again] {
      let run = try Recbot.run(
        ["layouts", "preview", name, "--layouts-dir", "/nonexistent", "-o", path] + Self.flags(name, "dark"))
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.output == path + "\n")
    }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: drawn))
    // Twice the same, to the byte.
    let second = try Data(contentsOf: URL(fileURLWithPath: again))
    #expect(bytes == second)
    if ProcessInfo.processInfo.environment["RECBOT_UPDATE_GOLDENS"] != nil {
      try FileManager.default.createDirectory(at: Self.pictures, withIntermediateDirectories: true)
      try bytes.write(to: committed)
    }
    let decibels = try #require(try psnr(committed.path, drawn))
    // Letters differ with the fonts of a machine; a tile in another place costs much more.
    #expect(decibels > 30, "\(name): \(decibels) dB; the picture is what RECBOT_UPDATE_GOLDENS=1 writes")
  }

  /// The light ones are JPEG files, made by the command on the page. Here one is the background of a layout that shows
  /// nothing else.
  @Test(arguments: LayoutStore.builtInNames)
  func lightPicturesAreLikeThoseInTheDocumentation(name: String) throws {
    let folder = try TemporaryFolder()
    let committed = Self.pictures.appendingPathComponent("layout-\(name)-light.jpg").path
    let frame = folder.file("frame.yaml")
    try """
    background: {image: "\(committed)"}
    scenes: [{regions: [{show: everyone, max-tiles: 1, overflow: none, opacity: 0%}]}]
    """.write(toFile: frame, atomically: true, encoding: .utf8)
    let (drawn, shown) = (folder.file("drawn.png"), folder.file("shown.png"))
    for arguments in [
      [name, "--layouts-dir", "/nonexistent", "-o", drawn] + Self.flags(name, "light"),
      [frame, "--size", Self.size(name), "-o", shown],
    ] {
      let run = try Recbot.run(["layouts", "preview"] + arguments)
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    }
    let decibels = try #require(try psnr(shown, drawn))
    #expect(decibels > 28, "\(name): \(decibels) dB; the picture is what the command in Layouts.md makes")
  }

  @Test func thePicturesOfTheDocumentationAreSmall() throws {
    let sizes = try FileManager.default.contentsOfDirectory(atPath: Self.pictures.path).map {
      try Data(contentsOf: Self.pictures.appendingPathComponent($0)).count
    }
    #expect(sizes.reduce(0, +) < 1_500_000)
  }

  @Test func everyFlagOfAPreviewHasItsEffect() throws {
    let folder = try TemporaryFolder()
    func picture(_ flags: [String]) throws -> Data {
      let path = folder.file("p.png")
      let run = try Recbot.run(["layouts", "preview", "grid", "--size", "640x360", "-o", path] + flags)
      #expect(run.status == 0, "\(flags): \(run.errors)")
      return try Data(contentsOf: URL(fileURLWithPath: path))
    }
    var seen: [Data: [String]] = [try picture([]): []]
    for flags in [
      ["--participants", "7"], ["--participants", "0"], ["--screen-share"], ["--muted", "2"], ["--camera-off", "2,3"],
      ["--upright", "1"], ["--talker", "3"], ["--talker", "0"], ["--theme", "light"], ["--pinned", "2"],
      ["--spotlight", "2", "--screen-share"], ["--participants", "40"],
    ] {
      let bytes = try picture(flags)
      #expect(seen[bytes] == nil, "\(flags) looks like \(seen[bytes] ?? [])")
      seen[bytes] = flags
    }
  }

  @Test func anAnimatedPreviewIsAFileOfTheConversation() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("talk.webm")
    let run = try Recbot.run([
      "layouts", "preview", "speaker", "--animate", "--participants", "3", "--size", "320x180", "-o", path,
    ])
    #expect(run.status == 0, "\(run.errors)")
    let report = try WebMProbe.probe(path)
    #expect(report.endedCleanly && report.problems.isEmpty, "\(report.text)")
    let seconds = report.duration.components.seconds
    #expect((11...13).contains(seconds))
    let second = try Recbot.run(["layouts", "preview", "speaker", "--animate", "-o", path])
    #expect(second.status == 40)
  }

  /// What Twilio's compositions knew (when everybody would leave) a recording doesn't: two people come, then a screen
  /// for a while, so a table without limits has two columns from the beginning, or only while they are needed.
  @Test func anExactPreviewHasTheCellsOfTheWholeConversation() throws {
    let folder = try TemporaryFolder()
    let json = folder.file("t.json")
    try #"{"all": {"video_sources": ["*"]}}"#.write(toFile: json, atomically: true, encoding: .utf8)
    var first: [Bool: Int] = [:]
    for isExact in [false, true] {
      let path = folder.file("\(isExact).webm")
      let run = try Recbot.run(
        ["layouts", "preview", "twilio:\(json)", "--animate", "--participants", "1", "--size", "320x180", "-o", path]
          + (isExact ? ["--exact"] : []))
      #expect(run.status == 0, "\(run.errors)")
      // Half a second after the beginning there is one person: beside an empty cell only in the exact one.
      let picture = try #require(try Self.picture(of: path, at: .zero + .milliseconds(1500)))
      first[isExact] = Int(picture.y[90 * picture.strideY + 240])
    }
    #expect(try #require(first[true]) <= 20, "the right half is black: \(first)")
    #expect(try #require(first[false]) > 30, "the right half has the person's picture: \(first)")
    let wrong = try Recbot.run(["layouts", "preview", "grid", "--animate", "--exact", "-o", folder.file("x.webm")])
    #expect(wrong.status == 64 && wrong.errors.contains("--exact: only with --animate and a layout twilio:FILE"))
  }

  /// The picture that is on show at an instant.
  private static func picture(of path: String, at instant: SessionTime) throws -> Picture? {
    let decoder = VP8Decoder()
    var pool = PicturePool()
    var shown: Picture?
    _ = try WebMReader.forEachFrame(path: path) { frame in
      guard frame.track == 1, frame.time <= instant else { return }
      if let picture = try? decoder.decode(frame.bytes, into: &pool) { shown = picture }
    }
    return shown
  }

  @Test(arguments: [
    (["--muted", "9"], "--muted: there is no person 9; --participants is 5"),
    (["--talker", "6"], "--talker: there is no person 6"),
    (["--spotlight", "0"], "--spotlight: there is no person 0"),
    (["--pinned", "x"], "--pinned: 'x' is not the number of a person"),
    (["--animate", "--muted", "2"], "--muted: not with --animate"),
    (["--exact"], "--exact: only with --animate"),
  ])
  func flagsThatCannotBeMetAreRefused(flags: [String], message: String) throws {
    let folder = try TemporaryFolder()
    let run = try Recbot.run(["layouts", "preview", "grid", "-o", folder.file("p.png")] + flags)
    #expect(run.status == 64)
    #expect(run.errors.contains(message), "\(run.errors)")
  }

  @Test func aPictureThatCannotBeWrittenSaysWhy() throws {
    let run = try Recbot.run(["layouts", "preview", "grid", "-o", "/nonexistent/p.png"])
    #expect(run.status == 41)
    #expect(run.errors.contains("/nonexistent/p.png: No such file or directory"), "\(run.errors)")
  }

  // MARK: The other commands

  @Test func anImageThatIsNotThereIsAMistakeOfTheLayout() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("mine.yaml")
    try "background: {image: wall.png}\nscenes: [{regions: [{show: everyone}]}]\n".write(
      toFile: path, atomically: true, encoding: .utf8)
    let check = try Recbot.run(["layouts", "validate", path])
    #expect(check.status == 64)
    #expect(check.errors.contains("\(path): the image \(folder.path)/wall.png: cannot be read"), "\(check.errors)")
    try #require(try Recbot.run(["layouts", "preview", "grid", "-o", folder.file("wall.png")]).status == 0)
    #expect(try Recbot.run(["layouts", "validate", path]).status == 0)
  }

  @Test func theListNamesEveryLayout() throws {
    let run = try Recbot.run(["layouts", "list", "--layouts-dir", "/nonexistent"])
    #expect(run.status == 0)
    let names = run.output.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(names == LayoutStore.builtInNames)
  }

  @Test func whatIsShownCanBeUsed() throws {
    let folder = try TemporaryFolder()
    for flags in [[], ["--canonical"]] {
      let run = try Recbot.run(["layouts", "show", "speaker", "--layouts-dir", "/nonexistent"] + flags)
      #expect(run.status == 0)
      let path = folder.file("speaker.yaml")
      try run.output.write(toFile: path, atomically: true, encoding: .utf8)
      let check = try Recbot.run(["layouts", "validate", path, "--size", "1280x720"])
      #expect(check.status == 0, "\(check.errors)")
      #expect(check.output.contains("good; scenes: 7"))
    }
  }

  @Test func mistakesAreToldWithTheirPlace() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("mine.yaml")
    try "scenes:\n  - regions:\n      - {shw: everyone}\n".write(toFile: path, atomically: true, encoding: .utf8)
    let message = "\(path):3:10: a region: there is no 'shw'; did you mean 'show'?"
    let check = try Recbot.run(["layouts", "validate", path, "grid"])
    #expect(check.status == 64)
    #expect(check.errors.contains(message), "\(check.errors)")
    #expect(check.output.contains("grid: good"))
    let preview = try Recbot.run(["layouts", "preview", path, "-o", folder.file("x.png")])
    #expect(preview.status == 64)
    #expect(preview.errors.contains(message))
    let join = try Recbot.run(["join", "room", "--url", "ws://127.0.0.1:9", "--token", "x", "--layout", "gird"])
    #expect(join.status == 64)
    #expect(join.errors.contains("did you mean 'grid'?"), "\(join.errors)")
  }

  @Test func aFileInTheFolderGoesBeforeTheBuiltInLayout() throws {
    let folder = try TemporaryFolder()
    try "summary: Mine.\nscenes: [{regions: [{show: talker}]}]\n".write(
      toFile: folder.file("grid.yaml"), atomically: true, encoding: .utf8)
    let run = try Recbot.run(["layouts", "list", "--layouts-dir", folder.path])
    #expect(run.output.contains("Mine. (\(folder.path)/grid.yaml)"))
  }

  @Test func twiliosLayoutsAreShownInTheLanguage() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("t.json")
    try #"{"grid": {"video_sources": ["*"]}}"#.write(toFile: path, atomically: true, encoding: .utf8)
    let run = try Recbot.run(["layouts", "show", "twilio:\(path)"])
    #expect(run.output.contains("show: [\"source:*\"]"), "\(run.output)")
    let preview = try Recbot.run(["layouts", "preview", "twilio:\(path)", "-o", folder.file("t.png")])
    #expect(preview.status == 0, "\(preview.errors)")
  }

  /// Decibels between two PNG files; nil when their sizes differ.
  private func psnr(_ first: String, _ second: String) throws -> Double? {
    guard let a = try PNGPicture(first), let b = try PNGPicture(second), a.width == b.width, a.height == b.height else {
      return nil
    }
    var sum = 0
    for index in a.samples.indices {
      let difference = Int(a.samples[index]) - Int(b.samples[index])
      sum += difference * difference
    }
    return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(a.samples.count) / Double(sum))
  }
}
