import ArgumentParser
import Compositor
import LayoutFiles
import Layouts
import Settings

/// `recbot layouts`: what layouts there are, and what they look like.
struct LayoutsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "layouts", abstract: "Lists, shows, checks and previews layouts.",
    discussion: """
      A layout is given by name (also with -light or -dark after it), as a file (.yaml or .json), or as twilio:FILE \
      with the video_layout of Twilio's Compositions API.
      """,
    subcommands: [
      LayoutsListCommand.self, LayoutsShowCommand.self, LayoutsValidateCommand.self, LayoutsPreviewCommand.self,
    ])
}

/// Where layouts are found.
struct LayoutOptions: ParsableArguments {
  @Option(help: .setting(.layoutsDir))
  var layoutsDir: String?

  @Option(help: .setting(.theme))
  var theme: String?

  /// The layouts that can be asked for.
  func store(_ configuration: Configuration) -> LayoutStore {
    LayoutStore(folder: configuration.text(.layoutsDir, flag: layoutsDir))
  }

  /// The colours asked for.
  func theme(_ configuration: Configuration) throws -> ThemeName? {
    try configuration.value(.theme, flag: theme)
  }

  /// Reads a layout with the flags' theme, or fails with the exit code for wrong flags and files.
  func layout(_ text: String, _ configuration: Configuration, canvas: CanvasSize?) throws -> Layout {
    do {
      return try store(configuration).layout(text, theme: try theme(configuration), canvas: canvas)
    } catch let error as LayoutError {
      throw Failure(.usage, error.description)
    }
  }
}

/// `recbot layouts list`.
struct LayoutsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the layouts.")

  @OptionGroup var layouts: LayoutOptions
  @OptionGroup var shared: SharedOptions

  func run() throws {
    let configuration = try shared.load()
    let entries = layouts.store(configuration).entries()
    let width = entries.map(\.name.count).max() ?? 0
    for entry in entries {
      let name = entry.name + String(repeating: " ", count: width - entry.name.count)
      Console.print("\(name)  \(entry.summary)\(entry.origin == "built in" ? "" : " (\(entry.origin))")")
    }
  }
}

/// `recbot layouts show`.
struct LayoutsShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Prints a layout's file, to be changed and given with --layout FILE.yaml.",
    discussion: "A layout from Twilio's JSON is printed in recbot's own language.")

  @Argument(help: "Name, file, or twilio:FILE.")
  var layout: String

  @Flag(help: "Print what was understood: every scene and region by itself, without the defaults section.")
  var canonical = false

  @OptionGroup var layouts: LayoutOptions
  @OptionGroup var shared: SharedOptions

  func run() throws {
    let configuration = try shared.load()
    let read = try layouts.layout(layout, configuration, canvas: nil)
    if canonical || layout.hasPrefix("twilio:") {
      Console.printText(read.canonicalText)
      return
    }
    do {
      Console.printText(try layouts.store(configuration).source(of: layout))
    } catch {
      throw Failure(.usage, error.description)
    }
  }
}

/// `recbot layouts validate`.
struct LayoutsValidateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate", abstract: "Checks layouts; says where the first mistake of each is.")

  @Argument(help: "Files, names, or twilio:FILE.")
  var layouts: [String]

  @Option(help: ArgumentHelp("The size they will be used for.", valueName: "WxH"))
  var size: String?

  @OptionGroup var options: LayoutOptions
  @OptionGroup var shared: SharedOptions

  func run() throws {
    let configuration = try shared.load()
    let canvas = try configuration.given(.size, flag: size)
    var failures = 0
    for text in layouts {
      do throws(LayoutError) {
        let layout = try options.store(configuration).layout(text, canvas: canvas)
        let regions = layout.scenes.map(\.regions.count).reduce(0, +)
        if let fault = PreviewPainter.imageFaults(of: layout, canvas: canvas).first {
          throw LayoutError("\(text): the image \(fault)")
        }
        Console.print("\(text): good; scenes: \(layout.scenes.count), regions: \(regions)")
      } catch {
        failures += 1
        Console.error(error.description)
      }
    }
    if failures > 0 { throw Failure(.usage, "\(failures) of \(layouts.count) cannot be used") }
  }
}

/// `recbot layouts preview`.
struct LayoutsPreviewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "preview", abstract: "Paints a layout with made-up people, as a recording would look.",
    discussion: """
        recbot layouts preview speaker --participants 7 --talker 3 -o preview.png
        recbot layouts preview portrait --screen-share --size 1080x1920 -o preview.png
        recbot layouts preview grid --animate -o preview.webm
        recbot layouts preview twilio:composition.json --animate --exact -o preview.webm
      """)

  @Argument(help: "Name, file, or twilio:FILE.")
  var layout: String

  @Option(help: ArgumentHelp("How many people, 0 to 100.", valueName: "n"))
  var participants = 5

  @Flag(help: "The first person shares a screen.")
  var screenShare = false

  @Option(help: ArgumentHelp("Whose microphone is off: numbers from 1, such as 2 or 2,5.", valueName: "list"))
  var muted = ""

  @Option(help: ArgumentHelp("Whose camera is off.", valueName: "list"))
  var cameraOff = ""

  @Option(help: ArgumentHelp("Whose camera is held upright.", valueName: "list"))
  var upright = ""

  @Option(help: ArgumentHelp("Who is pinned.", valueName: "list"))
  var pinned = ""

  @Option(help: ArgumentHelp("Who is in the spotlight.", valueName: "n"))
  var spotlight: Int?

  @Option(help: ArgumentHelp("Who talks; 0: nobody has talked yet (default: 1).", valueName: "n"))
  var talker: Int?

  @Option(help: ArgumentHelp("Size of the picture (default: the layout's, else 1280x720).", valueName: "WxH"))
  var size: String?

  @Flag(help: "Write a WebM of a short conversation instead of a picture; takes layout, participants, size and theme.")
  var animate = false

  @Flag(
    help: """
      With --animate and twilio:FILE: the cells of Twilio's compositions, which knew when everybody would leave. \
      Without it those of a recording, which cannot know.
      """)
  var exact = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The PNG to write, which is replaced; or the WebM, which must not exist.", valueName: "file"))
  var output: String

  @OptionGroup var layouts: LayoutOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let given = try configuration.given(.size, flag: size)
    let layout = try layouts.layout(layout, configuration, canvas: given)
    let canvas = try given ?? layout.canvas ?? configuration.value(.size)
    guard !exact || animate && self.layout.hasPrefix("twilio:") else {
      throw Failure(.usage, "--exact: only with --animate and a layout twilio:FILE")
    }
    if animate {
      if let flag = flagOfStills {
        throw Failure(.usage, "\(flag): not with --animate, which plays a conversation of its own")
      }
      guard (1...12).contains(participants) else { throw Failure(.usage, "--participants: 1 to 12 with --animate") }
      try OutputPath.check(output)
      let conversation = try PreviewConversation(
        layout: layout, canvas: canvas, participants: participants, isExact: exact, output: output,
        logger: try shared.logger("preview", configuration))
      try conversation.run()
      Console.print(output)
      return
    }
    let room = try room()
    guard output.hasSuffix(".png") else { throw Failure(.usage, "output \(output): the name must end in .png") }
    let picture = PreviewPainter(layout: layout, canvas: canvas, room: room).picture { Console.error($0) }
    do {
      // Made-up people: nothing that only the owner may see.
      try writePNG(picture, path: output, mode: 0o644)
    } catch {
      throw Failure(.outputNotWritable, error.description)
    }
    Console.print(output)
  }

  /// A flag that is given and says something of the people of a still picture.
  private var flagOfStills: String? {
    let given: [(String, Bool)] = [
      ("--screen-share", screenShare), ("--muted", !muted.isEmpty), ("--camera-off", !cameraOff.isEmpty),
      ("--upright", !upright.isEmpty), ("--pinned", !pinned.isEmpty), ("--spotlight", spotlight != nil),
      ("--talker", talker != nil),
    ]
    return given.first { $0.1 }?.0
  }

  private func room() throws -> PreviewRoom {
    guard (0...100).contains(participants) else { throw Failure(.usage, "--participants: 0 to 100") }
    var room = PreviewRoom()
    room.participants = participants
    room.muted = Set(try people(muted, "--muted"))
    room.withoutVideo = Set(try people(cameraOff, "--camera-off"))
    room.upright = Set(try people(upright, "--upright"))
    room.pinned = try people(pinned, "--pinned")
    if let spotlight {
      try check(spotlight, "--spotlight")
      room.spotlight = spotlight
    }
    if let talker, talker != 0 { try check(talker, "--talker") }
    room.talker = talker ?? min(1, participants)
    room.presenter = screenShare ? 1 : 0
    return room
  }

  /// Numbers of people, separated by commas.
  private func people(_ text: String, _ flag: String) throws -> [Int] {
    try text.split(separator: ",").map { part in
      guard part.utf8.count <= 3, let number = Int(part) else {
        throw Failure(.usage, "\(flag): '\(part)' is not the number of a person; write for example 2 or 2,5")
      }
      try check(number, flag)
      return number
    }
  }

  private func check(_ person: Int, _ flag: String) throws {
    guard (1...max(1, participants)).contains(person), participants > 0 else {
      throw Failure(.usage, "\(flag): there is no person \(person); --participants is \(participants)")
    }
  }
}
