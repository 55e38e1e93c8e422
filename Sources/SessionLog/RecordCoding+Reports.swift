import FoundationEssentials
import MediaCore
import Session

extension WireSpeaker {
  init(_ speaker: Speaker) {
    self.init()
    participant = speaker.participant.rawValue
    level = UInt32(clamping: speaker.level)
    isActive = speaker.isActive
  }

  var value: Speaker {
    Speaker(
      participant: ParticipantIdentity(LogBounds.name(participant)), level: Int(min(level, 1000)), isActive: isActive)
  }
}

extension WireNetwork {
  init(_ report: NetworkReport) {
    self.init()
    incoming = report.incoming
    incomingAudio = report.incomingAudio
    incomingVideo = report.incomingVideo
    flowingVideos = UInt32(clamping: report.flowingVideos)
    lossPerMille = UInt32(clamping: report.lossPerMille)
    queueDelay = report.queueDelay.nanoseconds
    if let bitrate = report.estimate { estimate = bitrate }
    quality = report.quality.rawValue
    carrier = report.path?.carrier.rawValue ?? ""
    address = report.path?.address ?? ""
  }

  var value: NetworkReport {
    func rate(_ value: Int64) -> Int64 { max(0, min(value, 1 << 40)) }
    return NetworkReport(
      incoming: rate(incoming), incomingAudio: rate(incomingAudio), incomingVideo: rate(incomingVideo),
      flowingVideos: Int(min(flowingVideos, 1 << 20)), lossPerMille: Int(min(lossPerMille, 1000)),
      queueDelay: max(.zero, min(.nanoseconds(queueDelay), .seconds(3600))),
      estimate: hasEstimate ? rate(estimate) : nil, quality: ConnectionQuality(rawValue: quality) ?? .unknown,
      path: NetworkPath.Carrier(rawValue: carrier).map { NetworkPath($0, LogBounds.name(address)) })
  }
}

extension WireData {
  init(_ message: DataMessage) {
    self.init()
    if let sender = message.participant { participant = sender.rawValue }
    topic = message.topic
    payload = Data(message.payload)
  }

  var value: DataMessage {
    DataMessage(
      participant: hasParticipant ? ParticipantIdentity(LogBounds.name(participant)) : nil,
      topic: LogBounds.name(topic), payload: Array(payload.prefix(65_536)))
  }
}

extension WireChat {
  init(_ message: ChatMessage) {
    self.init()
    id = message.id
    if let sender = message.participant { participant = sender.rawValue }
    text = message.text
    timestamp = message.timestamp
    action = message.action.rawValue
    isCut = message.isCut
  }

  /// Nil for an action that is not known.
  var value: ChatMessage? {
    ChatMessage.Action(rawValue: action).map { action in
      ChatMessage(
        id: LogBounds.name(id), participant: hasParticipant ? ParticipantIdentity(LogBounds.name(participant)) : nil,
        text: LogBounds.text(text), timestamp: timestamp, action: action, isCut: isCut)
    }
  }
}

extension WireCaption {
  init(_ caption: Caption) {
    self.init()
    id = caption.id
    if let speaker = caption.participant { participant = speaker.rawValue }
    text = caption.text
    language = caption.language
    isFinal = caption.isFinal
  }

  var value: Caption {
    Caption(
      id: LogBounds.name(id), participant: hasParticipant ? ParticipantIdentity(LogBounds.name(participant)) : nil,
      text: LogBounds.text(text), language: LogBounds.name(language), isFinal: isFinal)
  }
}
