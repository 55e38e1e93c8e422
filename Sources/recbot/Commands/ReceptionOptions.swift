import ArgumentParser
import Layouts
import Logging
import PeerConnection
import Recording
import RecbotKit
import Session
import Settings

/// The flags that say what is received and shown of a room, and what is written of its chat.
struct ReceptionOptions: ParsableArguments {
  @Option(help: .setting(.receive))
  var receive: String?

  @Option(help: .setting(.cpuBudget))
  var cpuBudget: String?

  @Option(help: .setting(.maxTalkers))
  var maxTalkers: String?

  @Option(help: .setting(.activeViews))
  var activeviews: String?

  @Option(help: .setting(.bandwidthFeedback))
  var bandwidthFeedback: String?

  @Option(help: .setting(.transcript))
  var transcript: String?

  @Flag(help: .setting(.chatOnly))
  var chatOnly = false

  @Option(help: .setting(.name))
  var name: String?

  @Option(help: .setting(.connectOptions))
  var connectOptions: String?

  /// The settings with those of the connect options over them.
  func merge(into configuration: Configuration, logger: Logger) throws -> Configuration {
    guard let path = configuration.text(.connectOptions, flag: connectOptions) else { return configuration }
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
    options.bandwidthFeedback = try configuration.value(.bandwidthFeedback, flag: bandwidthFeedback)
  }

  /// Puts what is set into the settings of a recording.
  func apply(_ configuration: Configuration, to settings: inout RecordingSettings) throws {
    settings.session.receive = try configuration.value(.receive, flag: receive)
    settings.cpuBudget = try configuration.value(.cpuBudget, flag: cpuBudget)
    let people = try configuration.value(.maxTalkers, flag: maxTalkers)
    let view = try configuration.value(.activeViews, flag: activeviews)
    settings.session.maximumTalkers = people ?? (view == .list ? ActiveViews.talkers : nil)
    settings.session.talker.atMost = max(settings.session.talker.atMost, people ?? 0)
    settings.session.layout = try look(configuration)(settings.session.layout)
    settings.notesResolution = try configuration.value(.notifyResolution)
    settings.transcript = configuration.text(.transcript, flag: transcript)
    settings.isChatOnly = try isChatOnly(configuration)
  }

  /// True when no media is wanted.
  func isChatOnly(_ configuration: Configuration) throws -> Bool {
    try chatOnly || configuration.value(.chatOnly)
  }

  /// Changes the looks of a layout as the settings say.
  func look(_ configuration: Configuration) throws -> @Sendable (Layout) -> Layout {
    let showsIcons = try configuration.value(.muteIcons)
    let showsMarks = try configuration.value(.marks)
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
