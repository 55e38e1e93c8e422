import ArgumentParser
import Layouts
import Logging
import PeerConnection
import Recording
import Rooms
import Session
import Settings

/// The flags that say what is received and shown of a room, and what is written of its chat.
struct ReceptionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How much video is received: best, or for-layout: the smallest layer that fills the tile (default: best).",
      valueName: "mode"))
  var receive: String?

  @Option(help: ArgumentHelp("Show at most so many people: those who talked last (default: all).", valueName: "n"))
  var maxTalkers: String?

  @Option(
    help: ArgumentHelp(
      "EnableX's name for what is shown: list (the active talkers, at most 12 or --max-talkers) or view (the grid).",
      valueName: "view"))
  var activeviews: String?

  @Option(
    help: ArgumentHelp(
      "Feedback on bandwidth that the server gets: none, remb or transport-cc (default: none).", valueName: "kind"))
  var bandwidthFeedback: String?

  @Option(
    help: ArgumentHelp("Also write chat and captions into a file: .jsonl, .srt or .vtt.", valueName: "file"))
  var transcript: String?

  @Flag(help: "Write the transcript only: no media is received, no WebM written.")
  var chatOnly = false

  @Option(help: ArgumentHelp("The bot's display name (default: recbot).", valueName: "text"))
  var name: String?

  @Option(
    help: ArgumentHelp(
      "Connect options as EnableX's SDKs take them (JSON); they go before environment and configuration.",
      valueName: "file"))
  var connectOptions: String?

  /// The settings with those of the connect options over them.
  func merge(into configuration: Configuration, logger: Logger) throws -> Configuration {
    guard let path = configuration.text(flag: connectOptions, .connectOptions) else { return configuration }
    do {
      var merged = configuration
      for key in try merged.merge(connectOptions: path) {
        logger.notice("\(path): \(key) means nothing to a recording")
      }
      return merged
    } catch {
      throw Failure(error)
    }
  }

  /// Puts what is set into the options of a room connection.
  func apply(_ configuration: Configuration, to options: inout RoomOptions) throws {
    options.receivesMedia = try !isChatOnly(configuration)
    options.bandwidthFeedback = try configuration.value(
      flag: bandwidthFeedback, "--bandwidth-feedback", .bandwidthFeedback, default: []
    ) { text throws(ValueError) in
      switch text {
      case "none": return []
      case "remb": return [.maximumBitrate]
      case "transport-cc": return [.transportWide]
      default: throw ValueError("there is no bandwidth feedback '\(text)'; known: none, remb, transport-cc")
      }
    }
  }

  /// Puts what is set into the settings of a recording.
  func apply(_ configuration: Configuration, to settings: inout RecordingSettings) throws {
    settings.session.receive = try configuration.value(
      flag: receive, "--receive", .receive, default: .best
    ) { text throws(ValueError) in try Values.word(text, "way to receive", of: ReceptionPolicy.Mode.self) }
    let people = try configuration.value(
      flag: maxTalkers, "--max-talkers", .maxTalkers
    ) { text throws(ValueError) in try Values.whole(text, in: 1...100) }
    let view = try configuration.value(
      flag: activeviews, "--activeviews", .activeViews
    ) { text throws(ValueError) in try Values.word(text, "view", of: ActiveViews.self) }
    settings.session.maximumTalkers = people ?? (view == .list ? ActiveViews.talkers : nil)
    settings.session.talker.atMost = max(settings.session.talker.atMost, people ?? 0)
    settings.session.layout = try look(configuration)(settings.session.layout)
    settings.notesResolution = try configuration.value(
      flag: nil, "", .notifyResolution, default: true, parse: Values.boolean)
    settings.transcript = configuration.text(flag: transcript, .transcript)
    settings.isChatOnly = try isChatOnly(configuration)
  }

  /// True when no media is wanted.
  func isChatOnly(_ configuration: Configuration) throws -> Bool {
    try chatOnly || configuration.value(flag: nil, "", .chatOnly, default: false, parse: Values.boolean)
  }

  /// Changes the looks of a layout as the settings say.
  func look(_ configuration: Configuration) throws -> @Sendable (Layout) -> Layout {
    let showsIcons = try configuration.value(flag: nil, "", .muteIcons, parse: Values.boolean)
    let showsMarks = try configuration.value(flag: nil, "", .marks, parse: Values.boolean)
    return { layout in
      var layout = layout
      for scene in layout.scenes.indices {
        for region in layout.scenes[scene].regions.indices {
          if let showsIcons { layout.scenes[scene].regions[region].look.muteIcon = showsIcons }
          if let showsMarks { layout.scenes[scene].regions[region].look.marks = showsMarks }
        }
      }
      return layout
    }
  }
}

/// EnableX's `activeviews`.
enum ActiveViews: String, CaseIterable {
  /// One's own view of the active talkers.
  case list
  /// A ready-made grid of everybody.
  case view

  /// The most talkers that EnableX lists.
  static let talkers = 12
}
