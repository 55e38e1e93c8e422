import Foundation
import Testing

@testable import recbot

/// The names of posters and storyboards, before anything is recorded.
@Suite struct StillOptionsTests {
  private func problem(_ words: [String], isShown: Bool = true) throws -> String? {
    let options = try StillOptions.parse(words)
    do {
      try options.check(isShown: isShown)
      return nil
    } catch {
      return (error as? Failure)?.message
    }
  }

  @Test func whatCannotBeWrittenLaterIsRefusedBefore() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-stills-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appending(path: name).path }
    #expect(try problem([]) == nil && problem([], isShown: false) == nil)
    #expect(try problem(["--poster", path("a.png"), "--storyboard", path("a.storyboard.vtt")]) == nil)
    #expect(try problem(["--poster", path("a.jpg")])?.contains("must end in .png") == true)
    #expect(try problem(["--storyboard", path("a.srt")])?.contains("must end in .vtt") == true)
    #expect(
      try problem(["--poster", path("a.png"), "--storyboard", path("a.vtt")])?.hasSuffix(
        "which --poster names, too; name it \(path("a.storyboard.vtt"))") == true)
    #expect(try problem(["--poster", path("a.png")], isShown: false)?.contains("without pictures") == true)
    try Data().write(to: folder.appending(path: "b.png"))
    #expect(try problem(["--storyboard", path("b.vtt")])?.contains("b.png exists already") == true)
    #expect(try problem(["--poster", path("b.png")])?.contains("exists already") == true)
  }
}
