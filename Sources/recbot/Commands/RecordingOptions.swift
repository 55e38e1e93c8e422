import ArgumentParser
import Layouts
import MediaCore
import Recording
import Session
import Settings
import WebClient

/// The flags that shape a recording; shared by `join` and `demo`.
struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Layout: a name (see recbot layouts list), a file, or twilio:FILE (default: grid).", valueName: "layout"))
  var layout: String?

  @OptionGroup var layouts: LayoutOptions

  @Option(help: ArgumentHelp("Size of the picture (default: 1280x720).", valueName: "WxH"))
  var size: String?

  @Option(help: ArgumentHelp("Pictures a second, 1 to 60 (default: 30).", valueName: "n"))
  var fps: String?

  @Option(help: ArgumentHelp("What the picture is written in: vp8 or vp9 (default: vp8).", valueName: "codec"))
  var codec: String?

  @Option(
    help: ArgumentHelp(
      "Bits a second of the picture, such as 2500k or 4M (default: 2500k; 1500k with vp9).", valueName: "rate"))
  var videoBitrate: String?

  @Option(help: ArgumentHelp("How progress is shown: auto, plain, json or none (default: auto).", valueName: "mode"))
  var progress: String?

  @Option(
    help: ArgumentHelp("People's own images on their cards: off, files or urls (default: off).", valueName: "from"))
  var avatars: String?

  @Option(help: ArgumentHelp("Folder of such images; no file outside of it is read.", valueName: "folder"))
  var avatarFolder: String?

  @Option(help: ArgumentHelp("Name for `recbot control` (default: that of the output file).", valueName: "name"))
  var job: String?

  @Option(help: ArgumentHelp("Also write what happens when: a JSON object a line.", valueName: "file"))
  var timeline: String?

  /// The settings of a recording into `output`.
  func settings(
    _ configuration: Configuration, output: String, title: String, maximumDuration: SessionTime? = nil,
    stopWhenEmpty: SessionTime? = nil
  ) throws -> RecordingSettings {
    let given = try configuration.value(flag: size, "--size", .size, parse: Values.size)
    let find = try finder(configuration, canvas: given)
    // The standard layout is found like any other, so that a theme, or a file of its name, counts for it too.
    let asked = layout ?? (configuration[.layout] == nil ? "grid" : nil)
    let layout = try configuration.value(flag: asked, "--layout", .layout, default: .grid, parse: find)
    let canvas = given ?? layout.canvas ?? CanvasSize(width: 1280, height: 720)
    let fps = try configuration.value(flag: fps, "--fps", .framesPerSecond, default: 30, parse: Values.framesPerSecond)
    let codec = try configuration.value(flag: codec, "--codec", .codec, default: .vp8, parse: Values.codec)
    let video = try configuration.value(
      flag: videoBitrate, "--video-bitrate", .videoBitrate, parse: Values.bitrate)
    let audio = try configuration.value(
      flag: nil, "audio-bitrate", .audioBitrate, default: 96_000, parse: Values.bitrate)
    var session = SessionCore.Settings(canvas: canvas, layout: layout, framesPerSecond: fps)
    session.maximumDuration = maximumDuration
    session.stopWhenEmpty = stopWhenEmpty
    session.talker = try configuration.talker()
    session.title = title
    var settings = RecordingSettings(
      session: session, output: output, codec: codec, videoBitrate: video, audioBitrate: audio,
      timeline: configuration.text(flag: timeline, .timeline))
    settings.images = try images(configuration)
    return settings
  }

  /// Where people's images come from.
  private func images(_ configuration: Configuration) throws -> ImageSettings {
    let origin = try configuration.value(flag: avatars, "--avatars", .avatars, default: .off) {
      text throws(ValueError) in try Values.word(text, "source of avatars", of: AvatarRules.Origin.self)
    }
    let folder = configuration.text(flag: avatarFolder, .avatarFolder)
    if origin == .files, folder == nil {
      throw Failure(.usage, "--avatars files needs the folder of the images: --avatar-folder (RECBOT_AVATAR_FOLDER)")
    }
    let addresses = try configuration.value(flag: nil, "", .privateAddresses, default: .refuse) {
      text throws(ValueError) in try Values.word(text, "rule for private addresses", of: PrivateAddresses.self)
    }
    let client = WebClient(privateAddresses: addresses)
    return ImageSettings(
      avatars: AvatarRules(origin: origin, folder: folder), fetcher: origin == .urls ? WebImageFetcher(client) : nil)
  }

  /// How the job can be commanded while it runs.
  func commands(
    _ configuration: Configuration, output: String, canvas: CanvasSize
  ) throws -> JobCommands {
    let policy = try configuration.value(flag: nil, "", .pausePolicy, default: .cut) { text throws(ValueError) in
      try Values.word(text, "pause policy", of: PausePolicy.self)
    }
    var commands = JobCommands(address: nil, pausePolicy: policy, layouts: try finder(configuration, canvas: canvas))
    guard try configuration.value(flag: nil, "", .control, default: true, parse: Values.boolean) else {
      return commands
    }
    let name = try configuration.value(flag: job, "--job", .job) { text throws(ValueError) in
      guard RunDirectory.isName(text) else {
        throw ValueError("'\(text)' is no job's name: letters, digits, dot, dash and underscore, at most 64")
      }
      return text
    }
    commands.address = JobAddress(
      job: name ?? RunDirectory.name(from: output), isChosen: name != nil,
      directory: RunDirectory(named: configuration[.runDirectory]?.text, environment: Environment.all))
    return commands
  }

  /// Finds a layout for a picture of the size that is asked for.
  func finder(_ configuration: Configuration) throws -> @Sendable (String) throws(ValueError) -> Layout {
    try finder(
      configuration, canvas: try configuration.value(flag: size, "--size", .size, parse: Values.size))
  }

  /// Finds a layout, by the flags' folder and theme, for a picture of this size.
  private func finder(
    _ configuration: Configuration, canvas: CanvasSize?
  ) throws -> @Sendable (String) throws(ValueError) -> Layout {
    let store = layouts.store(configuration)
    let theme = try layouts.theme(configuration)
    return { text throws(ValueError) in
      do throws(LayoutError) {
        return try store.layout(text, theme: theme, canvas: canvas)
      } catch {
        throw ValueError(error.description)
      }
    }
  }

  /// How progress is told.
  func progressMode(_ configuration: Configuration) throws -> ProgressMode {
    try configuration.value(flag: progress, "--progress", .progress, default: .auto) { text throws(ValueError) in
      guard let mode = ProgressMode(rawValue: text) else {
        throw ValueError("there is no progress mode '\(text)'; known: auto, plain, json, none")
      }
      return mode
    }
  }
}
