import ArgumentParser

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
    let text = output ?? StillOptions.stem(of: file) + ".storyboard.vtt"
    _ = try StillOptions.checkedImage(of: text, flag: "--output")
    Console.print(try await StillOptions.storyboard(of: file, text: text))
    Console.print(text)
  }
}
