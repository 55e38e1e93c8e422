import Codecs
import Foundation
import Layouts
import Logging
import MediaCore
import Session
import Testing
import WebM

@testable import Recording

/// Pauses with real codecs, from encoded frames to the decoded file: what must not be kept is looked for in every
/// picture and in all of the sound.
@Suite struct PauseRecordingTests {
  /// A publisher whose picture and sound are an open secret in between: magenta and 1900 Hz instead of green and 440 Hz.
  private struct Publisher {
    static let open = (y: UInt8(100), u: UInt8(80), v: UInt8(80), hertz: 440.0)
    static let secret = (y: UInt8(100), u: UInt8(200), v: UInt8(200), hertz: 1_900.0)
    let secrets: Range<Int64>
    var events: [(ms: Int64, payload: SessionEvent.Payload)] = []
    private let ann = ParticipantIdentity("ann")

    /// Six seconds, of which the time of `secrets` (milliseconds) is secret, with keyframes where they are asked for.
    init(secrets: Range<Int64>, keyframes: [Int64] = []) throws {
      self.secrets = secrets
      let camera = Track(id: TrackID("camera"), participant: ann, kind: .video, source: .camera)
      let microphone = Track(id: TrackID("microphone"), participant: ann, kind: .audio, source: .microphone)
      events.append((0, .room(.joined(room: "r"))))
      events.append((0, .room(.participant(Participant(identity: ann)))))
      for track in [camera, microphone] {
        events.append((0, .room(.track(track))))
        events.append((0, .room(.trackSubscribed(track.id, true))))
      }
      var settings = VPXEncoderSettings(.vp8)
      settings.maximumKeyframeInterval = 10_000
      let video = try VPXEncoder(
        .vp8, width: 160, height: 90, framesPerSecond: 30, bitrate: 500_000, settings: settings)
      for index in Int64(0)..<180 {
        let ms = index * 1000 / 30
        let colour = secrets.contains(ms) ? Self.secret : Self.open
        let picture = Picture(width: 160, height: 90)
        // A little movement, so that every frame has something to code.
        for row in 0..<picture.height {
          for column in 0..<picture.width {
            picture.y[row * picture.strideY + column] = colour.y &+ UInt8((column + Int(index)) % 16)
          }
        }
        for index in 0..<(picture.strideUV * picture.chromaHeight) {
          picture.u[index] = colour.u
          picture.v[index] = colour.v
        }
        let isAsked = keyframes.contains { ms - 33 < $0 && $0 <= ms }
        _ = try video.encode(picture, pts: index * 3_000, forceKeyframe: isAsked) { bytes, isKeyframe in
          let frame = EncodedFrame(
            codec: .vp8, payload: MediaBuffer(copying: bytes), rtpTime: index * 3_000,
            isKeyframe: isKeyframe, width: isKeyframe ? 160 : 0, height: isKeyframe ? 90 : 0)
          events.append((ms, .frame(frame, of: camera.id)))
        }
      }
      let sound = try OpusEncoder()
      let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: OpusEncoder.maximumPacketSize, alignment: 16)
      defer { packet.deallocate() }
      for index in Int64(0)..<300 {
        let ms = index * 20
        // What was said before the end of the pause is still on its way when it ends.
        let isSecret = secrets.contains(ms) || secrets.contains(ms - 120)
        let hertz = isSecret ? Self.secret.hertz : Self.open.hertz
        let samples = (0..<1_920).map { at in
          Float(0.3 * sin(2 * Double.pi * hertz * Double(index * 960 + Int64(at / 2)) / 48_000))
        }
        let count = try samples.withUnsafeBufferPointer { try sound.encode($0, into: packet) }
        let payload = MediaBuffer(copying: UnsafeRawBufferPointer(rebasing: packet[..<count]))
        events.append(
          (
            ms,
            .frame(
              EncodedFrame(codec: .opus, payload: payload, rtpTime: index * 960, isKeyframe: true), of: microphone.id)
          ))
      }
    }

    /// The stream with commands in it, in order.
    func stream(_ commands: [(ms: Int64, event: RoomEvent)]) -> [SessionEvent] {
      var all = events
      for command in commands { all.append((command.ms, .room(command.event))) }
      all.append((6_000, .room(.ended(.stopped))))
      let sorted = all.enumerated().sorted { ($0.element.ms, $0.offset) < ($1.element.ms, $1.offset) }
      return sorted.enumerated().map {
        SessionEvent(sequence: UInt64($0), arrived: .milliseconds($1.element.ms), payload: $1.element.payload)
      }
    }
  }

  private final class Control: RoomControl {
    func requestKeyframe(_ track: TrackID) {}
    func subscribe(_ track: TrackID) {}
    func leave() {}
  }

  /// What a file shows and sounds like.
  private struct Found {
    var length: Duration
    /// Times of the pictures in which the secret's colour is anywhere, and of those with the open colour.
    var secretPictures: [SessionTime] = []
    var openPictures: [SessionTime] = []
    /// The loudest that the secret's pitch is in any 20 ms, and where the open pitch is heard, amplitude.
    var secretAudio = 0.0
    var openAudio: [SessionTime] = []
    var chapters: [String]
  }

  /// Records a stream as fast as possible, and decodes the file.
  private func record(
    _ publisher: Publisher, _ commands: [(ms: Int64, event: RoomEvent)], codec: RecordingCodec = .vp8
  ) throws -> Found {
    let path = FileManager.default.temporaryDirectory.appending(path: "recbot-\(UUID()).webm").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let session = SessionCore.Settings(canvas: CanvasSize(width: 320, height: 180), layout: .grid)
    var settings = RecordingSettings(session: session, output: path, codec: codec)
    settings.timeline = path + ".jsonl"
    defer { try? FileManager.default.removeItem(atPath: path + ".jsonl") }
    let pipeline = try Pipeline(settings: settings, control: Control(), listener: nil, logger: Logger(label: "test"))
    var core = SessionCore(settings: session)
    for var event in publisher.stream(commands) {
      core.advance(to: event.arrived)
      pipeline.prepare(&event)
      core.handle(event)
      while let output = core.pollOutput() { _ = try pipeline.perform(output, isLate: false) }
    }
    core.advance(to: .seconds(20))
    while let output = core.pollOutput() { _ = try pipeline.perform(output, isLate: false) }
    try pipeline.finish(at: pipeline.progress.time)
    let report = try WebMProbe.probe(path)
    #expect(report.problems.isEmpty && report.gaps.isEmpty)
    var found = Found(length: report.duration, chapters: report.chapters.map { "\($0.start) \($0.title)" })
    #expect(report.tracks.first?.codec == codec.matroskaCodecID)
    let video = try #require(VideoDecoders.make(codec.codec))
    var pool = PicturePool()
    let audio = try OpusDecoder()
    let samples = UnsafeMutableBufferPointer<Float>.allocate(capacity: OpusDecoder.maximumBufferCount)
    defer { samples.deallocate() }
    _ = try WebMReader.forEachFrame(path: path) { frame in
      if frame.track == 1 {
        guard let picture = try? video.decode(frame.bytes, isKeyframe: frame.isKeyframe, into: &pool) else { return }
        let (secret, open) = colours(in: picture)
        if secret > 0 { found.secretPictures.append(frame.time) }
        if open > 1_000 { found.openPictures.append(frame.time) }
      } else if let count = try? audio.decode(frame.bytes, into: samples) {
        let block = UnsafeBufferPointer(rebasing: samples[..<(count * 2)])
        found.secretAudio = max(found.secretAudio, amplitude(of: Publisher.secret.hertz, in: block))
        if amplitude(of: Publisher.open.hertz, in: block) > 0.2 { found.openAudio.append(frame.time) }
      }
    }
    return found
  }

  /// How many chroma samples are on the way to the secret's colour, and how many have the open one.
  private func colours(in picture: Picture) -> (secret: Int, open: Int) {
    var counts = (secret: 0, open: 0)
    for row in 0..<picture.chromaHeight {
      for column in 0..<picture.chromaWidth {
        let (u, v) = (picture.u[row * picture.strideUV + column], picture.v[row * picture.strideUV + column])
        if u > 145, v > 145 { counts.secret += 1 }
        if u < 95, v < 95 { counts.open += 1 }
      }
    }
    return counts
  }

  /// The amplitude of a pitch in a block of stereo sound (Goertzel).
  private func amplitude(of hertz: Double, in block: UnsafeBufferPointer<Float>) -> Double {
    var (real, imaginary) = (0.0, 0.0)
    let count = block.count / 2
    for index in 0..<count {
      // A Hann window keeps other pitches out.
      let window = 0.5 - 0.5 * cos(2 * Double.pi * Double(index) / Double(count))
      let angle = 2 * Double.pi * hertz * Double(index) / 48_000
      real += Double(block[index * 2]) * window * cos(angle)
      imaginary += Double(block[index * 2]) * window * sin(angle)
    }
    return (real * real + imaginary * imaginary).squareRoot() * 4 / Double(max(1, count))
  }

  @Test(arguments: RecordingCodec.allCases) func withoutAPauseTheSecretIsInTheFile(codec: RecordingCodec) throws {
    let found = try record(Publisher(secrets: 2_000..<4_000), [], codec: codec)
    #expect(found.length == .seconds(6))
    #expect(found.secretPictures.count > 50)
    #expect(found.secretAudio > 0.2)
  }

  @Test(arguments: [(2_000, 4_000), (2_013, 4_007), (2_031, 3_977)] as [(Int64, Int64)])
  func nothingOfARedactedTimeIsInTheFile(start: Int64, end: Int64) throws {
    let publisher = try Publisher(secrets: start..<end, keyframes: [end + 150])
    let found = try record(publisher, [(start, .pause(.redact)), (end, .resume)])
    #expect(found.length == .seconds(6))
    #expect(found.secretPictures.isEmpty)
    #expect(found.secretAudio < 0.002)
    // What may be kept is there, before and after.
    let (from, to) = (SessionTime.milliseconds(start), SessionTime.milliseconds(end))
    #expect(found.openPictures.contains { $0 < from && $0 > from - .milliseconds(40) })
    #expect(found.openPictures.contains { $0 > to && $0 < to + .milliseconds(250) })
    #expect(!found.openPictures.contains { $0 >= from && $0 < to })
    #expect(found.openAudio.contains { $0 < from && $0 > from - .milliseconds(60) })
    #expect(found.openAudio.contains { $0 > to && $0 < to + .milliseconds(320) })
    #expect(found.chapters.count == 2)
    #expect(found.chapters.first?.hasSuffix("Redacted") == true)
  }

  @Test func aRedactionWithoutAKeyframeAfterItShowsNoPictureAtAll() throws {
    let found = try record(Publisher(secrets: 2_000..<4_000), [(2_000, .pause(.redact)), (4_000, .resume)])
    #expect(found.secretPictures.isEmpty)
    #expect(!found.openPictures.contains { $0 > .seconds(2) })
  }

  @Test(arguments: RecordingCodec.allCases)
  func aCutIsShorterByExactlyItsLengthAndHasNoneOfIt(codec: RecordingCodec) throws {
    // Pictures and sound that are due in the cut; sound on its way belongs to what follows.
    let publisher = try Publisher(secrets: 2_000..<3_850)
    let found = try record(publisher, [(2_000, .pause(.cut)), (4_000, .resume)], codec: codec)
    #expect(found.length == .seconds(4))
    #expect(found.secretPictures.isEmpty)
    #expect(found.secretAudio < 0.01)
    let shown = found.openPictures.map { ($0.nanoseconds * 30 + 500_000_000) / 1_000_000_000 }
    #expect(shown == Array(0..<120), "missing: \(Set(0..<120).subtracting(shown).sorted())")
    #expect(found.chapters == ["2.000 Paused", "2.000 Resumed"])
  }

  @Test func aSlateIsSilentAndAsLongAsThePause() throws {
    let publisher = try Publisher(secrets: 2_000..<3_850)
    let found = try record(publisher, [(2_000, .pause(.slate)), (4_000, .resume), (5_000, .marker("Here"))])
    #expect(found.length == .seconds(6))
    #expect(found.secretPictures.isEmpty)
    #expect(found.secretAudio < 0.01)
    #expect(found.openPictures.contains { $0 >= .seconds(4) && $0 < .milliseconds(4_040) })
    #expect(found.chapters == ["2.000 Paused", "4.000 Resumed", "5.000 Here"])
  }
}
