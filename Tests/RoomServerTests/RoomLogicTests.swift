import MediaCore
import NIOCore
import RTP
import SDP
import Signaling
import TestKit
import Testing

@testable import RoomServer

/// A reference to a schedule, since expectations can't call mutating methods.
private final class Schedule {
  private var value = OfferSchedule()
  var isAwaitingAnswer: Bool { value.isAwaitingAnswer }
  func request(now: Instant) { value.request(now: now) }
  func answered(now: Instant) -> Bool { value.answered(now: now) }
  func next(now: Instant) -> OfferSchedule.Action { value.next(now: now) }
}

@Suite struct OfferScheduleTests {
  @Test func theFirstOfferIsQuickAndLaterChangesAreGathered() {
    let schedule = Schedule()
    #expect(schedule.next(now: .zero) == .wait(until: nil))
    schedule.request(now: .zero)
    schedule.request(now: .nanoseconds(1))
    #expect(schedule.next(now: .nanoseconds(1)) == .wait(until: .zero + OfferSchedule.firstDebounce))
    #expect(schedule.next(now: .zero + OfferSchedule.firstDebounce) == .offer)
    let answered = Instant.zero + OfferSchedule.firstDebounce + .nanoseconds(1)
    #expect(schedule.answered(now: answered))
    #expect(schedule.next(now: answered) == .wait(until: nil))
    schedule.request(now: answered)
    #expect(schedule.next(now: answered) == .wait(until: answered + OfferSchedule.debounce))
  }

  @Test func noSecondOfferBeforeTheAnswerAndExactlyOneAfterIt() {
    let schedule = Schedule()
    schedule.request(now: .zero)
    #expect(schedule.next(now: .seconds(1)) == .offer)
    for time in 2...5 as ClosedRange<Int64> {
      schedule.request(now: .seconds(time))
      #expect(schedule.next(now: .seconds(time)) != .offer)
    }
    #expect(schedule.isAwaitingAnswer)
    #expect(schedule.answered(now: .seconds(6)))
    #expect(schedule.next(now: .seconds(6)) == .wait(until: .seconds(6) + OfferSchedule.debounce))
    #expect(schedule.next(now: .seconds(7)) == .offer)
    #expect(schedule.answered(now: .seconds(8)))
    #expect(schedule.next(now: .seconds(20)) == .wait(until: nil))
  }

  @Test func anAnswerThatNobodyWaitsForIsRefusedAndAMissingOneEndsIt() {
    let schedule = Schedule()
    #expect(!schedule.answered(now: .zero))
    schedule.request(now: .zero)
    #expect(schedule.next(now: .zero + OfferSchedule.firstDebounce) == .offer)
    let end = Instant.zero + OfferSchedule.firstDebounce + OfferSchedule.answerTimeout
    #expect(schedule.next(now: end - .nanoseconds(1)) == .wait(until: end))
    #expect(schedule.next(now: end) == .giveUp)
    #expect(schedule.next(now: end + .nanoseconds(1)) == .wait(until: nil))
  }
}

@Suite struct SpeakerDetectorTests {
  private static let interval = Duration.milliseconds(400)

  /// Feeds one interval with packets of 20 ms, of which so many are loud.
  private func interval(_ detector: inout SpeakerDetector, loud: Int, level: UInt8, time: inout UInt32) -> Bool {
    for index in 0..<20 {
      time &+= 960
      detector.note(level: index < loud ? level : 127, timestamp: time)
    }
    return detector.endInterval(Self.interval)
  }

  private func expect(_ changed: Bool, is expected: Bool) { #expect(changed == expected) }

  @Test func speechIsFoundAndSilenceEndsIt() {
    var detector = SpeakerDetector()
    var time: UInt32 = 0
    expect(interval(&detector, loud: 0, level: 0, time: &time), is: false)
    expect(interval(&detector, loud: 20, level: 10, time: &time), is: true)
    #expect(detector.isActive)
    for _ in 0..<6 { _ = interval(&detector, loud: 0, level: 0, time: &time) }
    #expect(!detector.isActive && detector.level == 0)
  }

  @Test func shortBeepsAndQuietNoiseAreNoSpeech() {
    var detector = SpeakerDetector()
    var time: UInt32 = 0
    for _ in 0..<20 {
      expect(interval(&detector, loud: 3, level: 5, time: &time), is: false)
      expect(interval(&detector, loud: 20, level: 36, time: &time), is: false)
    }
    #expect(!detector.isActive)
  }

  @Test func aSteadyVoiceCausesNoFurtherChanges() {
    var detector = SpeakerDetector()
    var time: UInt32 = 0
    for _ in 0..<5 { _ = interval(&detector, loud: 20, level: 20, time: &time) }
    for _ in 0..<20 { expect(interval(&detector, loud: 20, level: 20, time: &time), is: false) }
    #expect(detector.level > 0 && detector.level < 1)
    let steps = detector.level * 8
    #expect(steps == steps.rounded())
  }

  @Test func packetsThatDoNotComeAreSilence() {
    var detector = SpeakerDetector()
    var time: UInt32 = 0
    _ = interval(&detector, loud: 20, level: 10, time: &time)
    for _ in 0..<6 { _ = detector.endInterval(Self.interval) }
    #expect(!detector.isActive)
  }
}

@Suite struct LayerChoiceTests {
  private func layers(_ flowing: [Bool], now: Instant = .seconds(10)) -> [LayerState] {
    flowing.enumerated().map { index, flows in
      var layer = LayerState(width: 320 << index, height: 180 << index)
      if flows { layer.note(startsFrame: true, temporalLayer: 0, bytes: 0, now: now) }
      return layer
    }
  }
  private let now = Instant.seconds(10)

  @Test func theBestFlowingLayerUpToTheWishIsTaken() {
    #expect(LayerChoice.layer(of: layers([true, true, true]), wish: VideoWish(), now: now) == 2)
    #expect(LayerChoice.layer(of: layers([true, true, false]), wish: VideoWish(), now: now) == 1)
    #expect(LayerChoice.layer(of: layers([true, true, true]), wish: VideoWish(quality: 0), now: now) == 0)
    #expect(LayerChoice.layer(of: layers([false, true, true]), wish: VideoWish(quality: 0), now: now) == 1)
    #expect(LayerChoice.layer(of: layers([false, false, false]), wish: VideoWish(), now: now) == 2)
    #expect(LayerChoice.layer(of: layers([true, true, true]), wish: VideoWish(), now: .seconds(20)) == 2)
    #expect(LayerChoice.layer(of: layers([true]), wish: VideoWish(quality: 0), now: now) == 0)
    #expect(LayerChoice.layer(of: layers([true]), wish: VideoWish(isDisabled: true), now: now) == nil)
    #expect(LayerChoice.layer(of: [], wish: VideoWish(), now: now) == nil)
  }

  @Test func aLayerThatLetsTheOthersPassHasStopped() {
    var all = layers([true, true, true])
    for _ in 0..<10 { all[2].noteFrameElsewhere() }
    #expect(LayerChoice.layer(of: all, wish: VideoWish(), now: now) == 2)
    for _ in 0..<10 { all[2].noteFrameElsewhere() }
    #expect(LayerChoice.layer(of: all, wish: VideoWish(), now: now) == 1)
    all[2].note(startsFrame: true, temporalLayer: 0, bytes: 0, now: now)
    #expect(LayerChoice.layer(of: all, wish: VideoWish(), now: now) == 2)
  }

  @Test func aSizeGoesBeforeTheQuality() {
    let all = layers([true, true, true])
    #expect(LayerChoice.layer(of: all, wish: VideoWish(quality: 2, width: 300, height: 160), now: now) == 0)
    #expect(LayerChoice.layer(of: all, wish: VideoWish(quality: 0, width: 640, height: 360), now: now) == 1)
    #expect(LayerChoice.layer(of: all, wish: VideoWish(quality: 0, width: 5000, height: 360), now: now) == 2)
  }

  @Test func aFrameRateChoosesTheTemporalLayer() {
    var layer = LayerState(width: 640, height: 360)
    let interval = Duration.nanoseconds(33_333_333)
    for frame in 0..<62 {
      layer.note(startsFrame: true, temporalLayer: UInt8(frame % 3), bytes: 0, now: now + interval * frame)
    }
    #expect(layer.framesPerSecond >= 28 && layer.framesPerSecond <= 32)
    #expect(LayerChoice.temporalLayer(of: layer, wish: VideoWish()) == .max)
    #expect(LayerChoice.temporalLayer(of: layer, wish: VideoWish(framesPerSecond: 30)) == .max)
    #expect(LayerChoice.temporalLayer(of: layer, wish: VideoWish(framesPerSecond: 15)) == 1)
    #expect(LayerChoice.temporalLayer(of: layer, wish: VideoWish(framesPerSecond: 5)) == 0)
  }
}

@Suite struct VP8DescriptorTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func aRewrittenDescriptorReadsBackWithTheNewNumbers(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let scratch = VP8DescriptorScratch()
    for _ in 0..<500 {
      var payload: [UInt8] = [UInt8.random(in: 0...255, using: &random) & 0x37]
      let flags = UInt8.random(in: 0...15, using: &random) << 4
      if flags != 0 {
        payload[0] |= 0x80
        payload.append(flags)
        if flags & 0x80 != 0 {
          let isLong = Bool.random(using: &random)
          payload.append(UInt8.random(in: 0...127, using: &random) | (isLong ? 0x80 : 0))
          if isLong { payload.append(UInt8.random(in: 0...255, using: &random)) }
        }
        if flags & 0x40 != 0 { payload.append(UInt8.random(in: 0...255, using: &random)) }
        if flags & 0x30 != 0 { payload.append(UInt8.random(in: 0...255, using: &random)) }
      }
      payload += [0x9d, 1, 2, 3]  // an interframe
      let parsed = try payload.withUnsafeBytes { try #require(VP8Depacketizer.parse($0)) }
      let numbers = PictureNumbers(
        pictureID: parsed.pictureID.map { _ in UInt16.random(in: 0...0x7fff, using: &random) },
        tl0PictureIndex: parsed.baseLayerIndex.map { _ in UInt8.random(in: 0...255, using: &random) },
        keyIndex: parsed.keyIndex.map { _ in UInt8.random(in: 0...31, using: &random) })
      let written = Array(scratch.write(first: payload[0], parsed: parsed, numbers: numbers))
      let again = try (written + payload.dropFirst(parsed.headerCount)).withUnsafeBytes {
        try #require(VP8Depacketizer.parse($0))
      }
      #expect(again.headerCount == written.count && written.count <= VP8DescriptorScratch.longest)
      #expect(again.pictureID == numbers.pictureID && again.baseLayerIndex == numbers.tl0PictureIndex)
      #expect(again.keyIndex == numbers.keyIndex && again.temporalLayer == parsed.temporalLayer)
      #expect(again.isLayerSync == parsed.isLayerSync && again.startsFrame == parsed.startsFrame)
      #expect(again.isNonReference == parsed.isNonReference && again.isKeyframe == parsed.isKeyframe)
    }
  }
}

@Suite struct LimitTests {
  @Test func aBurstIsAllowedButNoFlood() {
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    var budget = MessageBudget(perSecond: 10, now: start)
    var taken = 0
    for _ in 0..<25 where budget.take(now: start) { taken += 1 }
    #expect(taken == 20)
    for _ in 0..<5 where budget.take(now: start + .milliseconds(150)) { taken += 1 }
    #expect(taken == 21)
  }

  @Test func namesHaveThePrefixesThatSDKsDemand() {
    var random = SeededRandom(seed: 1)
    let (room, participant) = (SID.room(using: &random), SID.participant(using: &random))
    let track = SID.track(using: &random)
    #expect(room.hasPrefix("RM_") && participant.hasPrefix("PA_"))
    #expect(track.hasPrefix("TR_") && track.utf8.count == 15)
  }
}

@Suite struct PublisherAnswerTests {
  /// The section of sound in an answer, as it is arranged for a track.
  private func arranged(_ info: Livekit_TrackInfo?) throws -> MediaDescription {
    let text = """
      v=0\r
      o=- 1 1 IN IP4 127.0.0.1\r
      s=-\r
      t=0 0\r
      m=audio 9 UDP/TLS/RTP/SAVPF 111 63\r
      c=IN IP4 0.0.0.0\r
      a=mid:0\r
      a=rtpmap:111 opus/48000/2\r
      a=fmtp:111 minptime=10;useinbandfec=1\r
      a=rtpmap:63 red/48000/2\r
      a=fmtp:63 111/111\r

      """
    var section = try #require(SessionDescription(parsing: text).media.first)
    Publisher.arrangeAudio(&section, of: info)
    return section
  }

  @Test func publishersLeaveSilenceOutAndSendRedundancyAsAnnounced() throws {
    let usual = try arranged(Livekit_TrackInfo())
    #expect(usual.formats == ["63", "111"])
    #expect(usual.formatParameters.map(\.text) == ["minptime=10;useinbandfec=1;usedtx=1", "111/111"])
    for change: (inout Livekit_TrackInfo) -> Void in [{ $0.disableDtx = true }, { $0.audioFeatures = [.tfNoDtx] }] {
      var info = Livekit_TrackInfo()
      change(&info)
      #expect(try arranged(info).formatParameters.map(\.text) == ["minptime=10;useinbandfec=1", "111/111"])
    }
    var plain = Livekit_TrackInfo()
    plain.disableRed = true
    let single = try arranged(plain)
    #expect(single.formats == ["111"] && single.formatParameters.map(\.text) == ["minptime=10;useinbandfec=1;usedtx=1"])
    #expect(try arranged(nil).formatParameters.map(\.text) == ["minptime=10;useinbandfec=1"])
  }
}
