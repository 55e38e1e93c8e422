import ArgumentParser
import MediaCore
import Platform
import Recording

/// The flags for pictures that are drawn from a file when it is finished.
struct StillOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "At the end also make one picture of the file: NAME.png, as `recbot poster` does.", valueName: "file"))
  var poster: String?

  @Option(
    help: ArgumentHelp(
      "At the end also make small pictures for a player's time bar: NAME.vtt, and NAME.png beside it, as `recbot storyboard` does.",
      valueName: "file"))
  var storyboard: String?

  /// Refuses what could not be written later. `isShown`: the file has pictures.
  func check(isShown: Bool) throws {
    guard poster != nil || storyboard != nil else { return }
    guard isShown else { throw Failure(.usage, "without pictures there is nothing for --poster and --storyboard") }
    if let poster { try OutputPath.check(poster, endings: [".png"], flag: "--poster") }
    guard let storyboard else { return }
    let image = try Self.checkedImage(of: storyboard, flag: "--storyboard")
    if let poster, OutputPath.isSame(poster, image) {
      throw Failure(
        .usage,
        "--storyboard \(storyboard) writes \(image), which --poster names, too; name it \(storyboard.dropLast(4)).storyboard.vtt"
      )
    }
  }

  /// Draws what is wanted of a finished file, and prints the paths. Gives what could not be drawn, with the reason.
  func draw(of recording: String) async -> [String] {
    var faults: [String] = []
    if let poster {
      do {
        try await Self.poster(of: recording, at: nil, image: poster)
        Console.print(poster)
      } catch {
        faults.append("the poster: \(error)")
      }
    }
    if let storyboard {
      do {
        let image = try await Self.storyboard(of: recording, text: storyboard)
        Console.print(image)
        Console.print(storyboard)
      } catch {
        faults.append("the storyboard: \(error)")
      }
    }
    return faults
  }

  /// What a file is called without its ending.
  static func stem(of file: String) -> String {
    file.lowercased().hasSuffix(".webm") ? String(file.dropLast(5)) : file
  }

  /// The image that belongs to a storyboard's WebVTT; refuses names that can't be written.
  static func checkedImage(of text: String, flag: String) throws -> String {
    try OutputPath.check(text, endings: [".vtt"], flag: flag)
    let image = image(of: text)
    try OutputPath.check(image, endings: [".png"], flag: flag)
    return image
  }

  private static func image(of text: String) -> String { text.dropLast(4) + ".png" }

  /// Makes a poster. It keeps a thread busy, and the cooperative ones are few.
  static func poster(of recording: String, at moment: SessionTime?, image: String) async throws {
    try await working { () throws(RecordingError) in try Poster.write(of: recording, at: moment, image: image) }
  }

  /// Makes a storyboard; gives the path of its image.
  static func storyboard(of recording: String, text: String) async throws -> String {
    let image = image(of: text)
    let name = image.split(separator: "/").last.map(String.init) ?? image
    try await working { () throws(RecordingError) in
      try Storyboard.write(of: recording, image: image, text: text, name: name)
    }
    return image
  }

  private static func working(_ body: @escaping @Sendable () throws(RecordingError) -> Void) async throws {
    try await BlockingWork.run {
      do throws(RecordingError) {
        try body()
      } catch {
        throw Failure(error)
      }
    }
  }
}
