import Layouts
import MediaCore

@testable import Session

/// Writes the stream of a small room, event by event, in milliseconds, for the tests of the core.
struct RoomScript {
  private(set) var events: [SessionEvent] = []

  mutating func at(_ ms: Int64, _ event: RoomEvent) { append(ms, .room(event)) }

  /// A person with camera and microphone, both subscribed.
  mutating func join(_ name: String, at ms: Int64) {
    at(
      ms,
      .participant(
        Participant(identity: ParticipantIdentity(name), name: name.prefix(1).uppercased() + name.dropFirst())))
    publish(name, .camera, at: ms)
    publish(name, .microphone, at: ms)
  }

  mutating func publish(
    _ name: String, _ source: TrackSource, id: String? = nil, isMuted: Bool = false, isSubscribed: Bool = true,
    at ms: Int64
  ) {
    let track = Self.track(name, source, id: id, isMuted: isMuted)
    at(ms, .track(track))
    if isSubscribed { at(ms, .trackSubscribed(track.id, true)) }
  }

  static func track(_ name: String, _ source: TrackSource, id: String? = nil, isMuted: Bool = false) -> Track {
    let isAudio = source == .microphone || source == .screenShareAudio
    return Track(
      id: TrackID(id ?? "\(name).\(source.rawValue)"), participant: ParticipantIdentity(name),
      kind: isAudio ? .audio : .video, source: source, isMuted: isMuted)
  }

  /// One frame. `sent` is the sender's media clock in milliseconds; by default the time of arrival.
  mutating func frame(
    _ track: String, at ms: Int64, sent: Int64? = nil, capture: Int64? = nil, isKeyframe: Bool = true,
    followsLoss: Bool = false, codec: Codec = .vp8, level: UInt8? = nil, rotation: Int = 0
  ) {
    append(
      ms,
      .frame(
        EncodedFrame(
          codec: codec, payload: MediaBuffer([1]),
          rtpTime: (sent ?? ms) * Int64(codec.clockRate.hertz) / 1000,
          captureTime: capture.map { NTPTime(nanoseconds: $0 * 1_000_000) }, isKeyframe: isKeyframe,
          width: isKeyframe ? 640 : 0, height: isKeyframe ? 360 : 0, rotation: rotation, followsLoss: followsLoss,
          audioLevel: level), of: TrackID(track)))
  }

  /// Frames of a camera at 30 a second.
  mutating func video(_ track: String, from: Int64, to: Int64) {
    for index in 0..<max(0, (to - from) * 30 / 1000) { frame(track, at: from + index * 1000 / 30) }
  }

  private mutating func append(_ ms: Int64, _ payload: SessionEvent.Payload) {
    events.append(SessionEvent(sequence: 0, arrived: .milliseconds(ms), payload: payload))
  }

  /// The events in order of arrival, numbered.
  func ordered() -> [SessionEvent] {
    let sorted = events.enumerated().sorted { ($0.element.arrived, $0.offset) < ($1.element.arrived, $1.offset) }
    return sorted.enumerated().map { index, entry in
      SessionEvent(sequence: UInt64(index), arrived: entry.element.arrived, payload: entry.element.payload)
    }
  }

  /// Runs the core over the stream, with time advanced at the given instants (and at every event). `finding` says what comes
  /// of decoding a frame.
  func run(
    _ settings: SessionCore.Settings = .test, until end: Int64, every step: Int64 = 10,
    finding: ((EncodedFrame) -> SessionFinding.Outcome)? = nil
  ) -> SessionRun {
    var core = SessionCore(settings: settings)
    var run = SessionRun()
    var events = ordered()[...]
    for ms in stride(from: step, through: end, by: Int(step)) {
      while let event = events.first, event.arrived <= .milliseconds(ms) {
        core.handle(event)
        events.removeFirst()
      }
      core.advance(to: .milliseconds(ms))
      while let output = core.pollOutput() {
        run.outputs.append(output)
        if case .decode(let id, let frame, let track, _) = output, let finding {
          core.take(SessionFinding(id, of: track, finding(frame)))
        }
      }
    }
    return run
  }
}

/// What the core said.
struct SessionRun {
  var outputs: [SessionOutput] = []

  var plans: [FramePlan] { outputs.compactMap { if case .compose(let plan) = $0 { plan } else { nil } } }
  var notes: [TimelineEntry] { outputs.compactMap { if case .note(let entry) = $0 { entry } else { nil } } }
  var end: SessionEnd? { outputs.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first }

  /// Where sound is placed, as text.
  var sounds: [String] {
    outputs.compactMap {
      if case .audio(let id, _, _, let at, let until) = $0 {
        "\(id) \(at) \(until.map(\.description) ?? "-")"
      } else {
        nil
      }
    }
  }

  /// The plan of the slot that is shown at an instant.
  func plan(at ms: Int64) -> FramePlan? { plans.last { $0.time <= .milliseconds(ms) } }

  /// The frame of a script that a plan names.
  func frame(_ id: FrameID, of script: RoomScript) -> EncodedFrame? {
    if case .frame(let frame, _) = script.ordered()[Int(id.rawValue)].payload { frame } else { nil }
  }

  func tile(_ name: String, at ms: Int64) -> PlannedTile? {
    plan(at: ms)?.tiles.first { $0.identity.rawValue == name && !$0.layer.key.isScreenShare }
  }

  func card(_ name: String, at ms: Int64) -> PlaceholderReason? {
    if case .card(let reason)? = tile(name, at: ms)?.content { reason } else { nil }
  }

  func shows(_ name: String, at ms: Int64) -> Bool {
    if case .picture? = tile(name, at: ms)?.content { true } else { false }
  }
}

extension SessionCore.Settings {
  static let test = SessionCore.Settings(canvas: CanvasSize(width: 1280, height: 720), layout: .grid)
}
