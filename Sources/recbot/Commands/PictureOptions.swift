import ArgumentParser
import JobsAPI
import Layouts
import MediaCore
import Recording
import Session
import Settings
import WebClient

/// The flags that shape the picture and what is written beside it; shared by what records and by `compose`.
struct PictureOptions: ParsableArguments {
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

  @Option(
    help: ArgumentHelp("People's own images on their cards: off, files or urls (default: off).", valueName: "from"))
  var avatars: String?

  @Option(help: ArgumentHelp("Folder of such images; no file outside of it is read.", valueName: "folder"))
  var avatarFolder: String?

  @Option(help: ArgumentHelp("Also write what happens when: a JSON object a line.", valueName: "file"))
  var timeline: String?

  @Option(
    help: ArgumentHelp(
      "At the end also write what the recording is: people, tracks and how well they came in, as NAME.json.",
      valueName: "file"))
  var manifest: String?

  @Option(help: ArgumentHelp("Also write who talks when, as WebVTT: NAME.vtt.", valueName: "file"))
  var talkers: String?

  /// The settings of a recording into `output`, by these flags and the configuration.
  func settings(
    _ configuration: Configuration, output: String
  ) throws -> RecordingSettings {
    let given = try canvas(configuration)
    let find = try finder(configuration, canvas: given)
    // The standard layout is found like any other, so that a theme, or a file of its name, counts for it too.
    let asked = layout ?? (configuration[.layout] == nil ? "grid" : nil)
    let layout = try configuration.value(flag: asked, "--layout", .layout, default: .grid, parse: find)
    let canvas = given ?? layout.canvas ?? CanvasSize(width: 1280, height: 720)
    let fps = try framesPerSecond(configuration)
    return try settings(
      configuration, output: output,
      session: SessionCore.Settings(canvas: canvas, layout: layout, framesPerSecond: fps ?? 30))
  }

  /// The settings of a file that is composed: what no flag says is as it was live, by `session` of layout, canvas and pictures
  /// a second.
  func settings(
    _ configuration: Configuration, output: String,
    _ session: (Layout?, CanvasSize?, Int?) -> SessionCore.Settings
  ) throws -> RecordingSettings {
    // What the configuration says of live recordings is in the log; only flags change it.
    let flags = Configuration()
    let given = try canvas(flags)
    let layout = try flags.value(
      flag: layout, "--layout", .layout, parse: try finder(configuration, canvas: given))
    var settings = try settings(
      configuration, output: output, session: session(layout, given ?? layout?.canvas, try framesPerSecond(flags)))
    settings.timeline = timeline
    return settings
  }

  private func settings(
    _ configuration: Configuration, output: String, session: SessionCore.Settings
  ) throws -> RecordingSettings {
    let codec = try configuration.value(flag: codec, "--codec", .codec, default: .vp8, parse: Values.codec)
    let video = try configuration.value(
      flag: videoBitrate, "--video-bitrate", .videoBitrate, parse: Values.bitrate)
    let audio = try configuration.value(.audioBitrate, default: 96_000, parse: Values.bitrate)
    var settings = RecordingSettings(
      session: session, output: output, codec: codec, videoBitrate: video, audioBitrate: audio,
      timeline: configuration.text(flag: timeline, .timeline))
    settings.images = try images(configuration)
    if let manifest { try OutputPath.check(manifest, endings: [".json"], flag: "--manifest") }
    if let talkers { try OutputPath.check(talkers, endings: [".vtt"], flag: "--talkers") }
    (settings.manifest, settings.talkers, settings.program) = (manifest, talkers, "recbot \(Build.version)")
    return settings
  }

  private func canvas(_ configuration: Configuration) throws -> CanvasSize? {
    try configuration.value(flag: size, "--size", .size, parse: Values.size)
  }

  private func framesPerSecond(_ configuration: Configuration) throws -> Int? {
    try configuration.value(flag: fps, "--fps", .framesPerSecond, parse: Values.framesPerSecond)
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
    let addresses = try configuration.value(.privateAddresses, default: .refuse) {
      text throws(ValueError) in try Values.word(text, "rule for private addresses", of: PrivateAddresses.self)
    }
    let client = WebClient(privateAddresses: addresses)
    return ImageSettings(
      avatars: AvatarRules(origin: origin, folder: folder), fetcher: origin == .urls ? WebImageFetcher(client) : nil)
  }

  /// Finds a layout for a picture of the size that is asked for.
  func finder(_ configuration: Configuration) throws -> @Sendable (String) throws(ValueError) -> Layout {
    try finder(configuration, canvas: try canvas(configuration))
  }

  /// Finds a layout, by the flags' folder and theme, for a picture of this size.
  func finder(
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
}
