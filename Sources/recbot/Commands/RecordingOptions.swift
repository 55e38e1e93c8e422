import ArgumentParser
import Layouts
import MediaCore
import Recording
import Session
import Settings

/// The flags that shape a recording; shared by `join` and `demo`.
struct RecordingOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Layout: \(LayoutName.names) (default: grid).", valueName: "name"))
  var layout: String?

  @Option(help: ArgumentHelp("Size of the picture (default: 1280x720).", valueName: "WxH"))
  var size: String?

  @Option(help: ArgumentHelp("Pictures a second, 1 to 60 (default: 30).", valueName: "n"))
  var fps: String?

  @Option(help: ArgumentHelp("Bits a second of the picture, such as 2500k or 4M (default: 2500k).", valueName: "rate"))
  var videoBitrate: String?

  @Option(help: ArgumentHelp("How progress is told: auto, plain, json or none (default: auto).", valueName: "mode"))
  var progress: String?

  /// The settings of a recording into `output`.
  func settings(
    _ configuration: Configuration, output: String, title: String, maximumDuration: SessionTime? = nil,
    stopWhenEmpty: SessionTime? = nil
  ) throws -> RecordingSettings {
    let canvas = try configuration.value(
      flag: size, "--size", .size, default: CanvasSize(width: 1280, height: 720), parse: Values.size)
    let layout = try configuration.value(flag: layout, "--layout", .layout, default: .grid, parse: Values.layout)
    let fps = try configuration.value(flag: fps, "--fps", .framesPerSecond, default: 30, parse: Values.framesPerSecond)
    let video = try configuration.value(
      flag: videoBitrate, "--video-bitrate", .videoBitrate, default: 2_500_000, parse: Values.bitrate)
    let audio = try configuration.value(
      flag: nil, "audio-bitrate", .audioBitrate, default: 96_000, parse: Values.bitrate)
    var session = SessionCore.Settings(canvas: canvas, layout: layout, framesPerSecond: fps)
    session.maximumDuration = maximumDuration
    session.stopWhenEmpty = stopWhenEmpty
    return RecordingSettings(
      session: session, output: output, videoBitrate: video, audioBitrate: audio, title: title)
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
