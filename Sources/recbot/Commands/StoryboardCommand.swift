import ArgumentParser
import Platform
import Recording

/// `recbot storyboard`: small pictures of a whole recording, for players.
struct StoryboardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "storyboard", abstract: "Makes small pictures of a WebM file for a player's time bar.",
    discussion: """
      Writes one PNG with up to a hundred small pictures, and a WebVTT that says which part of it belongs to which time \
      (NAME.png#xywh=…), as players of the web take it. Of files of more than two minutes only keyframes are decoded.

        recbot storyboard talk.webm
        recbot storyboard talk.webm --output small/talk.vtt
      """)

  @Argument(help: "The file.")
  var file: String

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The WebVTT: NAME.vtt; the picture is NAME.png beside it (default: FILE with .storyboard.vtt in place of .webm).",
      valueName: "file"))
  var output: String?

  func run() async throws {
    let name = file.lowercased().hasSuffix(".webm") ? String(file.dropLast(5)) : file
    let text = output ?? name + ".storyboard.vtt"
    let image = String(text.dropLast(4)) + ".png"
    try OutputPath.check(text, endings: [".vtt"], flag: "--output")
    try OutputPath.check(image, endings: [".png"], flag: "--output")
    let (file, imageName) = (file, image.split(separator: "/").last.map(String.init) ?? image)
    // It keeps a thread busy, and the cooperative ones are few.
    try await BlockingWork.run {
      do throws(RecordingError) {
        try Storyboard.write(of: file, image: image, text: text, name: imageName)
      } catch {
        throw Failure(error)
      }
    }
    Console.print(image)
    Console.print(text)
  }
}
