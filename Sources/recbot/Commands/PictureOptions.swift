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
  @Option(help: .setting(.layout))
  var layout: String?

  @OptionGroup var layouts: LayoutOptions

  @Option(help: .setting(.size))
  var size: String?

  @Option(help: .setting(.preset))
  var preset: String?

  @Option(help: .setting(.framesPerSecond))
  var fps: String?

  @Option(help: .setting(.codec))
  var codec: String?

  @Option(help: .setting(.videoBitrate))
  var videoBitrate: String?

  @Flag(help: .setting(.loudness))
  var loudness = false

  @Option(help: .setting(.processors))
  var processor: [String] = []

  @Option(help: .setting(.chapters))
  var chapters: String?

  @Option(help: .setting(.avatars))
  var avatars: String?

  @Option(help: .setting(.avatarFolder))
  var avatarFolder: String?

  @Option(help: .setting(.timeline))
  var timeline: String?

  @Option(
    help: ArgumentHelp(
      "At the end also write what the recording is: people, tracks and how well they came in, as NAME.json.",
      valueName: "file"))
  var manifest: String?

  @Option(help: ArgumentHelp("Also write who talks when, as WebVTT: NAME.vtt.", valueName: "file"))
  var talkers: String?

  /// The picture, by these flags and the configuration.
  func plan(_ configuration: Configuration) throws -> PicturePlan { try plan(configuration, shape: configuration) }

  /// The picture; layout, size and pictures a second are by the flags and `shape`.
  private func plan(_ configuration: Configuration, shape: Configuration) throws -> PicturePlan {
    let flag = Setting<String>.layout.about.flag ?? ""
    if let manifest { try OutputPath.check(manifest, endings: [".json"], flag: "--manifest") }
    if let talkers { try OutputPath.check(talkers, endings: [".vtt"], flag: "--talkers") }
    let preset = try configuration.given(.preset, flag: preset) ?? nil
    let codec = try value(.codec, configuration, flag: codec, preset) { $0.codec }
    let finder = LayoutFinder(store: layouts.store(configuration), theme: try layouts.theme(configuration))
    return PicturePlan(
      // The standard layout is found like any other, so that a theme, or a file of its name, counts for it too.
      layout: (shape.text(.layout, flag: layout), layout == nil ? shape[.layout]?.origin ?? flag : flag),
      finder: finder, size: try shape.given(.size, flag: size), usualSize: try shape.value(.size),
      framesPerSecond: try value(.framesPerSecond, shape, flag: fps, preset) { $0.framesPerSecond },
      codec: codec,
      // A preset's rate is one of its codec.
      videoBitrate: try value(.videoBitrate, configuration, flag: videoBitrate, preset) {
        codec == $0.codec ? $0.bitrate : nil
      },
      audioBitrate: try configuration.value(.audioBitrate),
      normalizesLoudness: try loudness || configuration.value(.loudness),
      processors: try configuration.value(.processors, flag: processor.isEmpty ? nil : processor.joined(separator: ";"))
        ?? [],
      chapters: try configuration.value(.chapters, flag: chapters),
      timeline: configuration.text(.timeline, flag: timeline),
      manifest: manifest, talkers: talkers, images: try images(configuration))
  }

  /// What is in force of what a preset says too: what is nearer to the command line counts more, and of two that are said in
  /// one place the value itself.
  private func value<Value>(
    _ setting: Setting<Value>, _ configuration: Configuration, flag: String?, _ preset: RecordingPreset?,
    _ valueOfPreset: (RecordingPreset) -> Value
  ) throws -> Value {
    if flag == nil, let preset, self.preset != nil || configuration[setting] == nil { return valueOfPreset(preset) }
    return try configuration.value(setting, flag: flag)
  }

  /// The settings of a file that is composed: what no flag says is as it was live, by `session` of layout, canvas and pictures
  /// a second.
  func settings(
    _ configuration: Configuration, output: String,
    _ session: (Layout?, CanvasSize?, Int?) -> SessionCore.Settings
  ) throws -> RecordingSettings {
    // What the configuration says of the shape of live recordings is in the log; only flags change it.
    let plan = try plan(configuration, shape: Configuration())
    let found = layout == nil ? nil : try plan.foundLayout()
    var settings = plan.settings(
      output: output,
      session: session(found, plan.size ?? found?.canvas, fps == nil && preset == nil ? nil : plan.framesPerSecond))
    settings.timeline = timeline
    return settings
  }

  /// Where people's images come from.
  private func images(_ configuration: Configuration) throws -> ImageSettings {
    let origin = try configuration.value(.avatars, flag: avatars)
    let folder = configuration.text(.avatarFolder, flag: avatarFolder)
    if origin == .files, folder == nil {
      throw Failure(.usage, "--avatars files needs the folder of the images: --avatar-folder (RECBOT_AVATAR_FOLDER)")
    }
    let client = GuardedWebClient(privateAddresses: try configuration.value(.privateAddresses))
    return ImageSettings(
      avatars: AvatarRules(origin: origin, folder: folder), fetcher: origin == .urls ? WebImageFetcher(client) : nil)
  }
}
