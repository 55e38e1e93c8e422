import Logging
import Signaling

/// Who is told what.
extension RoomMachine {
  /// A message for one client; nobody hears it while the signal connection is lost.
  mutating func send(_ sid: String, _ message: Livekit_SignalResponse) {
    if member(sid)?.link != nil { act(.send(sid, message)) }
  }

  /// News of the room for one client. What isn't heard is told later, all at once.
  mutating func tell(_ sid: String, _ news: Livekit_SignalResponse) {
    if member(sid)?.link != nil { act(.tell(sid, news)) }
  }

  /// News of the room for everybody.
  mutating func tellAll(_ news: Livekit_SignalResponse) {
    for member in members where member.link != nil { act(.tell(member.sid, news)) }
  }

  /// Tells everybody who may know of a participant how it is now.
  mutating func announce(_ sid: String) {
    guard let member = member(sid) else { return }
    let update = Livekit_SignalResponse.update([member.info()])
    if member.isVisible { tellAll(update) } else { tell(sid, update) }
  }

  /// Something that others see of a participant changed: they hear of it.
  mutating func changed(_ sid: String) {
    change(sid) { $0.touch() }
    announce(sid)
  }

  /// Sends claims with which the client can come back later.
  mutating func renewToken(of sid: String, at now: Moment) {
    if let token = change(sid, { $0.renewedToken(at: now) }) { act(.renewToken(sid, token)) }
  }

  /// A line for the log about a participant.
  mutating func log(_ level: Logger.Level, _ text: String, of sid: String, _ details: [String: String] = [:]) {
    var details = details
    details["identity"] = member(sid)?.identity
    act(.log(level, text, details))
  }

  /// The answer to a join.
  func joinResponse(to member: Member, others: [Member]) -> Livekit_SignalResponse {
    var join = Livekit_JoinResponse()
    join.room = info
    join.participant = member.info()
    join.otherParticipants = others.map { $0.info() }
    join.serverVersion = ServerIdentity.version
    join.serverInfo = ServerIdentity.info
    join.iceServers = limits.iceServers
    join.subscriberPrimary = member.receives
    join.pingInterval = 5
    join.pingTimeout = 15
    join.enabledPublishCodecs = Self.codecs
    join.fastPublish = member.grant.allowsPublish
    return Livekit_SignalResponse(.join(join))
  }

  /// Tells of those whose loudness has changed. Who isn't in `levels` is silent.
  mutating func tellSpeakers(_ levels: [String: Float]) {
    var changes: [(member: Member, info: Livekit_SpeakerInfo)] = []
    for member in members {
      guard change(member.sid, { $0.setSpeakerLevel(levels[member.sid] ?? 0) }) == true,
        let changed = self.member(member.sid)
      else { continue }
      changes.append((changed, changed.speakerInfo))
    }
    guard !changes.isEmpty else { return }
    for member in members {
      var message = Livekit_SpeakersChanged()
      message.speakers = changes.compactMap { change in
        change.member.isVisible || change.member.sid == member.sid ? change.info : nil
      }
      if !message.speakers.isEmpty { tell(member.sid, Livekit_SignalResponse(.speakersChanged(message))) }
    }
  }
}
