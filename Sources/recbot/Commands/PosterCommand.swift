import ArgumentParser
import MediaCore
import Platform
import Recording

/// `recbot poster`: one picture of a recording.
struct PosterCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "poster", abstract: "Makes one picture of a WebM file, as PNG.",
    discussion: """
      Without --at it is the picture that says most: the one with most contrast in brightness and colours, so people and a \
      shared screen rather than an empty room.

        recbot poster talk.webm
        recbot poster talk.webm --at 1m30s --output small/talk.png
      """)

  @Argument(help: "The file.")
  var file: String

  @Option(help: ArgumentHelp("The picture that is on show at this time of the file.", valueName: "time"))
  var at: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The PNG (default: FILE with .poster.png in place of .webm).", valueName: "file"))
  var output: String?

  func run() async throws {
    let moment = try at.map { SessionTime.zero + (try SharedOptions.duration($0, "--at")) }
    let image = output ?? StillOptions.stem(of: file) + ".poster.png"
    try OutputPath.check(image, endings: [".png"], flag: "--output")
    try await StillOptions.poster(of: file, at: moment, image: image)
    Console.print(image)
  }
}
