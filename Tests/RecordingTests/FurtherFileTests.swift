import Codecs
import Dispatch
import Foundation
import LayoutFiles
import Layouts
import Logging
import MediaCore
import Synchronization
import Testing
import WebM

@testable import Recording
@testable import Session

/// Several files of one session, with real codecs, and what becomes of the others when one of them fails.
@Suite struct FurtherFileTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-further-\(UUID())").path

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

  /// A person of one colour who hums, three seconds.
  private static func session() throws -> [(ms: Int64, payload: SessionEvent.Payload)] {
    let ann = ParticipantIdentity("ann")
    let camera = Track(id: TrackID("camera"), participant: ann, kind: .video, source: .camera)
    let microphone = Track(id: TrackID("microphone"), participant: ann, kind: .audio, source: .microphone)
    var events: [(ms: Int64, payload: SessionEvent.Payload)] = [
      (0, .room(.joined(room: "r"))), (0, .room(.participant(Participant(identity: ann, name: "Ann")))),
    ]
    for track in [camera, microphone] {
      events += [(0, .room(.track(track))), (0, .room(.trackSubscribed(track.id, true)))]
    }
    let video = try VPXEncoder(
      .vp8, width: 160, height: 90, framesPerSecond: 30, bitrate: 500_000, settings: VPXEncoderSettings(.vp8))
    for index in Int64(0)..<90 {
      let picture = Picture(width: 160, height: 90)
      picture.fill(y: UInt8(100 + index % 8), u: 80, v: 80)
      _ = try video.encode(picture, pts: index * 3_000, forceKeyframe: index == 0) { bytes, isKeyframe in
        let frame = EncodedFrame(
          codec: .vp8, payload: MediaBuffer(copying: bytes), rtpTime: index * 3_000, isKeyframe: isKeyframe,
          width: isKeyframe ? 160 : 0, height: isKeyframe ? 90 : 0)
        events.append((index * 1000 / 30, .frame(frame, of: camera.id)))
      }
    }
    let sound = try OpusEncoder()
    let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: OpusEncoder.maximumPacketSize, alignment: 16)
    defer { packet.deallocate() }
    for index in Int64(0)..<150 {
      let samples = (0..<1_920).map { Float(0.3 * sin(Double(index * 960 + Int64($0 / 2)) / 20)) }
      let count = try samples.withUnsafeBufferPointer { try sound.encode($0, into: packet) }
      let frame = EncodedFrame(
        codec: .opus, payload: MediaBuffer(copying: UnsafeRawBufferPointer(rebasing: packet[..<count])),
        rtpTime: index * 960, isKeyframe: true)
      events.append((index * 20, .frame(frame, of: microphone.id)))
    }
    events.append((1_000, .room(.marker("here"))))
    return events.sorted { $0.ms < $1.ms }
  }

  private func settings(_ further: [FurtherFile]) -> RecordingSettings {
    let session = SessionCore.Settings(canvas: CanvasSize(width: 320, height: 180), layout: .grid, title: "talk")
    var settings = RecordingSettings(session: session, output: "\(folder)/talk.webm")
    settings.further = further
    return settings
  }

  private func portrait(_ name: String = "phone") throws -> FurtherFile {
    let canvas = CanvasSize(width: 180, height: 320)
    let layout = try LayoutStore(folder: "/nowhere").layout("portrait", canvas: canvas)
    return FurtherFile(
      path: "\(folder)/\(name).webm", picture: .init(canvas: canvas, layout: layout, interval: 2, codec: .vp9))
  }

  private var sound: FurtherFile { FurtherFile(path: "\(folder)/sound.webm", picture: nil) }

  /// Records the session as fast as possible.
  private func record(
    _ settings: RecordingSettings,
    makeFurther: (RecordingSettings) throws(RecordingError) -> any MediaOutput = { (settings) throws(RecordingError) in
      try ThreadedOutput(.waits) { () throws(RecordingError) in try FileOutput(settings) }
    }
  ) throws -> RecordingProgress {
    let pipeline = try Pipeline(
      settings: settings, control: NoRoom(), listener: nil, logger: Logger(label: "test"), makeFurther: makeFurther)
    var core = SessionCore(settings: settings.planned)
    func perform() throws {
      pipeline.beginBurst([])
      while let output = core.pollOutput() { _ = try pipeline.perform(output, isLate: false) }
    }
    for (number, entry) in try Self.session().enumerated() {
      core.advance(to: .milliseconds(entry.ms))
      try perform()
      var event = SessionEvent(sequence: UInt64(number), arrived: .milliseconds(entry.ms), payload: entry.payload)
      pipeline.prepare(&event)
      core.handle(event)
    }
    core.handle(SessionEvent(sequence: 1 << 20, arrived: .milliseconds(3_000), payload: .room(.ended(.stopped))))
    core.advance(to: .seconds(20))
    try perform()
    try pipeline.finish(at: pipeline.progress.time)
    return pipeline.progress
  }

  private func whole(_ path: String) throws -> ProbeReport {
    let report = try WebMProbe.probe(path)
    #expect(report.problems.isEmpty && report.gaps.isEmpty && report.title == "talk")
    #expect(report.declaredDuration != nil && report.chapters.contains { $0.title == "here" })
    return report
  }

  @Test func aRecordingItsPortraitAndItsSoundAreWholeFilesOfOneLength() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let progress = try record(settings([try portrait(), sound]))
    let (main, phone, alone) = (
      try whole("\(folder)/talk.webm"), try whole("\(folder)/phone.webm"), try whole("\(folder)/sound.webm")
    )
    #expect(main.tracks.map(\.codec) == ["V_VP8", "A_OPUS"] && main.tracks[0].frames == 90)
    #expect(phone.tracks.map(\.codec) == ["V_VP9", "A_OPUS"] && phone.tracks[0].frames == 45)
    #expect((phone.tracks[0].width, phone.tracks[0].height) == (180, 320))
    #expect(phone.tracks[0].defaultDuration.milliseconds == 66)
    #expect(alone.tracks.map(\.codec) == ["A_OPUS"])
    #expect(phone.duration == main.duration && alone.duration == main.duration)
    #expect(phone.chapters == main.chapters && alone.chapters == main.chapters)
    for report in [phone, alone] { #expect(report.tracks.last?.frames == main.tracks.last?.frames) }
    #expect(progress.frames == 90 && progress.further.map(\.frames) == [45, 0])
    #expect(progress.further.allSatisfy { $0.failure == nil && $0.bytes > 0 && $0.droppedFrames == 0 })
    // The phone shows the person, not a card.
    var pool = PicturePool()
    let decoder = try #require(VideoDecoders.make(.vp9))
    var colours: Set<UInt8> = []
    _ = try WebMReader.forEachFrame(path: "\(folder)/phone.webm") { frame in
      guard frame.track == phone.tracks[0].number,
        let picture = try? decoder.decode(frame.bytes, isKeyframe: frame.isKeyframe, into: &pool),
        frame.time > .milliseconds(500)
      else { return }
      colours.insert(picture.u[picture.strideUV * 80 + 45])
    }
    #expect(colours.allSatisfy { (76...84).contains($0) } && !colours.isEmpty, "\(colours)")
  }

  @Test func soundAloneMayHaveFurtherFilesWithPictures() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var settings = settings([try portrait()])
    settings.isAudioOnly = true
    _ = try record(settings)
    #expect(try whole("\(folder)/talk.webm").tracks.map(\.codec) == ["A_OPUS"])
    #expect(try whole("\(folder)/phone.webm").tracks.map(\.codec) == ["V_VP9", "A_OPUS"])
  }

  /// Fails like a full disk, after some sound.
  private final class FullDisk: MediaOutput {
    private var left: Int
    init(after blocks: Int) { left = blocks }
    var size: Int64 { 1 }
    func picture(_ picture: Picture, change: PictureChange, slot: Int64, at time: SessionTime) throws(RecordingError) {}
    func audio(_ packet: UnsafeRawBufferPointer, at time: SessionTime) throws(RecordingError) {
      left -= 1
      if left < 0 { throw .output("no space left on device") }
    }
    func setTitle(_ title: String) {}
    func addChapter(start: SessionTime, title: String) {}
    func finish() throws(RecordingError) -> Int64 {
      if left == 0 { throw .output("no space left on device") }
      return 1
    }
  }

  @Test(arguments: [0, 1, 70, 150]) func oneThatFailsEndsNeitherTheRecordingNorTheOthers(after: Int) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let progress = try record(settings([try portrait(), sound])) { (settings) throws(RecordingError) in
      guard settings.isAudioOnly else { return FullDisk(after: after) }
      return try FileOutput(settings)
    }
    #expect(progress.further.map(\.failure) == [.output("no space left on device"), nil])
    #expect(try whole("\(folder)/talk.webm").tracks[0].frames == 90)
    #expect(try whole("\(folder)/sound.webm").duration >= .milliseconds(2_950))
  }

  @Test func aRecordingThatFailsLeavesItsFurtherFilesWhole() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let pipeline = try Pipeline(
      settings: settings([sound]), control: NoRoom(), listener: nil, logger: Logger(label: "test"),
      makeOutput: { (_) throws(RecordingError) in FullDisk(after: 20) })
    let plan = FramePlan(
      slot: 0, time: .zero, sessionTime: .zero, participants: 0, talker: nil, layout: "", isReconnecting: false)
    #expect(throws: RecordingError.output("no space left on device")) {
      for slot in Int64(0)..<60 {
        var plan = plan
        (plan.slot, plan.time) = (slot, .milliseconds(slot * 1000 / 30))
        _ = try pipeline.perform(.compose(plan), isLate: false)
      }
    }
    pipeline.finishFurther()
    let report = try WebMProbe.probe("\(folder)/sound.webm")
    #expect(report.problems.isEmpty && report.declaredDuration != nil && report.tracks.last?.frames == 20)
    #expect(pipeline.progress.further.first?.failure == nil)
  }

  @Test func oneThatCannotBeMadeIsToldAndTheRecordingGoesOn() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let nowhere = FurtherFile(path: "\(folder)/nowhere/sound.webm", picture: nil)
    let progress = try record(settings([nowhere, try portrait()]))
    guard case .output = progress.further[0].failure else {
      Issue.record("\(progress.further)")
      return
    }
    #expect(progress.further[1].failure == nil)
    _ = try (whole("\(folder)/talk.webm"), whole("\(folder)/phone.webm"))
  }

  /// Waits at each thing until it is let on.
  private final class Gate: MediaOutput, Sendable {
    let open = DispatchSemaphore(value: 0)
    /// Counts those who came to a picture.
    let came = DispatchSemaphore(value: 0)
    let taken = Mutex((pictures: [Int64](), audio: 0))
    var size: Int64 { 0 }
    func picture(_ picture: Picture, change: PictureChange, slot: Int64, at time: SessionTime) {
      came.signal()
      open.wait()
      taken.withLock { $0.pictures.append(slot) }
      open.signal()
    }
    func audio(_ packet: UnsafeRawBufferPointer, at time: SessionTime) {
      open.wait()
      taken.withLock { $0.audio += 1 }
      open.signal()
    }
    func setTitle(_ title: String) {}
    func addChapter(start: SessionTime, title: String) {}
    func finish() -> Int64 { 7 }
  }

  private static func packet(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
    try [UInt8](repeating: 0, count: 100).withUnsafeBytes(body)
  }

  @Test func whoIsTooSlowLosesPicturesAndNoSoundAndHoldsNobodyUp() throws {
    let gate = Gate()
    var further = settings([FurtherFile(path: "x", picture: .init(canvas: CanvasSize(width: 64, height: 64)))])
    further.session.title = ""
    let output = FurtherOutput(
      further.further[0], of: further, images: .init(fetcher: nil) { _, _ in }, logger: Logger(label: "test")
    ) { (_) throws(RecordingError) in
      try ThreadedOutput(.skips) { () throws(RecordingError) in gate }
    }
    var painted: Int64 = 0
    Self.packet { packet in
      for slot in Int64(0)..<100 {
        let plan = FramePlan(
          slot: slot, time: .zero, sessionTime: .zero, participants: 0, talker: nil, layout: "", isReconnecting: false)
        output.picture(plan, isLate: slot == 0) { compositor in
          painted += 1
          return compositor.compose([])
        }
        output.audio(packet, at: .zero)
      }
    }
    // Those that wait, and the one at which its thread stands.
    #expect(painted == Int64(ThreadedOutput.crowd) && output.progress.droppedFrames == UInt64(100 - painted))
    gate.open.signal()
    output.finish()
    #expect(output.progress.failure == nil && output.progress.bytes == 7)
    #expect(gate.taken.withLock { $0.audio } == 100)
    #expect(gate.taken.withLock { $0.pictures } == Array(1...painted))
  }

  @Test func whoWaitsForPicturesStarvesUntilThereAreSome() throws {
    let gate = Gate()
    let output = try ThreadedOutput(.waits) { () throws(RecordingError) in gate }
    let picture = Picture(width: 64, height: 64)
    for slot in 0..<Int64(ThreadedOutput.few) {
      #expect(output.isStarving)
      try output.picture(picture, change: .anything, slot: slot, at: .zero)
    }
    #expect(!output.isStarving)
    gate.open.signal()
    #expect(try output.finish() == 7)
    #expect(output.isStarving)
  }

  @Test func whatIsLeftAtTheEndIsWrittenWithoutItsPicturesWhenThereIsNoTime() throws {
    let gate = Gate()
    nonisolated(unsafe) let output = try ThreadedOutput(
      .skips, patience: .milliseconds(1), lastPatience: .seconds(60)
    ) { () throws(RecordingError) in gate }
    let picture = Picture(width: 64, height: 64)
    for slot in Int64(0)..<10 {
      try output.picture(picture, change: .anything, slot: slot, at: .zero)
      try Self.packet { try output.audio($0, at: .zero) }
    }
    gate.came.wait()
    output.end()
    // It stands at the first picture until the time for pictures is over.
    Thread.detachNewThread {
      while !output.isDiscarding { usleep(1_000) }
      gate.open.signal()
    }
    #expect(try output.finish() == 7)
    #expect(gate.taken.withLock { $0.pictures } == [0] && gate.taken.withLock { $0.audio } == 10)
    #expect(output.discarded == 9)
  }

  @Test func whoStandsStillFailsWithinBounds() throws {
    let gate = Gate()
    let output = try ThreadedOutput(
      .skips, patience: .milliseconds(1), lastPatience: .milliseconds(1)
    ) { () throws(RecordingError) in gate }
    try Self.packet { try output.audio($0, at: .zero) }
    #expect(throws: RecordingError.self) { _ = try output.finish() }
    let other = try ThreadedOutput(.skips) { () throws(RecordingError) in gate }
    var count = 0
    Self.packet { packet in
      while count < 10_000, (try? other.audio(packet, at: .zero)) != nil { count += 1 }
    }
    #expect((ThreadedOutput.most...ThreadedOutput.most + 1).contains(count))
    gate.open.signal()
  }
}
