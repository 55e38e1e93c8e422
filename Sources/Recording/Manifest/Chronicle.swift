import Glibc
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

/// Files that are there as a whole or not at all.
enum WholeFile {
  /// Writes a file, mode 0600, which must not exist: into `PATH.part`, synced, and renamed. A kill leaves nothing, or the
  /// part, which the next call replaces. Blocks.
  static func write(_ text: String, to path: String) throws(RecordingError) {
    let part = path + ".part"
    unlink(part)
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(part) }
    var text = text
    let isWritten = text.withUTF8 { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        sent += count
      }
      return fsync(descriptor) == 0
    }
    let error = isWritten ? nil : failure(part)
    close(descriptor)
    if let error {
      unlink(part)
      throw error
    }
    // Unlike a rename this replaces nothing that somebody else has put there meanwhile.
    guard link(part, path) == 0 else {
      let error = failure(path)
      unlink(part)
      throw error
    }
    unlink(part)
  }

  private static func failure(_ path: String) -> RecordingError {
    .output("\(path): \(String(cString: strerror(errno)))")
  }
}
