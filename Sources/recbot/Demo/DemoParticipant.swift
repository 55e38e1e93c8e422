import MediaCore
import Platform
import RecbotKit
import Session
import Synchronization
import Synthetic

/// One synthetic person: a drawn camera and a made-up voice, really encoded and published over WebRTC.
///
/// `tick` is called on the demo's thread and does the drawing; encoding and sending are the room's.
// Sendable: `State` is guarded by the mutex; what draws is touched by the demo's thread only, in `tick`.
final class DemoParticipant: @unchecked Sendable {
  private struct State {
    var room: Room?
    var camera: LocalTrackPublication?
    var microphone: LocalTrackPublication?
    var screen: LocalTrackPublication?
    var isScreenPending = false
  }

  static let screenSize = Dimensions(width: 1280, height: 720)
  static let framesPerSecond = 30
  static let screenFramesPerSecond = 10

  private let person: Int
  private let script: DemoScript
  private let url: String
  private let token: String
  private let options: ConnectOptions
  private let state = Mutex(State())

  private let camera: SyntheticCamera
  private let screen: SyntheticScreen
  private var voice: SyntheticVoice
  private let cameraOutput: BufferCapturer
  private let screenOutput = BufferCapturer(dimensions: DemoParticipant.screenSize)
  private let voiceOutput = BufferAudioCapturer()
  private var cameraPictures = PicturePool(limit: 6)
  private var screenPictures = PicturePool(limit: 6)
  private var samples = [Float](repeating: 0, count: 1920)

  init(person: Int, script: DemoScript, url: String, token: String, options: ConnectOptions) {
    self.person = person
    self.script = script
    self.url = url
    self.token = token
    self.options = options
    camera = SyntheticCamera(
      seed: 1, identity: person, width: script.size.width, height: script.size.height,
      framesPerSecond: Self.framesPerSecond)
    screen = SyntheticScreen(
      seed: 1, width: Self.screenSize.width, height: Self.screenSize.height,
      framesPerSecond: Self.screenFramesPerSecond)
    voice = SyntheticVoice(seed: 1, identity: person)
    cameraOutput = BufferCapturer(dimensions: .init(width: script.size.width, height: script.size.height))
  }

  /// Joins and publishes camera and microphone.
  func join() async throws {
    let room = try await Room.connect(url: url, token: token, options: options)
    var single = VideoPublishOptions()
    single.isSimulcast = false
    let camera = try await room.localParticipant.publish(LocalVideoTrack(capturer: cameraOutput), options: single)
    let microphone = try await room.localParticipant.publish(LocalAudioTrack(name: "mic", capturer: voiceOutput))
    state.withLock { ($0.room, $0.camera, $0.microphone) = (room, camera, microphone) }
  }

  /// Leaves the room.
  func leave() async { await state.withLock { $0.room }?.disconnect() }

  /// Does what is due at `time` of the demo; `block` counts steps of 20 ms.
  func tick(block: Int64, at time: SessionTime) {
    act(at: time)
    let elapsed = Duration.milliseconds(block * 20)
    let isTalking = script.isTalking(person, at: time) && !script.isMicrophoneMuted(person, at: time)
    samples.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: isTalking) }
    voiceOutput.capture(AudioBlock(samples, time: elapsed))
    // 50 blocks a second carry 30 pictures of the camera and 10 of the screen.
    let frame = block * Int64(Self.framesPerSecond) / 50
    if frame != (block - 1) * Int64(Self.framesPerSecond) / 50, !script.isCameraMuted(person, at: time) {
      let picture = cameraPictures.take(width: camera.width, height: camera.height)
      camera.draw(frame: Int(frame), voiceLevel: voice.level, into: picture)
      cameraOutput.capture(VideoFrame(picture, time: elapsed))
    }
    if block % 5 == 0, script.isSharing(person, at: time) {
      let picture = screenPictures.take(width: screen.width, height: screen.height)
      screen.draw(frame: Int(block / 5), into: picture)
      screenOutput.capture(VideoFrame(picture, time: elapsed))
    }
  }

  /// Mutes, unmutes, shares and stops sharing as the script says.
  private func act(at time: SessionTime) {
    let isSharing = script.isSharing(person, at: time)
    let now = state.withLock { state in
      defer { if isSharing, state.screen == nil, state.room != nil { state.isScreenPending = true } }
      return state
    }
    if let camera = now.camera { mute(camera, script.isCameraMuted(person, at: time)) }
    if let microphone = now.microphone { mute(microphone, script.isMicrophoneMuted(person, at: time)) }
    guard let room = now.room else { return }
    if isSharing, now.screen == nil, !now.isScreenPending {
      Task {
        var options = VideoPublishOptions()
        (options.isSimulcast, options.bitrate) = (false, 1_200_000)
        options.maximumFrameRate = Self.screenFramesPerSecond
        // A share that fails is left out; what ends the connection is told elsewhere.
        let screen = try? await room.localParticipant.publish(
          LocalVideoTrack(name: "screen", source: .screenShare, capturer: screenOutput), options: options)
        state.withLock { $0.screen = screen }
      }
    }
    if !isSharing, let screen = now.screen {
      state.withLock { ($0.screen, $0.isScreenPending) = (nil, false) }
      room.localParticipant.unpublish(screen)
    }
  }

  private func mute(_ publication: LocalTrackPublication, _ isMuted: Bool) {
    guard publication.isMuted != isMuted else { return }
    if isMuted { publication.mute() } else { publication.unmute() }
  }
}
