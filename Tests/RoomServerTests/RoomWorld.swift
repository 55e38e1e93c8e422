import MediaCore
import Signaling
import TestKit
import Testing

@testable import RoomServer

/// A room's machine in manual time, with a shell that does everything at once, and with what each client knows.
struct RoomWorld {
  /// What a client has been told.
  struct Client {
    let identity: String
    var link: SignalID
    /// False while what is sent to it is lost without the room's knowing.
    var hears = true
    /// False while news are kept from it.
    var hearsNews = true
    /// Everybody else of whom it was told and who is there, by identity: who joins again takes the own place.
    var others: [String: Livekit_ParticipantInfo] = [:]
    /// Itself as it was told.
    var own = Livekit_ParticipantInfo()
    /// Everybody of whom it was told anything.
    var heardOf: Set<String> = []
    /// Who it was told has left, that often, since it last came back.
    var goodbyes: [String: Int] = [:]
    var farewells = 0
    var receives: Set<String> = []
    var messages: [Livekit_SignalResponse] = []
    var data: [[UInt8]] = []

    /// Takes a message of the room; it is `sid` there.
    mutating func take(_ message: Livekit_SignalResponse, as sid: String, isNews: Bool) {
      guard hears, hearsNews || !isNews else { return }
      messages.append(message)
      switch message.message {
      case .join(let join):
        own = join.participant
        for other in join.otherParticipants { others[other.identity] = other }
        heardOf.formUnion(join.otherParticipants.map(\.sid))
      case .update(let update):
        for info in update.participants {
          if info.sid == sid {
            own = info
            continue
          }
          heardOf.insert(info.sid)
          if info.state == .disconnected {
            goodbyes[info.sid, default: 0] += 1
            others[info.identity] = nil
          } else {
            others[info.identity] = info
          }
        }
      case .speakersChanged(let changed): heardOf.formUnion(changed.speakers.map(\.sid))
      case .connectionQuality(let update): heardOf.formUnion(update.updates.map(\.participantSid))
      case .leave: farewells += 1
      default: break
      }
    }
  }

  /// An object for each signal connection: its name is that of the link.
  final class Wire {}

  var machine: RoomMachine
  var random: SeededRandom
  var now = Moment(steady: .seconds(1000), wall: 1_700_000_000_000_000)
  /// Who is in the room, by sid.
  var clients: [String: Client] = [:]
  /// Whose session is over.
  var gone: [String: Client] = [:]
  var actions: [RoomMachine.Action] = []
  var reports: [String] = []
  var refusals: [RoomJoinRefusal] = []
  var faults: [String] = []
  /// Every name that was given.
  var sids: Set<String> = []
  /// How often it was reported that somebody left, by sid, and that somebody joined.
  private var leaves: [String: Int] = [:]
  private var joins = 0
  var isClosed = false
  /// False while connections can't be made.
  var opens = true
  private var wires: [Wire] = []

  init(
    seed: UInt64 = 1, maximum: Int = 100, empty: Int = 300, departure: Int = 20, resume: Int64 = 300
  ) {
    random = SeededRandom(seed: seed)
    machine = RoomMachine(
      name: "room", sid: "RM_room",
      settings: .init(emptyTimeout: empty, departureTimeout: departure, maximumParticipants: maximum),
      limits: .init(
        resumeTime: .seconds(resume), connectTime: .seconds(60), pausesVideo: true, iceServers: []),
      at: now)
  }

  mutating func wire() -> SignalID {
    let wire = Wire()
    wires.append(wire)
    return SignalID(wire)
  }

  static func request(
    _ identity: String, hidden: Bool = false, auto: Bool = true, receives: Bool = true, updates: Bool = true
  ) -> JoinRequest {
    var grant = VideoGrant(
      room: "room", roomJoin: true, canPublish: nil, canSubscribe: receives ? nil : false, hidden: hidden ? true : nil)
    grant.canUpdateOwnMetadata = updates
    var query = SignalQuery()
    query.autoSubscribe = auto
    let token = AccessToken(apiKey: "key", identity: identity, video: grant, now: 0, lifetime: 600)
    return JoinRequest(token: token, grant: grant, room: "room", query: query, attributes: [:])
  }

  // MARK: Steps

  /// A client joins; gives its sid, nil when it was refused.
  @discardableResult
  mutating func join(
    _ identity: String, hidden: Bool = false, auto: Bool = true, receives: Bool = true
  ) -> String? {
    let link = wire()
    handle(.join(Self.request(identity, hidden: hidden, auto: auto, receives: receives), link))
    return clients.first { $0.value.link == link }?.key
  }

  /// A client joins, and is taken in.
  mutating func joined(_ identity: String, hidden: Bool = false, auto: Bool = true) throws -> String {
    let sid = join(identity, hidden: hidden, auto: auto)
    return try #require(sid)
  }

  /// A client joins, and its media connects.
  mutating func joinConnected(_ identity: String, hidden: Bool = false, auto: Bool = true) throws -> String {
    let sid = try joined(identity, hidden: hidden, auto: auto)
    handle(.media(sid, .subscriber, .connected))
    return sid
  }

  /// A client announces and offers a track; gives its sid.
  @discardableResult
  mutating func publish(_ sid: String, _ type: Livekit_TrackType = .video, cid: String = "cid") throws -> String {
    announce(sid, type, cid: cid)
    let mid = "\(sids.count)"
    handle(
      .offered(
        sid,
        [OfferedSection(mid: mid, kind: type == .audio ? .audio : .video, trackID: cid, codecs: [.vp8], layers: 3)]))
    return try #require(machine.member(sid)?.tracks.published.first { $0.info.mid == mid }?.sid)
  }

  mutating func announce(_ sid: String, _ type: Livekit_TrackType = .video, cid: String = "cid") {
    var request = Livekit_SignalRequest()
    request.addTrack.cid = cid
    request.addTrack.type = type
    request.addTrack.source = type == .audio ? .microphone : .camera
    handle(.received(sid, request))
  }

  mutating func pass(seconds: Double) {
    let step = Int64(seconds * 1e9)
    now.steady += .nanoseconds(step)
    now.wall += step / 1000
    handle(.tick)
  }

  /// Gives an event to the machine, and does what it says at once.
  mutating func handle(_ event: RoomMachine.Event) {
    var events = [event]
    while !events.isEmpty {
      let next = events.removeFirst()
      let made = machine.handle(next, at: now, using: &random)
      actions += made
      for action in made { perform(action, &events) }
    }
  }

  private mutating func perform(_ action: RoomMachine.Action, _ events: inout [RoomMachine.Event]) {
    switch action {
    case .open(let sid, let identity, let link, _, _):
      if !sids.insert(sid).inserted { faults.append("the name \(sid) was given twice") }
      guard opens else { return events.append(.openFailed(sid, .media("no"))) }
      clients[sid] = Client(identity: identity, link: link)
      events.append(.opened(sid))
    case .openPublisher(let sid, let need):
      events.append(opens ? .publisherOpened(sid, need) : .publisherFailed(sid, need, reason: "no"))
    case .refuse(_, let sid, let reason):
      if let sid { clients[sid] = nil }
      refusals.append(reason)
    case .send(let sid, let message): take(message, sid, isNews: false)
    case .tell(let sid, let news): take(news, sid, isNews: true)
    case .attach(let sid, let link):
      clients[sid]?.link = link
      clients[sid]?.hears = true
      clients[sid]?.goodbyes = [:]
    case .end(let sid, _, _): gone[sid] = clients.removeValue(forKey: sid)
    case .subscribe(let sid, let track, _):
      if machine.track(track) == nil { faults.append("\(sid) is given the track \(track), which is not there") }
      if clients[sid]?.receives.insert(track).inserted == false { faults.append("\(track) twice for \(sid)") }
    case .unsubscribe(let sid, let track):
      if clients[sid]?.receives.remove(track) == nil { faults.append("\(track) taken from \(sid), who has it not") }
    case .startTrack(_, _, let route):
      let sid = route.info.sid
      if !sids.insert(sid).inserted { faults.append("the name \(sid) was given twice") }
    case .deliver(let bytes, _, let receivers): for sid in receivers { clients[sid]?.data.append(bytes) }
    case .report(let event, _, let participant, _):
      let sid = participant?.sid ?? ""
      reports.append("\(event) \(sid)")
      if event == "participant_left" { leaves[sid, default: 0] += 1 }
      if event == "participant_joined" { joins += 1 }
    case .closed: isClosed = true
    default: break
    }
  }

  private mutating func take(_ message: Livekit_SignalResponse, _ sid: String, isNews: Bool) {
    if clients[sid] == nil { faults.append("a message for \(sid), who is not there") }
    clients[sid]?.take(message, as: sid, isNews: isNews)
  }

  // MARK: What must hold

  /// What is wrong now; empty when all is well.
  func violations() -> [String] {
    var wrong = faults
    let visible = machine.members.filter(\.isVisible)
    let infos = Dictionary(visible.map { ($0.identity, $0.info()) }, uniquingKeysWith: { $1 })
    let hidden = Set(machine.members.filter { !$0.isVisible }.map(\.sid))
    for member in machine.members {
      guard let client = clients[member.sid] else {
        wrong.append("\(member.identity) has no connections")
        continue
      }
      if !client.heardOf.subtracting([member.sid]).isDisjoint(with: hidden) {
        wrong.append("\(member.identity) heard of somebody hidden")
      }
      if client.farewells > 0 { wrong.append("\(member.identity) was sent away and is there") }
      if client.goodbyes.values.contains(where: { $0 > 1 }) { wrong.append("\(member.identity) heard a leave twice") }
      wrong += wrongSubscriptions(member, client)
      guard member.link != nil, client.hears, client.hearsNews, member.presence != .joining else { continue }
      var known = infos
      known[member.identity] = nil
      for name in Set(client.others.keys).union(known.keys).sorted() where client.others[name] != known[name] {
        let is_ = known[name].map { "\($0.sid) version \($0.version)" } ?? "not there"
        let told = client.others[name].map { "\($0.sid) version \($0.version)" } ?? "nothing"
        wrong.append("\(name) is \(is_), and \(member.identity) knows \(told)")
      }
      if client.own != member.info() { wrong.append("\(member.identity) doesn't know itself") }
    }
    for (sid, client) in gone where client.farewells > 1 { wrong.append("\(sid) was told its end twice") }
    if Set(machine.members.map(\.identity)).count != machine.members.count {
      wrong.append("an identity is there twice")
    }
    for sid in gone.keys where leaves[sid] != 1 { wrong.append("\(sid) left, and that was not reported once") }
    if joins != gone.count + machine.members.count { wrong.append("not every join was reported once") }
    return wrong
  }

  /// Everybody gets what is published, wanted and allowed, and nothing else.
  private func wrongSubscriptions(_ member: Member, _ client: Client) -> [String] {
    var expected: Set<String> = []
    for owner in machine.members where owner.sid != member.sid && member.receives && member.grant.allowsSubscribe {
      for track in owner.tracks.published where owner.allows(member, track.sid) {
        if member.subscriptions.isWanted(track.sid) ?? member.options.autoSubscribe { expected.insert(track.sid) }
      }
    }
    guard client.receives == expected, member.subscriptions.tracks == expected else {
      return ["\(member.identity) receives other tracks than it should"]
    }
    return []
  }
}
