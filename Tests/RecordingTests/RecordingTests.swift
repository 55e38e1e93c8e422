import Codecs
import Foundation
import Layouts
import Logging
import MediaCore
import Session
import Synchronization
import Testing
import WebM

@testable import Recording

@Suite struct RecordingTests {
  /// A room connection that only notes what is asked of it.
  private final class Control: RoomControl {
    let asked = Mutex<[String]>([])
    func requestKeyframe(_ track: TrackID) { asked.withLock { $0.append("keyframe \(track)") } }
    func subscribe(_ track: TrackID) { asked.withLock { $0.append("subscribe \(track)") } }
    func leave() { asked.withLock { $0.append("leave") } }
  }

  /// A folder of one test, which goes with it.
  private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID())")
    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private let folder: Folder
  init() throws { folder = try Folder() }

  private let ann = ParticipantIdentity("ann")

  private func recording(
    _ name: String = "a.webm", layout: Layout = .grid, maximum: Duration? = nil
  ) throws -> (recording: RoomRecording, control: Control, path: String) {
    let path = folder.url.appending(path: name).path
    var session = SessionCore.Settings(canvas: CanvasSize(width: 320, height: 180), layout: layout)
    session.maximumDuration = maximum
    let recording = RoomRecording(
      settings: RecordingSettings(session: session, output: path), logger: Logger(label: "test"))
    let control = Control()
    try recording.start(control: control)
    return (recording, control, path)
  }

  @Test func aSessionThatNeverBeginsLeavesNoFile() async throws {
    let (recording, _, path) = try recording()
    recording.sequencer.put(.room(.ended(.connectionLost("refused"))))
    recording.cancel()
    await #expect(throws: RecordingError.neverStarted) { try await recording.wait() }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func anEndedSessionIsAWholeFileOfItsLength() async throws {
    let (recording, control, path) = try recording(maximum: .milliseconds(1_500))
    recording.sequencer.put(.room(.joined(room: "r")))
    recording.sequencer.put(.room(.participant(Participant(identity: ann, name: "Ann"))))
    let summary = try await recording.wait()
    #expect(summary.end == .maxDuration)
    #expect(control.asked.withLock { $0 } == ["leave"])
    let report = try WebMProbe.probe(path)
    #expect(report.endedCleanly)
    #expect(report.duration == .milliseconds(1_500))
    // What a machine that is busy leaves out is counted.
    let left = Int(summary.progress.droppedFrames)
    #expect((report.tracks.first { $0.kind == .video }?.frames ?? 0) + left == 45)
    #expect(report.tracks.first { $0.kind == .audio }?.frames == 75)
    #expect((report.gaps.isEmpty || left > 0) && report.problems.isEmpty)
  }

  /// Five of them come; in a layout without pictures nobody finds out.
  @Test(arguments: [true, false]) func framesThatCannotBeDecodedAreCountedAndAKeyframeIsAskedFor(isShown: Bool)
    async throws
  {
    var region = Region(name: "people", selector: SourceSelector([.cameras]))
    region.look.video = isShown
    let layout = Layout(name: "people", scenes: [Scene(name: "people", regions: [region])])
    let (recording, control, _) = try recording(layout: layout, maximum: .seconds(1))
    let track = Track(id: TrackID("TR_1"), participant: ann, kind: .video, source: .camera)
    recording.sequencer.put(.room(.joined(room: "r")))
    recording.sequencer.put(.room(.participant(Participant(identity: ann))))
    recording.sequencer.put(.room(.track(track)))
    recording.sequencer.put(.room(.trackSubscribed(track.id, true)))
    for index in 0..<5 {
      recording.sequencer.put(
        .frame(
          EncodedFrame(
            codec: .vp8, payload: MediaBuffer([0x10, 2, 0, 0x9d, 1, 0x2a, 0xff, 0xff, 0xff, 0xff]),
            rtpTime: Int64(index) * 3000, isKeyframe: true), of: track.id))
    }
    let summary = try await recording.wait()
    #expect(summary.progress.decodeErrors == (isShown ? 5 : 0))
    #expect(control.asked.withLock { $0.contains("keyframe TR_1") } == isShown)
  }

  @Test func anOutputThatCannotBeMadeEndsTheRecordingWithItsReason() async throws {
    let (recording, control, path) = try recording("missing/a.webm")
    recording.sequencer.put(.room(.joined(room: "r")))
    let error = await #expect(throws: RecordingError.self) { try await recording.wait() }
    #expect(error?.description.contains(path) == true)
    #expect(control.asked.withLock { $0 } == ["leave"])
  }
}
