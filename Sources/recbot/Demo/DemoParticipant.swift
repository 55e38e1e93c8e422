import Codecs
import Logging
import MediaCore
import Platform
import Rooms
import Session
import Synchronization
import Synthetic
import Transport

/// One synthetic person: a drawn camera and a made-up voice, really encoded and published over WebRTC.
///
/// `tick` is called on the demo's thread and does the drawing and encoding; what is ready goes to the loop, where the
/// senders live.
// Sendable: `State` is guarded by the mutex; the media sources are touched by the demo's thread only, in `tick`.
final class DemoParticipant: @unchecked Sendable {
  private struct State {
    var camera: LiveKitPublisher.Publication?
    var microphone: LiveKitPublisher.Publication?
    var screen: LiveKitPublisher.Publication?
    var isScreenPending = false
    var isCameraMuted = false
    var isMicrophoneMuted = false
  }

  static let screenSize = (width: 1280, height: 720)
  static let framesPerSecond = 30
  static let screenFramesPerSecond = 10

  private let person: Int
  private let script: DemoScript
  private let loop: MediaLoop
  private let publisher: LiveKitPublisher
  private let keyframes: KeyframeWishes
  private let state = Mutex(State())

  private let camera: SyntheticCamera
  private let screen: SyntheticScreen
  private var voice: SyntheticVoice
  private let cameraEncoder: VPXEncoder
  private let screenEncoder: VPXEncoder
  private let audioEncoder: OpusEncoder
  private let cameraPicture: Picture
  private let screenPicture = Picture(
    width: DemoParticipant.screenSize.width, height: DemoParticipant.screenSize.height)
  private var samples = [Float](repeating: 0, count: OpusEncoder.frameSamples * OpusEncoder.channels)
  private var packet = [UInt8](repeating: 0, count: OpusEncoder.maximumPacketSize)

  init(person: Int, script: DemoScript, url: String, token: String, loop: MediaLoop, logger: Logger) throws {
    self.person = person
    self.script = script
    self.loop = loop
    let keyframes = KeyframeWishes()
    self.keyframes = keyframes
    publisher = LiveKitPublisher(url: url, token: token, loop: loop, logger: logger) { keyframes.add($0) }
    camera = SyntheticCamera(
      seed: 1, identity: person, width: script.size.width, height: script.size.height,
      framesPerSecond: Self.framesPerSecond)
    screen = SyntheticScreen(
      seed: 1, width: Self.screenSize.width, height: Self.screenSize.height,
      framesPerSecond: Self.screenFramesPerSecond)
    voice = SyntheticVoice(seed: 1, identity: person)
    cameraEncoder = try VPXEncoder(
      .vp8, width: script.size.width, height: script.size.height, framesPerSecond: Self.framesPerSecond,
      bitrate: max(60_000, script.size.width * script.size.height * 3), settings: .live(.vp8))
    cameraPicture = Picture(width: script.size.width, height: script.size.height)
    screenEncoder = try VPXEncoder(
      .vp8, width: Self.screenSize.width, height: Self.screenSize.height, framesPerSecond: Self.screenFramesPerSecond,
      bitrate: 1_200_000)
    var audio = OpusEncoderSettings()
    audio.bitrate = 48_000
    audioEncoder = try OpusEncoder(settings: audio)
  }

  /// Joins and publishes camera and microphone.
  func join() async throws {
    try await publisher.join()
    let camera = try await publisher.publish(
      .init(name: "camera", source: .camera, width: script.size.width, height: script.size.height))
    let microphone = try await publisher.publish(.init(name: "mic", source: .microphone))
    state.withLock { ($0.camera, $0.microphone) = (camera, microphone) }
  }

  /// Leaves the room.
  func leave() { publisher.leave() }

  /// Does what is due at `time` of the demo; `block` counts steps of 20 ms, `now` is of `MonotonicClock`.
  func tick(block: Int64, at time: SessionTime, now: Instant) throws {
    act(at: time)
    let snapshot = state.withLock { $0 }
    let isTalking = script.isTalking(person, at: time) && !snapshot.isMicrophoneMuted
    samples.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: isTalking) }
    if let microphone = snapshot.microphone, !snapshot.isMicrophoneMuted {
      try sendAudio(microphone, block: block, isTalking: isTalking, now: now)
    }
    // 50 blocks a second carry 30 pictures of the camera and 10 of the screen.
    let frame = block * Int64(Self.framesPerSecond) / 50
    if frame != (block - 1) * Int64(Self.framesPerSecond) / 50, let camera = snapshot.camera, !snapshot.isCameraMuted {
      self.camera.draw(frame: Int(frame), voiceLevel: voice.level, into: cameraPicture)
      try sendPicture(cameraPicture, with: cameraEncoder, to: camera, block: block, now: now)
    }
    if block % 5 == 0, let screen = snapshot.screen {
      self.screen.draw(frame: Int(block / 5), into: screenPicture)
      try sendPicture(screenPicture, with: screenEncoder, to: screen, block: block, now: now)
    }
  }

  /// Mutes, unmutes, shares and stops sharing as the script says.
  private func act(at time: SessionTime) {
    let cameraOff = script.isCameraMuted(person, at: time)
    let microphoneOff = script.isMicrophoneMuted(person, at: time)
    let sharing = script.isSharing(person, at: time)
    state.withLock { state in
      if let camera = state.camera, state.isCameraMuted != cameraOff {
        state.isCameraMuted = cameraOff
        publisher.setMuted(camera.id, cameraOff)
        if !cameraOff { keyframes.add(camera.id) }
      }
      if let microphone = state.microphone, state.isMicrophoneMuted != microphoneOff {
        state.isMicrophoneMuted = microphoneOff
        publisher.setMuted(microphone.id, microphoneOff)
      }
      if sharing, state.screen == nil, !state.isScreenPending {
        state.isScreenPending = true
        Task {
          // A share that fails is left out; what ends the connection is told elsewhere.
          let screen = try? await publisher.publish(
            .init(
              name: "screen", source: .screenShare, width: Self.screenSize.width, height: Self.screenSize.height))
          self.state.withLock { $0.screen = screen }
        }
      }
      if !sharing, let screen = state.screen {
        (state.screen, state.isScreenPending) = (nil, false)
        publisher.unpublish(screen.id)
      }
    }
  }

  private func sendAudio(
    _ publication: LiveKitPublisher.Publication, block: Int64, isTalking: Bool, now: Instant
  ) throws {
    let count = try samples.withUnsafeBufferPointer { samples in
      try packet.withUnsafeMutableBytes { try audioEncoder.encode(samples, into: $0) }
    }
    let bytes = packet.withUnsafeBytes { MediaBuffer(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    let timestamp = UInt32(truncatingIfNeeded: block * Int64(OpusEncoder.frameSamples))
    // RFC 6464: 0 is loudest, 127 silence.
    let level: UInt8 = isTalking && voice.level > 0.02 ? 20 : 127
    loop.post {
      publication.sender.send(
        frame: bytes.bytes, rtpTimestamp: timestamp, capturedAt: now, audioLevel: level, isVoice: isTalking)
    }
  }

  private func sendPicture(
    _ picture: Picture, with encoder: VPXEncoder, to publication: LiveKitPublisher.Publication, block: Int64,
    now: Instant
  ) throws {
    let pts = block * 1_800
    let timestamp = UInt32(truncatingIfNeeded: pts)
    let isKeyframe = keyframes.take(publication.id)
    let loop = loop
    _ = try encoder.encode(picture, pts: pts, forceKeyframe: isKeyframe) { bytes, _ in
      let frame = MediaBuffer(copying: bytes)
      loop.post { publication.sender.send(frame: frame.bytes, rtpTimestamp: timestamp, capturedAt: now) }
    }
  }
}

/// Tracks whose receivers wait for a keyframe. May be used on any thread.
final class KeyframeWishes: Sendable {
  private let tracks = Mutex<Set<TrackID>>([])

  /// Notes a wish.
  func add(_ track: TrackID) { tracks.withLock { _ = $0.insert(track) } }

  /// True when there was a wish; it is then fulfilled.
  func take(_ track: TrackID) -> Bool { tracks.withLock { $0.remove(track) != nil } }
}
