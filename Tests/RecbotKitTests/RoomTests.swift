import MediaCore
import SystemKit
import Testing

@testable import RecbotKit

/// What a flat colour is off by at most, in samples' values: a machine that has little time sends its first pictures at
/// VP8's coarsest quantizer, whose step is 132 for chroma's mean (RFC 6386, 9.6): half a step, an eighth of it a sample.
private let coarse = 10

/// Bots in a room of the embedded server, over real sockets on loopback.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RoomTests {
  @Test func picturesOfOneBotReachAnotherAndComeToAnEnd() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    let publication = try await ann.localParticipant.publish(
      LocalVideoTrack(capturer: Painter(dimensions: .init(width: 321, height: 181))))
    let track = try #require(await events.video())
    #expect(track.participant == ParticipantIdentity("ann"))
    #expect(track.id == publication.id)
    var times: [Duration] = []
    let frames = track.frames(limit: 100)
    for await frame in frames {
      #expect(frame.dimensions == Dimensions(width: 321, height: 181))
      let middle = frame.withPlanes { y, u, v in
        [y.bytes[90 * y.stride + 160], u.bytes[45 * u.stride + 80], v.bytes[45 * v.stride + 80]].map(Int.init)
      }
      #expect(zip(middle, [120, 60, 200]).allSatisfy { abs($0 - $1) <= coarse }, "\(middle)")
      times.append(frame.time ?? .zero)
      if times.count == 20 { break }
    }
    #expect(times == times.sorted() && Set(times).count == 20)
    #expect((.milliseconds(400)...(.seconds(5))).contains(times[19] - times[0]))
    let sent = try #require(await publication.statistics)
    #expect(sent.packets >= 20 && sent.bytes > 0)
    #expect(track.track.statistics.rendered >= 20)
    let report = await bob.reportStatistics()
    #expect(report.remote[track.id]?.frames ?? 0 >= 20)

    let more = track.frames()
    ann.localParticipant.unpublish(publication)
    for await _ in more {}
    #expect(await events.first { if case .trackUnpublished(let gone) = $0 { gone.id } else { nil } } == track.id)
    #expect(ann.localParticipant.publications.isEmpty)
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func soundOfOneBotReachesAnother() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    let publication = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    let track = try #require(await events.audio())
    var samples = 0
    var loud = 0
    for await block in track.blocks() {
      #expect(block.channels == 2)
      samples += block.samples.count / 2
      if block.samples.contains(where: { $0.magnitude > 0.3 }) { loud += 1 }
      if loud == 25 { break }
    }
    #expect(samples >= 25 * 960)

    publication.mute()
    #expect(publication.isMuted)
    #expect(await events.change(of: track.id, isEnabled: false))
    publication.unmute()
    #expect(await events.change(of: track.id, isEnabled: true))
    for await block in track.blocks() where block.samples.contains(where: { $0.magnitude > 0.3 }) { break }
    await ann.disconnect()
    #expect(await events.hasLost("ann"))
    await bob.disconnect()
  }

  @Test(arguments: [(true, 5...25), (false, 100...100)] as [(Bool, ClosedRange<Int>)])
  func silenceIsLeftOutWhereThatIsWished(isDiscontinuous: Bool, packets: ClosedRange<Int>) async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let sound = BufferAudioCapturer()
    var options = AudioPublishOptions()
    options.isDiscontinuous = isDiscontinuous
    let publication = try await ann.localParticipant.publish(LocalAudioTrack(capturer: sound), options: options)
    var number = 0
    func give(_ sample: (Int) -> Float) async throws {
      let samples = (0..<960).map(sample)
      sound.capture(AudioBlock(samples, channels: 1, time: .milliseconds(20 * number)))
      number += 1
      try await Task.sleep(for: .milliseconds(5))
    }
    func sent() async -> Int { await publication.statistics?.packets ?? 0 }
    // How many were sent when a tenth of a second brings no more.
    func settled() async throws -> Int {
      var (count, before) = (await sent(), -1)
      for _ in 0..<100 where count != before {
        try await Task.sleep(for: .milliseconds(100))
        (count, before) = (await sent(), count)
      }
      return count
    }
    for _ in 0..<1000 where await sent() < 10 { try await give { $0 % 48 < 24 ? 0.5 : -0.5 } }
    let loud = try await settled()
    // Two seconds.
    for _ in 0..<100 { try await give { _ in 0 } }
    #expect(packets.contains(try await settled() - loud))
    await ann.disconnect()
  }

  @Test func whatIsProcessedIsNotSentOtherwise() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    var hidden = VideoPublishOptions()
    hidden.processor = .grayscale
    let camera = try await ann.localParticipant.publish(
      LocalVideoTrack(capturer: Painter(dimensions: .init(width: 320, height: 180))), options: hidden)
    let microphone = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    func isGray(_ frame: VideoFrame) -> Bool {
      frame.withPlanes { _, u, v in abs(Int(u.bytes[0]) - 128) < 6 && abs(Int(v.bytes[0]) - 128) < 6 }
    }
    let pictures = try #require(await events.video()).frames(limit: 100)
    var count = 0
    for await frame in pictures {
      #expect(isGray(frame))
      count += 1
      if count == 20 { break }
    }
    camera.process(.init())
    for await frame in try #require(await events.video()).frames() where !isGray(frame) { break }
    func isLoud(_ block: AudioBlock) -> Bool { block.samples.contains { $0.magnitude > 0.3 } }
    let sound = try #require(await events.audio())
    for await block in sound.blocks() where isLoud(block) { break }
    microphone.process(.init(audio: .silence))
    var quiet = 0
    for await block in sound.blocks() {
      quiet = isLoud(block) ? 0 : quiet + 1
      if quiet == 25 { break }
    }
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func aReceiverGetsTheSizeThatItPrefers() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    let painter = Painter(dimensions: .init(width: 640, height: 360))
    _ = try await ann.localParticipant.publish(LocalVideoTrack(capturer: painter))
    let track = try #require(await events.video())
    for width in [320, 640] {
      track.receive(true, preferring: .init(width: width, height: width * 9 / 16))
      for await frame in track.frames() where frame.dimensions.width == width { break }
    }
    track.receive(false)
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func soundThatIsNotWantedIsNotSent() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    _ = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    let track = try #require(await events.audio())
    for await _ in track.blocks() { break }
    track.receive(false)
    // What is on its way has come when a tenth of a second brings nothing more.
    var (count, before) = (track.track.statistics.frames, -1)
    for _ in 0..<100 where count != before {
      try await Task.sleep(for: .milliseconds(100))
      (count, before) = (track.track.statistics.frames, count)
    }
    #expect(count == before)
    track.receive(true)
    for await _ in track.blocks() { break }
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func withoutAutoSubscribeOnlyWhatIsAskedForComes() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob", subscribes: false)
    let (events, pictures) = (Events(of: bob), Painter(dimensions: .init(width: 160, height: 120)))
    _ = try await ann.localParticipant.publish(LocalVideoTrack(capturer: pictures))
    _ = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    let (video, audio) = (try #require(await events.video()), try #require(await events.audio()))
    #expect(!RemoteTrack.audio(audio).isSubscribed)
    audio.receive(true)
    for await _ in audio.blocks() { break }
    #expect(RemoteTrack.audio(audio).isSubscribed && !RemoteTrack.video(video).isSubscribed)
    #expect(video.track.statistics.packets == 0)
    video.receive(true, preferring: .init(width: 160, height: 120))
    for await _ in video.frames() { break }
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func aCloneIsCapturedOnceAndATrackPublishedOnce() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    let painter = Painter(dimensions: .init(width: 160, height: 120))
    let track = LocalVideoTrack(capturer: painter)
    let first = try await ann.localParticipant.publish(track)
    await #expect(throws: RoomError.self) { _ = try await ann.localParticipant.publish(track) }
    var small = VideoPublishOptions()
    small.bitrate = 60_000
    let second = try await ann.localParticipant.publish(track.clone(name: "small"), options: small)
    for name in ["camera", "small"] {
      let other = bob.remoteParticipant(.init("ann"))?.tracks.first { $0.name == name }
      let found = if case .video(let video)? = other { video } else { await events.video(named: name) }
      for await _ in try #require(found).frames() { break }
    }
    #expect(painter.starts.count == 1)
    ann.localParticipant.unpublish(first)
    ann.localParticipant.unpublish(second)
    // Withdrawn, it may be published again.
    _ = try await ann.localParticipant.publish(track)
    #expect(await eventually { painter.starts.count == 2 })
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func aCapturerThatEndsOrFailsIsTold() async throws {
    struct Torn: Error {}
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann", receives: false)
    let events = Events(of: ann)
    let block = AudioBlock([Float](repeating: 0.1, count: 960), channels: 1)
    for (name, failure) in [("short", nil), ("torn", Torn())] {
      let blocks = AsyncThrowingStream<AudioBlock, any Error> { continuation in
        for _ in 0..<5 { continuation.yield(block) }
        continuation.finish(throwing: failure)
      }
      let track = LocalAudioTrack(name: name, capturer: SequenceAudioCapturer(blocks))
      let publication = try await ann.localParticipant.publish(track)
      let told = await events.first { event -> (any Error)?? in
        if case .localCaptureEnded(let ended, let error) = event, ended === publication { .some(error) } else { nil }
      }
      let error = try #require(told)
      #expect((error is Torn) == (failure != nil))
      // A clone that comes later hears it, too.
      let clone = try await ann.localParticipant.publish(track.clone())
      let later = await events.first { event -> Bool? in
        if case .localCaptureEnded(let ended, _) = event, ended === clone { true } else { nil }
      }
      #expect(later == true)
    }
    await ann.disconnect()
  }

  @Test func messagesGoBothWaysAndOnlyToThoseWhoAreMeant() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    let cat = try await test.join("cat")
    let (toAnn, toCat) = (Events(of: ann), Events(of: cat))
    let long = String(repeating: "Grüße! ", count: 4000)
    try await ann.localParticipant.send(chat: long)
    for events in [events, toCat] {
      let message = await events.first { if case .chatReceived(let message) = $0 { message } else { nil } }
      #expect(message?.text == long)
      #expect(message?.participant?.rawValue == "ann")
    }
    try await bob.localParticipant.publish(data: [1, 2, 3], topic: "secret", recipients: [.init("ann")])
    try await bob.localParticipant.publish(data: [4], topic: "all")
    let heard = await toCat.first { if case .dataReceived(let message) = $0 { message } else { nil } }
    #expect(heard?.topic == "all" && heard?.payload == [4])
    let told = await toAnn.first { if case .dataReceived(let message) = $0 { message } else { nil } }
    #expect(told?.topic == "secret" && told?.payload == [1, 2, 3])
    await #expect(throws: RoomError.self) {
      try await ann.localParticipant.publish(data: [UInt8](repeating: 0, count: 20_000))
    }
    for room in [ann, bob, cat] { await room.disconnect() }
  }

  @Test func aBotThatMayNotPublishIsToldSo() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann") { $0.canPublish = false }
    let track = LocalVideoTrack(capturer: Painter(dimensions: .init(width: 160, height: 120)))
    do throws(RoomError) {
      _ = try await ann.localParticipant.publish(track)
      Issue.record("published without permission")
    } catch {
      #expect(error.kind == .notPermitted)
      #expect(error.remedy.contains("canPublish"))
    }
    await ann.disconnect()
  }

  /// In both codecs; who has no key gets nothing of it.
  @Test func whatIsSentInAnEncryptedRoomIsForThoseWithTheKey() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    var keys = FrameKeys()
    keys.shared[3] = Array("open sesame".utf8)
    let ann = try await test.join("ann", keys: keys)
    // At once, before there is a key.
    try await ann.localParticipant.send(chat: "hello")
    let (bob, eve) = (try await test.join("bob", keys: keys), try await test.join("eve"))
    let (events, spied) = (Events(of: bob), Events(of: eve))
    var small = VideoPublishOptions()
    small.codec = .vp9
    let painter = Painter(dimensions: .init(width: 640, height: 360))
    let camera = LocalVideoTrack(capturer: painter)
    try await ann.localParticipant.publish(camera)
    try await ann.localParticipant.publish(camera.clone(name: "small"), options: small)
    try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    for name in ["camera", "small"] {
      for await frame in try #require(await events.video(named: name)).frames() {
        #expect(frame.withPlanes { y, _, _ in abs(Int(y.bytes[0]) - 120) <= coarse })
        break
      }
    }
    for await block in try #require(await events.audio()).blocks()
    where block.samples.contains(where: { $0.magnitude > 0.3 }) { break }
    let long = String(repeating: "Grüße! ", count: 4000)
    try await ann.localParticipant.send(chat: long)
    try await ann.localParticipant.publish(data: [1, 2, 3], topic: "secret")
    // The greeting left when there was a key, and on a quick machine Bob was there by then.
    let received = await events.first {
      if case .chatReceived(let message) = $0, message.text != "hello" { message.text } else { nil }
    }
    #expect(received == long)
    #expect(
      await events.first { if case .dataReceived(let message) = $0 { Array(message.payload) } else { nil } }
        == ([1, 2, 3] as [UInt8]))
    let track = try #require(await spied.video())
    #expect(track.track.statistics.frames == 0)
    #expect(
      spied.now { event in
        switch event {
        case .chatReceived, .dataReceived: true
        default: nil
        }
      } == nil)
    for room in [ann, bob, eve] { await room.disconnect() }
  }

  @Test func whoHasNoKeyOfItsOwnSendsNothingInTheClear() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    var keys = FrameKeys()
    keys.own["ben"] = [0: Array("open sesame".utf8)]
    let ann = try await test.join("ann", keys: keys)
    let track = LocalAudioTrack(capturer: Tone())
    await #expect(throws: RoomError.self) { try await ann.localParticipant.publish(track) }
    await #expect(throws: RoomError.self) { try await ann.localParticipant.send(chat: "hello") }
    await #expect(throws: RoomError.self) { try await ann.localParticipant.publish(data: [1]) }
    #expect(ann.localParticipant.publications.isEmpty)
    await ann.disconnect()
    // The track was not used up.
    let open = try await test.join("ben")
    try await open.localParticipant.publish(track)
    await open.disconnect()
  }

  @Test func afterTheEndNothingHangs() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let publication = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    let events = ann.events
    await ann.disconnect()
    await ann.disconnect()
    var last: RoomEvent?
    for await event in events { last = event }
    if case .connectionStateChanged(.disconnected(.stopped))? = last {
    } else {
      Issue.record("\(String(describing: last))")
    }
    #expect(publication.id == nil)
    for await _ in ann.events { Issue.record("an event after the end") }
    do throws(RoomError) {
      _ = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
      Issue.record("published after the end")
    } catch {
      #expect(error.kind == .leftAlready)
    }
    do throws(RoomError) {
      try await ann.localParticipant.send(chat: "hello")
      Issue.record("sent after the end")
    } catch {
      #expect(error.kind == .leftAlready)
    }
    publication.mute()
    ann.localParticipant.unpublish(publication)
    #expect(await publication.statistics == nil)
  }

  @Test func whatIsPublishedIsThereAgainAfterTheServerWasRestarted() async throws {
    let test = try TestRoom.restartable()
    let ann = try await test.join("ann", receives: false)
    let publication = try await ann.localParticipant.publish(
      LocalVideoTrack(capturer: Painter(dimensions: .init(width: 160, height: 120))))
    let first = publication.id
    test.stop()
    #expect(await eventually { if case .reconnecting = ann.connectionState { true } else { false } })
    var again: TestRoom?
    #expect(
      await eventually {
        again = try? TestRoom(port: test.port)
        return again != nil
      })
    #expect(await eventually { publication.id != nil && publication.id != first })
    let bob = try await #require(again).join("bob")
    let events = Events(of: bob)
    for await _ in try #require(await events.video()).frames() { break }
    await ann.disconnect()
    await bob.disconnect()
    again?.stop()
  }

  @Test func aBotThatOnlyPublishesNeedsNoPermissionToReceive() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann", receives: false) { $0.canSubscribe = false }
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    _ = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    for await _ in try #require(await events.audio()).blocks() { break }
    await ann.disconnect()
    await bob.disconnect()
  }

  @Test func aRoomThatIsLetGoIsLeft() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let bob = try await test.join("bob")
    let events = Events(of: bob)
    do {
      let ann = try await test.join("ann")
      #expect(ann.name == "lobby")
      #expect(ann.remoteParticipants.map(\.identity.rawValue) == ["bob"])
    }
    #expect(await events.hasLost("ann"))
    await bob.disconnect()
  }

  @Test func whoMayAdministrateMutesAndRemovesOthers() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await test.join("ann")
    let bob = try await test.join("bob")
    let chief = try await test.join("chief") { $0.roomAdmin = true }
    let toAnn = Events(of: ann)
    let toChief = Events(of: chief)
    let publication = try await ann.localParticipant.publish(LocalAudioTrack(capturer: Tone()))
    let track = try #require(await toChief.audio()).track
    #expect(await eventually { !(bob.remoteParticipant(.init("ann"))?.tracks.isEmpty ?? true) })
    let seenByBob = try #require(bob.remoteParticipant(.init("ann"))?.tracks.first)
    do throws(RoomError) {
      try await bob.mute(seenByBob)
      Issue.record("muted without the right")
    } catch {
      #expect(error.kind == .notPermitted && error.description.contains("roomAdmin"))
    }
    try await chief.mute(track)
    #expect(await eventually { publication.isMuted })
    #expect(
      await toAnn.first { if case .localTrackEnabledChanged(let changed) = $0 { changed.isMuted } else { nil } } == true
    )
    publication.unmute()
    #expect(await toChief.change(of: track.id, isEnabled: true))
    try await chief.remove(try #require(chief.remoteParticipant(.init("ann"))))
    #expect(await toChief.hasLost("ann"))
    #expect(await eventually { ann.connectionState == .disconnected(.removed) })
    #expect(publication.id == nil)
    await bob.disconnect()
    await chief.disconnect()
  }
}
