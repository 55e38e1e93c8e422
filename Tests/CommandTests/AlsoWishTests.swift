import Foundation
import JobsAPI
import LayoutFiles
import Layouts
import MediaCore
import Recording
import Session
import Settings
import Testing

@testable import recbot

/// What `--also` says, and what becomes of it.
@Suite struct AlsoWishTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-also-\(UUID())").path

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  private func further(_ also: [String], _ flags: [String] = []) throws -> [FurtherFile] {
    let wishes = also.flatMap { ["--also", $0] }
    let command = try JoinCommand.parse(
      ["room", "--token", "x", "--url", "ws://host", "--output", "\(folder)/talk.webm"] + wishes + flags)
    return try command.plan(Configuration.inspect(path: "/dev/null", environment: [:]).configuration).recording.further
  }

  @Test func aWordIsASizeAndALayout() throws {
    let files = try further(["portrait:\(folder)/a.webm", "landscape:\(folder)/b.webm", "square:\(folder)/c.webm"])
    #expect(files.map { $0.picture?.canvas.description } == ["720x1280", "1280x720", "720x720"])
    #expect(files.map { $0.picture?.layout?.name } == ["portrait", "grid", "grid"])
    #expect(files.map(\.path) == ["a", "b", "c"].map { "\(folder)/\($0).webm" })
    #expect(files.allSatisfy { $0.picture?.interval == 1 && $0.picture?.codec == .vp8 && $0.audioBitrate == 96_000 })
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func optionsSayTheRestAndWhatNobodySaysIsAsInTheRecording() throws {
    let file = "\(folder)/12:30, a.webm"
    let files = try further(
      [
        "layout=speaker-light,size=640x360,fps=10,codec=vp9,bitrate=800k:\(file)",
        "portrait,layout=grid:\(folder)/b.webm",
      ],
      ["--size", "1920x1080", "--codec", "vp8"])
    let picture = try #require(files[0].picture)
    #expect(files[0].path == file && picture.canvas.description == "640x360" && picture.layout?.theme == .light)
    #expect(picture.interval == 3 && picture.codec == .vp9 && picture.bitrate == 800_000)
    #expect(files[1].picture?.canvas.description == "720x1280" && files[1].picture?.layout?.name == "grid")
    let same = try further(["fps=15:\(folder)/c.webm"], ["--size", "1920x1080", "--codec", "vp9"])[0].picture
    #expect(same?.canvas.description == "1920x1080" && same?.layout == nil && same?.codec == .vp9)
    // A layout with a size of its own is written in it.
    #expect(try further(["layout=portrait:\(folder)/d.webm"])[0].picture?.canvas.description == "1080x1920")
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func soundAloneHasABitrateAndNoPicture() throws {
    let files = try further(["audio:\(folder)/a.webm", "audio,bitrate=64k:\(folder)/b.webm"])
    #expect(files.allSatisfy { $0.picture == nil } && files.map(\.audioBitrate) == [96_000, 64_000])
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(arguments: [
    ("phone.webm", "write what and where"), ("", "write what and where"), (":F", "'' is no kind of file"),
    ("portrat:F", "did you mean 'portrait'?"), ("portrait,square:F", "give one of"),
    ("sze=1x1:F", "did you mean 'size'?"),
    ("size=640x361:F", "even numbers"), ("size=640x360,size=320x180:F", "size is given twice"),
    ("fps=20:F", "can have 30, 15, 10, 6, 5, 3, 2, 1"), ("fps=60:F", "can have 30, 15"),
    ("fps=0:F", "not a frame rate"),
    ("codec=h264:F", "'h264'; known: vp8, vp9"), ("bitrate=1:F", "not a bit rate"),
    ("audio,size=640x360:F", "sound alone has no size"), ("layout=gird:F", "did you mean 'grid'?"),
    ("portrait:FOLDER/", "must end in .webm"), ("portrait:FOLDER/a.mp4", "must end in .webm"),
    ("portrait:FOLDER/none/a.webm", "does not exist"), ("portrait:FOLDER/talk.webm", "another output is that file"),
    ("portrait:FOLDER/../NAME/talk.webm", "another output is that file"), ("layout=twilio:x", "write what and where"),
  ])
  func whatCannotBeWrittenIsSaidInALine(also: String, says: String) throws {
    let text = also.replacingOccurrences(of: "FOLDER", with: folder).replacingOccurrences(
      of: "NAME", with: String(folder.split(separator: "/").last ?? "")
    ).replacingOccurrences(of: ":F", with: also.hasSuffix(":F") ? ":\(folder)/f.webm" : ":F")
    let failure = #expect(throws: Failure.self) { try further([text]) }
    #expect(
      failure?.message.contains(says) == true && failure?.message.contains("\n") == false, "\(failure?.message ?? "")")
    #expect(failure?.exitCode == (says == "does not exist" ? .outputNotWritable : .usage))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func aJobsFileSaysTheSameWithoutAName() throws {
    #expect(try AlsoWish.job("portrait") == JobFurtherFile(kind: .portrait))
    #expect(
      try AlsoWish.job("layout=grid,size=640x360,codec=vp9,bitrate=800k")
        == JobFurtherFile(layout: "grid", width: 640, height: 360, bitrate: 800_000, codec: .vp9))
    for (words, says) in [
      ("portrait:a.webm", "named after its recording"), ("fps=15", "pictures a second"), ("portrat", "did you mean"),
      ("audio,codec=vp9", "sound alone has no codec"), ("size=1", "is not a picture size"), ("", "no kind of file"),
    ] {
      let failure = #expect(throws: Failure.self) { try AlsoWish.job(words) }
      #expect(failure?.exitCode == .usage && failure?.message.contains(says) == true, "\(failure?.message ?? "")")
    }
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func nothingIsOverwrittenAndNothingIsWrittenTwice() throws {
    let file = "\(folder)/a.webm"
    #expect(throws: Failure.self) { try further(["audio:\(file)", "square:\(file)"]) }
    #expect(throws: Failure.self) { try further((0..<9).map { "audio:\(folder)/\($0).webm" }) }
    #expect(throws: Failure.self) { try further(["audio:\(file)"], ["--chat-only"]) }
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    let failure = #expect(throws: Failure.self) { try further(["audio:\(file)"]) }
    #expect(failure?.exitCode == .outputExists)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func aFileThatIsNotWholeIsAnIncompleteRecording() {
    var lost = FurtherProgress(path: "phone.webm")
    lost.failure = .output("disk full")
    var progress = RecordingProgress()
    progress.further = [FurtherProgress(path: "a.webm")]
    progress.segments = SegmentProgress(folder: "talk.segments")
    #expect(Failure(progress, beside: "talk.webm") == nil)
    progress.further.append(lost)
    let failure = Failure(progress, beside: "talk.webm")
    #expect(failure?.exitCode == .incomplete && failure?.message == "phone.webm: disk full; talk.webm is whole")
    progress.further = []
    progress.segments?.failure = "no space left"
    #expect(Failure(progress, beside: "talk.webm")?.message == "talk.segments: no space left; talk.webm is whole")
  }
}
