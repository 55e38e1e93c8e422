import JobsAPI
import LayoutFiles
import Layouts
import MediaCore
import Recording
import Session
import Settings

/// The picture of a recording, as flags and settings say, and what a job asks for over them: values, but for the layout, which is
/// only found when the size is certain.
struct PicturePlan {
  /// The layout's name or file, and where it was named.
  var layout: (name: String, place: String)
  /// Finds it.
  let finder: LayoutFinder
  /// The size asked for; nil: the layout's own, else `usualSize`.
  var size: CanvasSize?
  /// The size that counts when nobody asks for one.
  let usualSize: CanvasSize
  /// Pictures a second.
  var framesPerSecond: Int
  /// What the picture is written in.
  var codec: RecordingCodec
  /// Bits a second of the picture; nil: the codec's usual.
  var videoBitrate: Int?
  /// Bits a second of the sound.
  let audioBitrate: Int
  /// Whether each speaker is brought to the same loudness.
  var normalizesLoudness: Bool
  /// What is done to whose pictures and sound.
  let processors: [ProcessorRule]
  /// What begins a chapter.
  var chapters: ChapterDetail
  /// The file for what happens when; nil: none.
  let timeline: String?
  /// The file for what the recording is, at its end; nil: none.
  let manifest: String?
  /// The file for who talks when; nil: none.
  let talkers: String?
  /// Where people's images come from.
  let images: ImageSettings

  /// Takes over what a job asks for. It comes from another process: what no recording can be is refused.
  mutating func take(_ wish: JobPicture) throws {
    guard wish.problems.isEmpty else { throw Failure(.usage, wish.problems.joined(separator: "; ")) }
    if let width = wish.width, let height = wish.height { size = CanvasSize(width: width, height: height) }
    framesPerSecond = wish.framesPerSecond ?? framesPerSecond
    codec = wish.codec ?? codec
    videoBitrate = wish.bitrate ?? videoBitrate
  }

  /// Finds layouts for a picture of the size that is asked for.
  var layouts: @Sendable (String) throws(ValueError) -> Layout { finder.layouts(for: size) }

  /// The layout, or an error that says where it was named.
  func foundLayout() throws -> Layout {
    do throws(ValueError) {
      return try layouts(layout.name)
    } catch {
      throw Failure(.usage, "\(layout.place): \(error)")
    }
  }

  /// The settings of a recording into `output`.
  func settings(output: String) throws -> RecordingSettings {
    let found = try foundLayout()
    let canvas = size ?? found.canvas ?? usualSize
    return settings(
      output: output,
      session: SessionCore.Settings(canvas: canvas, layout: found, framesPerSecond: framesPerSecond))
  }

  /// The settings of a file that shows `session`.
  func settings(output: String, session: SessionCore.Settings) -> RecordingSettings {
    var settings = RecordingSettings(
      session: session, output: output, codec: codec, videoBitrate: videoBitrate, audioBitrate: audioBitrate,
      timeline: timeline)
    settings.images = images
    // What was so already (of a log, live) comes first: of rules that mean the same person the last counts.
    settings.session.processors += processors
    (settings.normalizesLoudness, settings.chapters) = (normalizesLoudness, chapters)
    (settings.manifest, settings.talkers, settings.program) = (manifest, talkers, "recbot \(Build.version)")
    return settings
  }
}

/// Finds layouts by name or file.
struct LayoutFinder: Sendable {
  /// Where they are.
  let store: LayoutStore
  /// The colours asked for; nil: the layout's own.
  let theme: ThemeName?

  /// Finds them for a picture of this size; nil: of their own.
  func layouts(for canvas: CanvasSize?) -> @Sendable (String) throws(ValueError) -> Layout {
    { [self] name throws(ValueError) in
      do throws(LayoutError) {
        return try store.layout(name, theme: theme, canvas: canvas)
      } catch {
        throw ValueError(error.description)
      }
    }
  }
}
