import ArgumentParser
import JobsAPI

/// The flags that say which part of a room is recorded; shared by `join`, `jobs submit` and `schedule add`.
struct SelectionOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Record only this person, by identity.", valueName: "identity"))
  var participant: String?

  @Option(
    help: ArgumentHelp("Record only this track, by its id; may be repeated.", valueName: "id"))
  var track: [String] = []

  /// The part of the room; nil: all of it.
  func selection() throws -> JobSelection? {
    guard participant != nil || !track.isEmpty else { return nil }
    let selection = JobSelection(participant: participant, tracks: track.isEmpty ? nil : track)
    guard selection.problems.isEmpty else { throw Failure(.usage, selection.problems.joined(separator: "; ")) }
    return selection
  }
}
