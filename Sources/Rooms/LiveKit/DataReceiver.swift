import MediaCore
import Session
import Signaling

/// Makes room events of what comes on a LiveKit room's data channels: data packets, chat in its three forms, text
/// streams and transcriptions. Total, bounded, and without a clock: senders are not trusted.
struct DataReceiver: Sendable {
  /// How much may come of one kind of event on average, and at once.
  private struct Budget {
    /// Bytes a second.
    let rate: Int64
    let burst: Int64
    var left: Int64
    var since: Instant?

    init(rate: Int64, burst: Int64) {
      (self.rate, self.burst, left) = (rate, burst, burst)
    }

    /// False when it is used up.
    mutating func spend(_ bytes: Int, at now: Instant) -> Bool {
      let elapsed = max(.zero, min(now - (since ?? now), .seconds(60)))
      // Spent time counts only in whole bytes, so that many small steps add up to the same.
      let gained = elapsed.nanoseconds / (1_000_000_000 / rate)
      left = min(burst, left + gained)
      since = since.map { $0 + .nanoseconds(gained &* (1_000_000_000 / rate)) } ?? now
      if left == burst { since = now }
      guard left >= Int64(bytes) else { return false }
      left -= Int64(bytes)
      return true
    }
  }

  /// The topic of chat in text streams.
  static let chatTopic = "lk.chat"
  /// The topic of chat in data packets, as older web clients send it beside the new form.
  static let oldChatTopic = "lk-chat-topic"
  /// The topic of transcriptions in text streams.
  static let transcriptionTopic = "lk.transcription"
  /// Bytes of an id or a topic; longer ones are cut.
  static let nameLimit = 256
  private static let recentLimit = 256
  private static let senderLimit = 1024
  /// What an event costs beside its text.
  private static let eventCost = 256

  private var streams = TextStreams()
  /// The newest reliable packet of each sender's session.
  private var sequences: [String: UInt32] = [:]
  /// Chat that was told, so that a message that comes in two forms is told once.
  private var recent: [String] = []
  private var words = Budget(rate: 65_536, burst: 1 << 20)
  private var data = Budget(rate: 262_144, burst: 1 << 20)
  /// Events that were left out because too much came.
  private(set) var dropped: UInt64 = 0
  /// Packets that were encrypted end to end.
  private(set) var encrypted: UInt64 = 0

  /// The newest reliable packet of each sender, for going on with a session.
  var receiveStates: [Livekit_DataChannelReceiveState] {
    sequences.sorted { $0.key < $1.key }.map { state in .with { ($0.publisherSid, $0.lastSeq) = state } }
  }

  /// Streams that are not complete yet.
  var openStreams: Int { streams.count }

  /// Takes one message of a data channel at `now`. `roster` tells whose session an id is, and whose track.
  mutating func receive(
    _ packet: Livekit_DataPacket, isReliable: Bool, roster: LiveKitRoster, at now: Instant
  ) -> [RoomEvent] {
    guard !isReliable || isNew(packet, roster), let value = packet.value else { return [] }
    let sender = sender(of: packet, roster)
    switch value {
    case .user(let user): return receive(user, from: sender, at: now)
    case .chatMessage(let message): return chat(Self.chat(message, from: sender), at: now)
    case .transcription(let transcription): return receive(transcription, from: sender, roster: roster, at: now)
    case .streamHeader(let header):
      if let stream = streams.receive(header, from: sender, at: now) { return finished(stream, roster, at: now) }
      return begun(header, sender, roster, at: now)
    case .streamChunk(let chunk):
      streams.receive(chunk, from: sender, at: now)
      return []
    case .streamTrailer(let trailer):
      return streams.receive(trailer, from: sender).map { finished($0, roster, at: now) } ?? []
    case .encryptedPacket:
      encrypted &+= 1
      return []
    case .speaker, .sipDtmf, .rpcRequest, .rpcAck, .rpcResponse: return []
    }
  }

  // MARK: Who and what

  /// False for a packet that was here before: after a resume the server sends again what it is not sure of.
  private mutating func isNew(_ packet: Livekit_DataPacket, _ roster: LiveKitRoster) -> Bool {
    guard packet.sequence != 0, !packet.participantSid.isEmpty else { return true }
    if sequences.count >= Self.senderLimit, sequences[packet.participantSid] == nil {
      // In a room where people come and go for long, most of them are gone.
      sequences = sequences.filter { roster.identity(ofSession: $0.key) != nil }
    }
    if let last = sequences[packet.participantSid] {
      guard packet.sequence > last else { return false }
    } else if sequences.count >= Self.senderLimit || packet.participantSid.utf8.count > Self.nameLimit {
      return true
    }
    sequences[packet.participantSid] = packet.sequence
    return true
  }

  /// The server writes the identity into the packet; older ones only the session.
  func sender(of packet: Livekit_DataPacket, _ roster: LiveKitRoster) -> ParticipantIdentity? {
    for identity in [packet.participantIdentity, packet.user.participantIdentity] where !identity.isEmpty {
      return ParticipantIdentity(Self.cut(identity))
    }
    for session in [packet.participantSid, packet.user.participantSid] {
      if let identity = roster.identity(ofSession: session) { return identity }
    }
    return nil
  }

  private static func cut(_ name: String) -> String {
    name.utf8.count <= nameLimit ? name : String(decoding: name.utf8.prefix(nameLimit), as: UTF8.self)
  }

  /// A text of at most 64 KiB.
  private static func text(_ bytes: some Collection<UInt8>) -> (text: String, isCut: Bool) {
    let limit = TextStreams.contentLimit
    return (String(decoding: bytes.prefix(limit), as: UTF8.self), bytes.count > limit)
  }

  // MARK: Data

  private mutating func receive(
    _ user: Livekit_UserPacket, from sender: ParticipantIdentity?, at now: Instant
  ) -> [RoomEvent] {
    if user.topic == Self.oldChatTopic, let old = LegacyChatMessage(json: user.payload) {
      guard !old.isDuplicate else { return [] }
      let (text, isCut) = Self.text(old.message.utf8)
      let message = ChatMessage(
        id: Self.cut(old.id), participant: sender, text: text, timestamp: old.timestamp ?? 0,
        action: old.editTimestamp == nil ? .posted : .edited, isCut: isCut)
      return chat(message, at: now)
    }
    return message(user.topic, user.payload, from: sender, at: now)
  }

  private mutating func message(
    _ topic: String, _ payload: some Collection<UInt8>, from sender: ParticipantIdentity?, at now: Instant
  ) -> [RoomEvent] {
    guard payload.count <= TextStreams.contentLimit, data.spend(payload.count + Self.eventCost, at: now) else {
      dropped &+= 1
      return []
    }
    return [.data(DataMessage(participant: sender, topic: Self.cut(topic), payload: Array(payload)))]
  }

  // MARK: Chat

  private static func chat(_ message: Livekit_ChatMessage, from sender: ParticipantIdentity?) -> ChatMessage {
    let (text, isCut) = text(message.message.utf8)
    return ChatMessage(
      id: cut(message.id), participant: sender, text: message.deleted ? "" : text, timestamp: message.timestamp,
      action: message.deleted ? .deleted : message.hasEditTimestamp ? .edited : .posted, isCut: isCut)
  }

  private mutating func chat(_ message: ChatMessage, at now: Instant) -> [RoomEvent] {
    let key = "\(message.participant?.rawValue ?? "")\u{0}\(message.id)\u{0}\(message.action.rawValue)"
    if message.action == .posted, !message.id.isEmpty {
      guard !recent.contains(key) else { return [] }
      if recent.count >= Self.recentLimit { recent.removeFirst() }
      recent.append(key)
    }
    guard words.spend(message.text.utf8.count + Self.eventCost, at: now) else {
      dropped &+= 1
      return []
    }
    return [.chat(message)]
  }

  // MARK: Transcriptions

  private mutating func receive(
    _ transcription: Livekit_Transcription, from sender: ParticipantIdentity?, roster: LiveKitRoster, at now: Instant
  ) -> [RoomEvent] {
    var speaker = roster.track(TrackID(transcription.trackID))?.participant
    if !transcription.transcribedParticipantIdentity.isEmpty {
      speaker = ParticipantIdentity(Self.cut(transcription.transcribedParticipantIdentity))
    }
    return transcription.segments.prefix(64).flatMap { segment in
      caption(
        Caption(
          id: Self.cut(segment.id), participant: speaker ?? sender, text: Self.text(segment.text.utf8).text,
          language: Self.cut(segment.language), isFinal: segment.final), at: now)
    }
  }

  private mutating func caption(_ caption: Caption, at now: Instant) -> [RoomEvent] {
    guard words.spend(caption.text.utf8.count + Self.eventCost, at: now) else {
      dropped &+= 1
      return []
    }
    return [.caption(caption)]
  }

  // MARK: Text streams

  /// A transcription in a stream begins: that is when the words were spoken.
  private mutating func begun(
    _ header: Livekit_DataStream.Header, _ sender: ParticipantIdentity?, _ roster: LiveKitRoster, at now: Instant
  ) -> [RoomEvent] {
    guard header.topic == Self.transcriptionTopic else { return [] }
    let (id, speaker) = segment(header.streamID, header.attributes, sender, roster)
    return caption(Caption(id: id, participant: speaker, text: "", isFinal: false), at: now)
  }

  private func segment(
    _ id: String, _ attributes: [String: String], _ sender: ParticipantIdentity?, _ roster: LiveKitRoster
  ) -> (id: String, speaker: ParticipantIdentity?) {
    let track = attributes["lk.transcribed_track_id"].flatMap { roster.track(TrackID($0))?.participant }
    return (Self.cut(attributes["lk.segment_id"] ?? id), track ?? sender)
  }

  private mutating func finished(
    _ stream: TextStreams.Finished, _ roster: LiveKitRoster, at now: Instant
  ) -> [RoomEvent] {
    guard stream.isText else {
      // A file; one that was cut is of no use.
      if stream.isCut {
        dropped &+= 1
        return []
      }
      return message(stream.topic, stream.bytes, from: stream.sender, at: now)
    }
    switch stream.topic {
    case Self.chatTopic:
      let action: ChatMessage.Action =
        switch stream.operation {
        case .update: .edited
        case .delete: .deleted
        case .create, .reaction, .UNRECOGNIZED: .posted
        }
      let text = action == .deleted ? "" : String(decoding: stream.bytes, as: UTF8.self)
      let message = ChatMessage(
        id: Self.cut(stream.id), participant: stream.sender, text: text, timestamp: stream.timestamp, action: action,
        isCut: stream.isCut)
      return chat(message, at: now)
    case Self.transcriptionTopic:
      let (id, speaker) = segment(stream.id, stream.attributes, stream.sender, roster)
      let isFinal = stream.attributes["lk.transcription_final"].map { $0 == "true" } ?? true
      return caption(
        Caption(
          id: id, participant: speaker, text: String(decoding: stream.bytes, as: UTF8.self),
          language: Self.cut(stream.attributes["lk.language"] ?? ""), isFinal: isFinal), at: now)
    default: return message(stream.topic, stream.bytes, from: stream.sender, at: now)
    }
  }
}
