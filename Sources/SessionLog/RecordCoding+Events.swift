import FoundationEssentials
import Layouts
import MediaCore
import Session

extension WireRecord {
  /// The record of an entry of the stream.
  init(_ entry: SessionEvent) {
    self.init()
    switch entry.payload {
    case .room(let event):
      var wire = WireEvent()
      wire.sequence = entry.sequence
      wire.arrived = entry.arrived.nanoseconds
      wire.content = WireEvent.OneOf_Content(event)
      self.event = wire
    case .frame(let frame, let track):
      var wire = WireFrame(frame, of: track)
      wire.sequence = entry.sequence
      wire.arrived = entry.arrived.nanoseconds
      self.frame = wire
    }
  }

  /// The record of an entry.
  init(_ entry: LogEntry) {
    switch entry {
    case .event(let event): self.init(event)
    case .gap(let gap):
      self.init()
      self.gap.from = gap.from.nanoseconds
      self.gap.until = gap.until.nanoseconds
      self.gap.frames = gap.frames
    case .end(let end):
      self.init()
      self.end.reason = WireReason(end.reason)
      self.end.length = end.length.nanoseconds
    }
  }

  /// The entry of the record; nil for a beginning, and for what this version does not know.
  func entry(_ layouts: LayoutTextReader) throws(LogError) -> LogEntry? {
    switch content {
    case nil, .beginning: return nil
    case .gap(let gap):
      return .gap(
        LogGap(
          from: SessionTime(nanoseconds: gap.from), until: SessionTime(nanoseconds: gap.until), frames: gap.frames))
    case .end(let end):
      guard let reason = end.reason.value else { return nil }
      return .end(LogEnd(reason: reason, length: .nanoseconds(end.length)))
    case .event(let event):
      guard let value = try event.value(layouts) else { return nil }
      return .event(
        SessionEvent(
          sequence: event.sequence, arrived: SessionTime(nanoseconds: event.arrived), payload: .room(value)))
    case .frame(let frame):
      guard let value = frame.value else { return nil }
      return .event(
        SessionEvent(
          sequence: frame.sequence, arrived: SessionTime(nanoseconds: frame.arrived),
          payload: .frame(value, of: TrackID(LogBounds.name(frame.track)))))
    }
  }
}

extension WireFrame {
  fileprivate init(_ frame: EncodedFrame, of track: TrackID) {
    self.init()
    self.track = track.rawValue
    codec = frame.codec.rawValue
    payload = Data(frame.payload.bytes)
    rtpTime = frame.rtpTime
    if let time = frame.captureTime { captureTime = time.rawValue }
    isKeyframe = frame.isKeyframe
    width = UInt32(clamping: frame.width)
    height = UInt32(clamping: frame.height)
    layerCount = frame.layerCount == 1 ? 0 : UInt32(clamping: frame.layerCount)
    rotation = UInt32(clamping: frame.rotation)
    followsLoss = frame.followsLoss
    if let level = frame.audioLevel { audioLevel = UInt32(level) }
    held = frame.held.nanoseconds
  }

  /// Nil for a codec that is not known.
  fileprivate var value: EncodedFrame? {
    guard let codec = Codec(rawValue: codec) else { return nil }
    let buffer = MediaBuffer(capacity: payload.count)
    payload.withUnsafeBytes { _ = buffer.append($0) }
    return EncodedFrame(
      codec: codec, payload: buffer, rtpTime: rtpTime, captureTime: hasCaptureTime ? NTPTime(captureTime) : nil,
      isKeyframe: isKeyframe, width: Int(min(width, 65_536)), height: Int(min(height, 65_536)),
      layerCount: Int(max(1, min(layerCount, 8))), rotation: [90, 180, 270].contains(rotation) ? Int(rotation) : 0,
      followsLoss: followsLoss, audioLevel: hasAudioLevel ? UInt8(min(audioLevel, 127)) : nil,
      held: max(.zero, min(.nanoseconds(held), .seconds(60))))
  }
}

extension WireEvent.OneOf_Content {
  fileprivate init(_ event: RoomEvent) {
    switch event {
    case .joined(let room): self = .joined(room)
    case .participant(let participant): self = .participant(WireParticipant(participant))
    case .participantLeft(let identity): self = .participantLeft(identity.rawValue)
    case .track(let track): self = .track(WireTrack(track))
    case .trackUnpublished(let id): self = .trackUnpublished(id.rawValue)
    case .trackSubscribed(let id, let value): self = .trackSubscribed(WireTrackFlag(id, value))
    case .trackPaused(let id, let value): self = .trackPaused(WireTrackFlag(id, value))
    case .trackReception(let id, let reception):
      self = .trackReception(.with { ($0.track, $0.reception) = (id.rawValue, reception.rawValue) })
    case .speakers(let speakers): self = .speakers(.with { $0.speakers = speakers.map(WireSpeaker.init) })
    case .network(let report): self = .network(WireNetwork(report))
    case .data(let message): self = .data(WireData(message))
    case .chat(let message): self = .chat(WireChat(message))
    case .caption(let caption): self = .caption(WireCaption(caption))
    case .connectionLost(let reason): self = .connectionLost(reason)
    case .connectionRestored: self = .connectionRestored(true)
    case .synchronized: self = .synchronized(true)
    case .setLayout(let layout): self = .setLayout(WireLayoutText(layout))
    case .pin(let tile): self = .pin(WireTile(tile))
    case .unpin(let tile?): self = .unpin(WireTile(tile))
    case .unpin(nil): self = .unpinAll(true)
    case .spotlight(let tile?): self = .spotlight(WireTile(tile))
    case .spotlight(nil): self = .noSpotlight(true)
    case .process(let rule): self = .process(WireProcessorRule(rule))
    case .title(let title): self = .title(title)
    case .pause(let policy): self = .pause(policy.rawValue)
    case .resume: self = .resume(true)
    case .marker(let text): self = .marker(text)
    case .ended(let reason): self = .ended(WireReason(reason))
    }
  }
}

extension WireEvent {
  /// Nil for what this version does not know.
  fileprivate func value(_ layouts: LayoutTextReader) throws(LogError) -> RoomEvent? {
    switch content {
    case nil: return nil
    case .joined(let room): return .joined(room: LogBounds.name(room))
    case .participant(let participant): return .participant(participant.value)
    case .participantLeft(let identity): return .participantLeft(ParticipantIdentity(LogBounds.name(identity)))
    case .track(let track): return track.value.map { .track($0) }
    case .trackUnpublished(let id): return .trackUnpublished(TrackID(LogBounds.name(id)))
    case .trackSubscribed(let flag): return .trackSubscribed(TrackID(LogBounds.name(flag.track)), flag.value)
    case .trackPaused(let flag): return .trackPaused(TrackID(LogBounds.name(flag.track)), flag.value)
    case .trackReception(let reception):
      return Session.TrackReception(rawValue: reception.reception).map {
        .trackReception(TrackID(LogBounds.name(reception.track)), $0)
      }
    case .speakers(let speakers): return .speakers(speakers.speakers.map(\.value))
    case .network(let report): return .network(report.value)
    case .data(let message): return .data(message.value)
    case .chat(let message): return message.value.map { .chat($0) }
    case .caption(let caption): return .caption(caption.value)
    case .connectionLost(let reason): return .connectionLost(LogBounds.text(reason))
    case .connectionRestored: return .connectionRestored
    case .synchronized: return .synchronized
    case .setLayout(let layout): return .setLayout(try layouts(layout.name, layout.text))
    case .pin(let tile): return .pin(tile.value)
    case .unpin(let tile): return .unpin(tile.value)
    case .unpinAll: return .unpin(nil)
    case .spotlight(let tile): return .spotlight(tile.value)
    case .noSpotlight: return .spotlight(nil)
    case .process(let rule): return rule.value.map { .process($0) }
    case .title(let title): return .title(LogBounds.name(title))
    case .pause(let policy): return PausePolicy(rawValue: policy).map { .pause($0) }
    case .resume: return .resume
    case .marker(let text): return .marker(LogBounds.name(text))
    case .ended(let reason): return reason.value.map { .ended($0) }
    }
  }
}

extension WireParticipant {
  fileprivate init(_ participant: Participant) {
    self.init()
    identity = participant.identity.rawValue
    name = participant.name
    metadata = participant.metadata
    attributes = participant.attributes
    isBot = participant.isBot
  }

  fileprivate var value: Participant {
    Participant(
      identity: ParticipantIdentity(LogBounds.name(identity)), name: LogBounds.name(name),
      metadata: LogBounds.text(metadata), attributes: attributes.mapValues(LogBounds.text), isBot: isBot)
  }
}

extension WireTrack {
  fileprivate init(_ track: Track) {
    self.init()
    id = track.id.rawValue
    participant = track.participant.rawValue
    kind = track.kind.rawValue
    source = track.source.rawValue
    name = track.name
    isMuted = track.isMuted
    obstacle = track.obstacle?.rawValue ?? ""
  }

  fileprivate var value: Track? {
    guard let kind = MediaKind(rawValue: kind) else { return nil }
    return Track(
      id: TrackID(LogBounds.name(id)), participant: ParticipantIdentity(LogBounds.name(participant)), kind: kind,
      source: TrackSource(rawValue: source) ?? .unknown, name: LogBounds.name(name), isMuted: isMuted,
      obstacle: TrackObstacle(rawValue: obstacle))
  }
}

extension WireTrackFlag {
  fileprivate init(_ id: TrackID, _ value: Bool) {
    self.init()
    (track, self.value) = (id.rawValue, value)
  }
}

extension WireTile {
  fileprivate init(_ tile: TileSelector) {
    self.init()
    (participant, isScreenShare) = (tile.participant, tile.isScreenShare)
  }

  fileprivate var value: TileSelector {
    TileSelector(participant: LogBounds.name(participant), isScreenShare: isScreenShare)
  }
}

extension WireReason {
  fileprivate init(_ end: SessionEnd) {
    self.init()
    switch end {
    case .stopped: reason = "stopped"
    case .roomEnded: reason = "roomEnded"
    case .evicted: reason = "evicted"
    case .removed: reason = "removed"
    case .maxDuration: reason = "maxDuration"
    case .empty: reason = "empty"
    case .connectionLost(let why): (reason, text) = ("connectionLost", why)
    }
  }

  fileprivate var value: SessionEnd? {
    switch reason {
    case "stopped": .stopped
    case "roomEnded": .roomEnded
    case "evicted": .evicted
    case "removed": .removed
    case "maxDuration": .maxDuration
    case "empty": .empty
    case "connectionLost": .connectionLost(LogBounds.text(text))
    default: nil
    }
  }
}
