import ArgumentParser
import WebM

/// `recbot probe`: what is in a file, by an independent parser.
struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe", abstract: "Shows what is in a WebM file, and whether it was ended cleanly.",
    discussion: """
      The file is read by libwebm's parser, not by recbot's own writer. With --quality: how well each track came in, the \
      worst first, as the recording's manifest tells it (--manifest of `recbot join`, NAME.json beside NAME.webm).

        recbot probe talk.webm
        recbot probe talk.webm --quality
      """)

  @Argument(help: "The file.")
  var file: String

  @Flag(help: "Print JSON.")
  var json = false

  @Flag(help: "Print how well people and tracks came in, from the manifest.")
  var quality = false

  @Option(
    help: ArgumentHelp("With --quality: the manifest (default: FILE with .json in place of .webm).", valueName: "file"))
  var manifest: String?

  func validate() throws {
    if manifest != nil, !quality { throw ValidationError("--manifest is for --quality") }
    if quality, json { throw ValidationError("--quality is for people; programs read the manifest, which is JSON") }
  }

  func run() throws {
    if quality {
      let path = manifest ?? Self.manifest(beside: file)
      for line in QualityText.lines(try QualityText.read(path)) { Console.print(line) }
      return
    }
    do {
      let report = try WebMProbe.probe(file)
      Console.print(json ? report.json : report.text)
    } catch {
      throw Failure(.inputUnusable, error.description)
    }
  }

  /// `talk.json` of `talk.webm`.
  static func manifest(beside file: String) -> String {
    (file.lowercased().hasSuffix(".webm") ? String(file.dropLast(5)) : file) + ".json"
  }
}
