import LayoutFiles
import Layouts
import Logging
import MediaCore
import Session
import SessionLog

@testable import Recording

/// Notes what is to be done.
final class Spy: OutputHandler {
  var progress = RecordingProgress()
  var plans: [FramePlan] = []
  /// Those of the further pictures, by their numbers.
  var further: [Int: [FramePlan]] = [:]
  var decoded: [FrameID] = []
  var audio: [SessionTime] = []
  var notes: [TimelineEntry] = []
  var prepared = 0
  /// Pictures that plans named and that were not there any more, or not yet, by the rule of `VideoTracks`.
  var missing = 0
  /// Pictures of one track that a burst needed at a time.
  var mostInABurst = 0
  private var pictures: [TrackID: (burst: Int, ids: [FrameID])] = [:]
  private var burst = 0
  func prepare(_ event: inout SessionEvent) { prepared += 1 }
  func beginBurst(_ outputs: [SessionOutput]) { burst += 1 }
  func perform(_ output: SessionOutput, isLate: Bool) throws(RecordingError) -> SessionFinding? {
    switch output {
    case .compose(let plan):
      plans.append(plan)
      look(at: plan)
    case .composeFurther(let number, let plan):
      further[number, default: []].append(plan)
      look(at: plan)
    case .decode(let id, _, let track, _):
      decoded.append(id)
      var entry = pictures[track] ?? (burst, [])
      if entry.burst != burst { entry = (burst, Array(entry.ids.suffix(1))) }
      entry.ids.append(id)
      mostInABurst = max(mostInABurst, entry.ids.count)
      pictures[track] = entry
    case .audio(_, _, _, let time, _): audio.append(time)
    case .note(let entry): notes.append(entry)
    default: break
    }
    return nil
  }
  private func look(at plan: FramePlan) {
    for tile in plan.tiles {
      guard case .picture(let id, let track) = tile.content else { continue }
      if pictures[track]?.ids.contains(where: { $0 == id }) != true { missing += 1 }
    }
  }
  func tell(_ core: borrowing SessionCore, at now: SessionTime) {}
  func finish(at end: SessionTime) throws(RecordingError) {}
}

/// A log, with layouts as they are in it.
func logReader(_ path: String) throws -> SessionLogReader {
  try SessionLogReader(path: path) { name, text throws(LogError) in
    do throws(LayoutError) {
      return try LayoutReader.read(text, file: "log", name: name)
    } catch {
      throw LogError(.notALog, error.description)
    }
  }
}

/// Plans all of a session.
func drive(_ source: some EventSource, _ settings: SessionCore.Settings) throws -> Spy {
  let spy = Spy()
  _ = try Drive(source: source, handler: spy, settings: settings, logger: Logger(label: "test")) { _ in }
    .run(SessionCore(settings: settings), first: [])
  return spy
}
