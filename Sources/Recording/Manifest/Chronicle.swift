import MediaCore
import Session

/// What is written of a recording beside its media: at the end the manifest, and meanwhile the file of who talks when.
/// Confined to the recording's thread.
final class Chronicle {
  /// What has been gathered.
  let collector = ManifestCollector()
  private var turns = TalkTurns()
  private let talkers: LineFile?
  private let path: String?

  /// Opens the file of who talks when. Nil when nothing of the kind is wanted.
  init?(_ settings: RecordingSettings) throws(RecordingError) {
    guard settings.manifest != nil || settings.talkers != nil else { return nil }
    path = settings.manifest
    talkers = try settings.talkers.map { (path) throws(RecordingError) in try LineFile(creating: path) }
    talkers?.append("WEBVTT\n")
  }

  /// These people talk from this instant of the file on.
  func take(_ talking: [ParticipantIdentity], at time: SessionTime) {
    for turn in turns.take(talking, at: time) { write(turn) }
  }

  /// The recording ends.
  func finish(at end: SessionTime) {
    for turn in turns.finish(at: end) { write(turn) }
    collector.finish(at: end)
  }

  private func write(_ turn: TalkTurn) {
    collector.talked(turn)
    guard let talkers else { return }
    let name = Cues.lines(collector.name(of: turn.identity) ?? "").joined(separator: " ")
    let shown = name.isEmpty ? Cues.lines(turn.identity.rawValue).joined(separator: " ") : name
    let cue = Cue(number: 0, start: turn.start, end: turn.end, name: shown, lines: [shown])
    talkers.append(cue.vtt)
  }

  /// Writes the manifest, if one is wanted, durably and under its name only when it is whole.
  func write(
    _ settings: RecordingSettings, _ progress: RecordingProgress, _ counts: [TrackID: ReceptionCounts],
    _ end: SessionEnd
  ) throws(RecordingError) {
    guard let path else { return }
    let text = ManifestWriter(collector.manifest, settings, progress, counts, end).text
    try WholeFile.write(text, to: path)
  }
}
