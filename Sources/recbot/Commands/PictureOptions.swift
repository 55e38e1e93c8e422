import ArgumentParser
import Layouts
import MediaCore
import Recording
import Session
import Settings
import WebClient

/// The flags that shape the picture and what is written beside it; shared by what records and by `compose`.
struct PictureOptions: ParsableArguments {
  @Option(help: .setting(.layout))
  var layout: String?

  @OptionGroup var layouts: LayoutOptions

  @Option(help: .setting(.size))
  var size: String?

  @Option(help: .setting(.framesPerSecond))
  var fps: String?

  @Option(help: .setting(.codec))
  var codec: String?

  @Option(help: .setting(.videoBitrate))
  var videoBitrate: String?

  @Option(help: .setting(.avatars))
  var avatars: String?

  @Option(help: .setting(.avatarFolder))
  var avatarFolder: String?

  @Option(help: .setting(.timeline))
  var timeline: String?

  /// The settings of a recording into `output`, by these flags and the configuration.
  func settings(
    _ configuration: Configuration, output: String
  ) throws -> RecordingSettings {
    let given = try canvas(configuration)
    let find = try finder(configuration, canvas: given)
    // The standard layout is found like any other, so that a theme, or a file of its name, counts for it too.
    let asked = layout ?? (configuration[.layout] == nil ? configuration.text(.layout) : nil)
    let layout = try configuration.given(.layout, flag: asked, parse: find) ?? .grid
    let canvas = try given ?? layout.canvas ?? configuration.value(.size)
    let framesPerSecond = try configuration.value(.framesPerSecond, flag: fps)
    return try settings(
      configuration, output: output,
      session: SessionCore.Settings(canvas: canvas, layout: layout, framesPerSecond: framesPerSecond))
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
    let layout = try flags.given(.layout, flag: layout, parse: try finder(configuration, canvas: given))
    let framesPerSecond = try flags.given(.framesPerSecond, flag: fps)
    var settings = try settings(
      configuration, output: output, session: session(layout, given ?? layout?.canvas, framesPerSecond))
    settings.timeline = timeline
    return settings
  }

  private func settings(
    _ configuration: Configuration, output: String, session: SessionCore.Settings
  ) throws -> RecordingSettings {
    let codec = try configuration.value(.codec, flag: codec)
    let video = try configuration.value(.videoBitrate, flag: videoBitrate)
    let audio = try configuration.value(.audioBitrate)
    var settings = RecordingSettings(
      session: session, output: output, codec: codec, videoBitrate: video, audioBitrate: audio,
      timeline: configuration.text(.timeline, flag: timeline))
    settings.images = try images(configuration)
    return settings
  }

  private func canvas(_ configuration: Configuration) throws -> CanvasSize? {
    try configuration.given(.size, flag: size)
  }

  /// Where people's images come from.
  private func images(_ configuration: Configuration) throws -> ImageSettings {
    let origin = try configuration.value(.avatars, flag: avatars)
    let folder = configuration.text(.avatarFolder, flag: avatarFolder)
    if origin == .files, folder == nil {
      throw Failure(.usage, "--avatars files needs the folder of the images: --avatar-folder (RECBOT_AVATAR_FOLDER)")
    }
    let client = WebClient(privateAddresses: try configuration.value(.privateAddresses))
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
