import MediaCore
import Recording
import Session

/// Notices that nobody has been in a recorded room for a while: often it is the wrong room. Pure.
struct EmptyRoomWatch {
  /// So long nobody must have been there.
  static let patience = Duration.seconds(30)

  private var emptySince: SessionTime?
  private var isTold = false
  private var wasAnybodyThere = false

  /// True when it is time to say so: once each time that the room has become empty.
  mutating func isNews(_ progress: RecordingProgress) -> Bool {
    guard progress.phase == .recording || progress.phase == .reconnecting else { return false }
    guard progress.participants == 0 else {
      (emptySince, isTold, wasAnybodyThere) = (nil, false, true)
      return false
    }
    let since = emptySince ?? progress.time
    emptySince = since
    guard !isTold, progress.time - since >= Self.patience else { return false }
    isTold = true
    return true
  }

  /// True when the recording ended before it was said that nobody was ever there.
  func isNews(atEnd end: SessionEnd) -> Bool { end == .empty && !isTold && !wasAnybodyThere }
}
