import MediaCore
import SystemKit
import Testing

@testable import RecbotKit

/// Pictures and sound that are encoded already.
@Suite struct PreparedTests {
  private typealias Picture = PictureSchedule.Picture

  /// Pictures of two layers every 100 ms, with keyframes in both at these numbers, and in the larger one alone at others.
  private func pictures(_ count: Int, keyframes: Set<Int>, alone: Set<Int> = []) -> [Picture] {
    (0..<count).flatMap { number in
      (0..<2).map { layer in
        Picture(
          [UInt8(number), UInt8(layer)],
          isKeyframe: keyframes.contains(number) || layer == 1 && alone.contains(number),
          layer: layer, time: .milliseconds(number * 100))
      }
    }
  }

  /// What a schedule gives: number of the picture, layer, and milliseconds.
  private func told(_ schedule: inout PictureSchedule, _ count: Int) -> [[Int]] {
    (0..<count).compactMap { _ in
      let due = schedule.nextTime
      guard let picture = schedule.next() else { return nil }
      #expect(picture.time == due)
      return [Int(picture.bytes[0]), picture.layer, Int((picture.time ?? .zero).milliseconds)]
    }
  }

  @Test func picturesComeInAllLayersAndEnd() {
    var schedule = PictureSchedule(pictures(3, keyframes: [0]), layers: 2, period: nil)
    let all = [[0, 0, 0], [0, 1, 0], [1, 0, 100], [1, 1, 100], [2, 0, 200], [2, 1, 200]]
    #expect(told(&schedule, 10) == all)
    #expect(schedule.nextTime == nil)
    var nothing = PictureSchedule([], layers: 0, period: .zero)
    #expect(nothing.next() == nil)
    nothing.jump()
    nothing.begin(at: .seconds(3))
    #expect(nothing.nextTime == nil)
  }

  @Test func timeGoesOnWhenPicturesBeginAgain() {
    var schedule = PictureSchedule(pictures(2, keyframes: [0]), layers: 2, period: .milliseconds(200))
    let twice = [[0, 0, 0], [0, 1, 0], [1, 0, 100], [1, 1, 100], [0, 0, 200], [0, 1, 200], [1, 0, 300]]
    #expect(told(&schedule, 7) == twice)
  }

  @Test func aJumpGoesBackToAKeyframeOfAllLayersAndNotInTime() {
    var schedule = PictureSchedule(pictures(9, keyframes: [0, 4], alone: [6]), layers: 2, period: nil)
    _ = told(&schedule, 14)
    #expect(schedule.isBetweenPictures)
    schedule.jump()
    #expect(told(&schedule, 3) == [[4, 0, 700], [4, 1, 700], [5, 0, 800]])
    #expect(!schedule.isBetweenPictures)
    _ = told(&schedule, 7)
    // At the end, without repetition, nothing is due any more.
    #expect(schedule.nextTime == nil)
    schedule.jump()
    #expect(schedule.nextTime == nil)
  }

  @Test func whoBeginsLateBeginsWithAKeyframe() {
    for (elapsed, first) in [
      (0, [0, 0, 0]), (250, [0, 0, 300]), (350, [4, 0, 400]), (480, [4, 0, 500]), (1320, [4, 0, 1400]),
    ] {
      var schedule = PictureSchedule(pictures(9, keyframes: [0, 4]), layers: 2, period: .milliseconds(900))
      schedule.begin(at: .milliseconds(elapsed))
      #expect(told(&schedule, 1) == [first], "after \(elapsed) ms")
    }
  }

  @Test func filesThatCannotBePlayedAreToldSo() {
    #expect(throws: FileError.self) { _ = try PreparedFile(paths: []) }
    #expect(throws: FileError.self) { _ = try PreparedFile(paths: ["/nowhere.webm"]) }
    #expect(throws: FileError.self) { _ = try PreparedFile(paths: [#filePath]) }
  }

  /// Gives frames that somebody puts in, and says what is asked of it.
  private final class Source: EncodedVideoSource {
    let codec = VideoPublishOptions.Codec.vp8
    let layers: [EncodedVideoLayer]
    let asked = Counter()
    private let stream = AsyncStream.makeStream(of: EncodedVideoFrame.self)

    init(layers: Int = 1) { self.layers = (0..<layers).map { .init(width: 16 << $0, height: 16, bitrate: 90_000) } }

    func frames() -> AsyncStream<EncodedVideoFrame> { stream.stream }
    func keyframeWanted(layer: Int?) { asked.add() }
    func give(_ count: Int) {
      for number in 0..<count {
        // A keyframe of VP8 by its header (RFC 7741), and what refers to it.
        let header: [UInt8] = number == 0 ? [0x10, 0, 0, 0x9d, 1, 0x2a, 16, 0, 16, 0] : [0x11, 0, 0, 7]
        stream.continuation.yield(
          .init(header + [UInt8](repeating: 7, count: 30), isKeyframe: number == 0, time: .milliseconds(number * 33)))
      }
    }
  }

  @Test func encodedFramesAreSentAsTheyAreAndFromAKeyframeOn() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann", receives: false)
    let source = Source()
    let publication = try await ann.localParticipant.publish(EncodedVideoTrack(frames: source))
    // Once when it is published, and once when the way there stands.
    #expect(await eventually { source.asked.count >= 2 })
    source.give(20)
    func packets() async -> Int { await publication.statistics?.packets ?? 0 }
    for _ in 0..<500 where await packets() < 20 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(await packets() == 20)
    #expect(publication.droppedFrames == 0)
    // What is left out here nobody in the room misses: a keyframe is asked for, once.
    let before = source.asked.count
    source.give(3)
    #expect(await eventually { publication.droppedFrames == 3 })
    #expect(source.asked.count == before + 1)
    // While it is disabled frames are lost: the next needs no time that lies before, and a keyframe.
    let asked = source.asked.count
    publication.mute()
    publication.unmute()
    #expect(source.asked.count == asked + 1)
    source.give(5)
    #expect(await eventually { publication.droppedFrames == 8 })
    #expect(await packets() == 20)
    // What cannot be processed is not sent.
    publication.process(.init(video: .pixelate))
    source.give(2)
    #expect(await eventually { publication.droppedFrames == 10 })
    await ann.disconnect()
  }

  @Test func layersThatCannotBeSentAreRefused() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann", receives: false)
    for layers in [0, 4] {
      await #expect(throws: RoomError.self) {
        try await ann.localParticipant.publish(EncodedVideoTrack(frames: Source(layers: layers)))
      }
    }
    await ann.disconnect()
  }
}
