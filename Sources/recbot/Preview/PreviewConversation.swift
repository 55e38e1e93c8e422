import Codecs
import Layouts
import Logging
import MediaCore
import Recording
import Session
import Synthetic

/// Records the demo's conversation in a layout without a room: the people are drawn and encoded, and their frames go
/// through the recorder as if they had come over the network. The same on every run.
final class PreviewConversation {
  static let duration = Duration.seconds(12)
  private static let framesPerSecond = 30

  private let script: DemoScript
  private let recording: OfflineRecording
  private let people: [Person]

  /// - Parameters:
  ///   - layout: what is shown where.
  ///   - canvas: size of the recording.
  ///   - participants: how many people, 1 to 12.
  ///   - isExact: cells are those of a composition that knows beforehand when everybody leaves.
  ///   - output: the WebM to write; it must not exist.
  ///   - logger: where it says what it could not draw.
  init(
    layout: Layout, canvas: CanvasSize, participants: Int, isExact: Bool, output: String, logger: Logger
  ) throws {
    script = DemoScript(participants: participants, duration: Self.duration)
    let session = SessionCore.Settings(
      canvas: canvas, layout: layout,
      arrangementRule: isExact
        ? TwilioComposition(layout: layout, canvas: canvas, sources: Self.sources(script)) : nil,
      framesPerSecond: Self.framesPerSecond, title: "recbot preview", startDate: 1_795_271_400_000_000_000)
    do {
      recording = try OfflineRecording(
        settings: RecordingSettings(session: session, output: output), logger: logger)
    } catch {
      throw Failure(error)
    }
    let script = script
    people = try (0..<participants).map { try Person($0, name: script.name($0)) }
  }

  /// Plays the conversation. The file is whole when it returns.
  func run() throws {
    do {
      try recording.take(.room(.joined(room: "preview")), at: .zero)
      try recording.take(.room(.synchronized), at: .zero)
      // Steps of 20 ms: a packet of sound each; pictures are due in three of five.
      for (block, time) in Self.instants.enumerated() {
        for person in people { try step(person, block: Int64(block), at: time) }
      }
      _ = try recording.finish(at: .zero + Self.duration)
    } catch let error as RecordingError {
      throw Failure(error)
    }
  }

  /// The instants that are looked at: a packet of sound each.
  private static var instants: [SessionTime] {
    (0..<(duration.milliseconds / 20)).map { .zero + .milliseconds($0 * 20) }
  }

  /// When a person comes: one after the other in the first second.
  private static func arrival(_ person: Int) -> SessionTime { .zero + .milliseconds(Int64(person) * 80) }

  /// Everything that is published, and for how long: what is known of a room that is over.
  static func sources(_ script: DemoScript) -> [TwilioComposition.Source] {
    var sources: [TwilioComposition.Source] = []
    for number in 0..<script.participants {
      let identity = Person.identity(script.name(number))
      func add(_ key: TileKey, _ name: String, _ size: (width: Int, height: Int), _ times: [SessionTime]) {
        guard let first = times.first, let last = times.last else { return }
        sources.append(
          TwilioComposition.Source(
            LayoutSource(
              key: key, pictureWidth: size.width, pictureHeight: size.height, displayName: script.name(number),
              trackName: name, trackID: "\(identity)-\(key.isScreenShare ? "screenShare" : "camera")"),
            start: first, stop: last + .milliseconds(20)))
      }
      let present = instants.filter { $0 >= arrival(number) }
      add(.camera(identity), "camera", PreviewRoom.cameraSize, present)
      add(
        .screenShare(identity), "screen", PreviewRoom.screenSize, present.filter { script.isSharing(number, at: $0) })
    }
    return sources
  }

  private func step(_ person: Person, block: Int64, at time: SessionTime) throws {
    guard time >= Self.arrival(person.number) else { return }
    for event in person.changes(by: script, at: time) { try recording.take(.room(event), at: time) }
    let isTalking = script.isTalking(person.number, at: time) && !script.isMicrophoneMuted(person.number, at: time)
    if let sound = try person.audio(block: block, isTalking: isTalking) { try recording.take(sound, at: time) }
    let picture = block * Int64(Self.framesPerSecond) / 50
    if picture != (block - 1) * Int64(Self.framesPerSecond) / 50 {
      for frame in try person.pictures(number: picture, block: block) { try recording.take(frame, at: time) }
    }
  }
}

/// One drawn person of a preview: what they publish, and the encoders.
private final class Person {
  let number: Int
  private let identity: ParticipantIdentity
  private let name: String
  private var hasJoined = false
  private var isCameraMuted = false
  private var isMicrophoneMuted = false
  private var isSharing = false
  private var wantsKeyframe = true
  private let camera: SyntheticCamera
  private let screen: SyntheticScreen
  private var voice: SyntheticVoice
  private let cameraEncoder: VPXEncoder
  private var screenEncoder: VPXEncoder?
  private let audioEncoder: OpusEncoder
  private let cameraPicture: Picture
  private let screenPicture: Picture
  private var samples = [Float](repeating: 0, count: OpusEncoder.frameSamples * OpusEncoder.channels)
  private var packet = [UInt8](repeating: 0, count: OpusEncoder.maximumPacketSize)

  private static let size = PreviewRoom.cameraSize
  private static let screenSize = PreviewRoom.screenSize

  static func identity(_ name: String) -> ParticipantIdentity { ParticipantIdentity(name.lowercased()) }

  init(_ number: Int, name: String) throws {
    self.number = number
    self.name = name
    identity = Self.identity(name)
    let (size, screenSize) = (Self.size, Self.screenSize)
    camera = SyntheticCamera(seed: 1, identity: number, width: size.width, height: size.height)
    screen = SyntheticScreen(seed: 1, width: screenSize.width, height: screenSize.height)
    voice = SyntheticVoice(seed: 1, identity: number)
    cameraEncoder = try VPXEncoder(.vp8, width: size.width, height: size.height, framesPerSecond: 30, bitrate: 900_000)
    audioEncoder = try OpusEncoder()
    cameraPicture = Picture(width: size.width, height: size.height)
    screenPicture = Picture(width: screenSize.width, height: screenSize.height)
  }

  private func track(_ source: TrackSource, isMuted: Bool = false) -> Track {
    let kind: MediaKind = source == .microphone ? .audio : .video
    return Track(
      id: TrackID("\(identity)-\(source.rawValue)"), participant: identity, kind: kind, source: source,
      name: source == .microphone ? "mic" : source == .screenShare ? "screen" : "camera", isMuted: isMuted)
  }

  /// What the room says of this person at an instant.
  func changes(by script: DemoScript, at time: SessionTime) -> [RoomEvent] {
    var events: [RoomEvent] = []
    func publish(_ track: Track) { events += [.track(track), .trackSubscribed(track.id, true)] }
    let cameraOff = script.isCameraMuted(number, at: time)
    let microphoneOff = script.isMicrophoneMuted(number, at: time)
    if !hasJoined {
      hasJoined = true
      (isCameraMuted, isMicrophoneMuted) = (cameraOff, microphoneOff)
      events.append(.participant(Participant(identity: identity, name: name)))
      publish(track(.camera, isMuted: cameraOff))
      publish(track(.microphone, isMuted: microphoneOff))
    }
    if cameraOff != isCameraMuted {
      isCameraMuted = cameraOff
      wantsKeyframe = wantsKeyframe || !cameraOff
      events.append(.track(track(.camera, isMuted: cameraOff)))
    }
    if microphoneOff != isMicrophoneMuted {
      isMicrophoneMuted = microphoneOff
      events.append(.track(track(.microphone, isMuted: microphoneOff)))
    }
    let sharing = script.isSharing(number, at: time)
    if sharing != isSharing {
      isSharing = sharing
      if sharing { publish(track(.screenShare)) } else { events.append(.trackUnpublished(track(.screenShare).id)) }
      screenEncoder = nil
    }
    return events
  }

  /// The next 20 ms of the microphone; nil while it is off.
  func audio(block: Int64, isTalking: Bool) throws -> SessionEvent.Payload? {
    samples.withUnsafeMutableBufferPointer { voice.render(into: $0, isSpeaking: isTalking) }
    guard !isMicrophoneMuted else { return nil }
    let count = try samples.withUnsafeBufferPointer { samples in
      try packet.withUnsafeMutableBytes { try audioEncoder.encode(samples, into: $0) }
    }
    let payload = packet.withUnsafeBytes { MediaBuffer(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    let time = block * Int64(OpusEncoder.frameSamples)
    let frame = EncodedFrame(codec: .opus, payload: payload, rtpTime: time, isKeyframe: true)
    return .frame(frame, of: track(.microphone).id)
  }

  /// The pictures of camera and screen that are due.
  func pictures(number picture: Int64, block: Int64) throws -> [SessionEvent.Payload] {
    var frames: [SessionEvent.Payload] = []
    if !isCameraMuted {
      camera.draw(frame: Int(picture), voiceLevel: voice.level, into: cameraPicture)
      if let frame = try encode(
        cameraPicture, with: cameraEncoder, block: block, forceKeyframe: wantsKeyframe)
      {
        frames.append(.frame(frame, of: track(.camera).id))
      }
      wantsKeyframe = false
    }
    // Ten pictures of the screen a second.
    if isSharing, picture % 3 == 0 {
      let isFirst = screenEncoder == nil
      let encoder =
        try screenEncoder
        ?? VPXEncoder(.vp8, width: screen.width, height: screen.height, framesPerSecond: 10, bitrate: 1_500_000)
      screenEncoder = encoder
      screen.draw(frame: Int(picture / 2), into: screenPicture)
      if let frame = try encode(
        screenPicture, with: encoder, block: block, forceKeyframe: isFirst)
      {
        frames.append(.frame(frame, of: track(.screenShare).id))
      }
    }
    return frames
  }

  private func encode(
    _ picture: Picture, with encoder: VPXEncoder, block: Int64, forceKeyframe: Bool
  ) throws -> EncodedFrame? {
    let time = block * 1_800
    var frame: EncodedFrame?
    _ = try encoder.encode(picture, pts: time, forceKeyframe: forceKeyframe) { bytes, isKeyframe in
      frame = EncodedFrame(
        codec: .vp8, payload: MediaBuffer(copying: bytes), rtpTime: time,
        isKeyframe: isKeyframe, width: isKeyframe ? picture.width : 0, height: isKeyframe ? picture.height : 0)
    }
    return frame
  }
}
