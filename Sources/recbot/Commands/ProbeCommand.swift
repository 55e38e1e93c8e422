import ArgumentParser
import WebM

/// `recbot probe`: what is in a file, by an independent parser.
struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe", abstract: "Shows what is in a WebM file, and whether it was ended cleanly.",
    discussion: "The file is read by libwebm's parser, not by recbot's own writer.")

  @Argument(help: "The file.")
  var file: String

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    do {
      let report = try WebMProbe.probe(file)
      Console.print(json ? report.json : report.text)
    } catch {
      throw Failure(.inputUnusable, error.description)
    }
  }
}
