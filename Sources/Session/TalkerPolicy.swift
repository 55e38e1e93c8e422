import MediaCore

/// Decides who is the active talker, and who talked before, so that the picture follows a conversation without
/// flickering. Pure: what it says depends only on what it was told and when.
public struct TalkerPolicy: Sendable {
  /// What is known of one person's voice.
  private struct Voice: Sendable {
    /// The room's word: since when, and how loud (dB).
    var room: (since: SessionTime, level: Int)?
    var activity: VoiceActivity?
    /// How loud it is shown.
    var meter = 0
    // What follows from them at the instant of the last `refresh`.
    var talkingSince: SessionTime?
    var level = -127
    /// How long the talking lasts.
    var talked = Duration.zero
    var louderSince: SessionTime?

    /// Works out the state at `now` from whichever source counts.
    mutating func refresh(at now: SessionTime, _ settings: Settings, bonus: Int) {
      activity?.update(at: now, settings)
      let hearsAudio = activity.map { settings.levels == .sound || now - $0.lastHeard < .seconds(1) } ?? false
      if hearsAudio, let activity {
        talkingSince = activity.since
        talked = activity.lastLoud - (activity.since ?? activity.lastLoud)
        level = activity.level + bonus
      } else {
        talkingSince = room?.since
        talked = now - (room?.since ?? now)
        level = (room?.level ?? -127) + bonus
      }
    }

    /// Shows how loud it is now.
    mutating func show(_ settings: Settings) {
      if let activity, activity.meter > 0 || settings.levels == .sound {
        meter = activity.meter
      } else {
        meter = room.map { Loudness.meter(decibels: $0.level) } ?? 0
      }
    }
  }

  private let settings: Settings
  /// Those who are loud or were lately; all others cost nothing when time moves on.
  private var voices: [ParticipantIdentity: Voice] = [:]
  /// What is remembered of those who have been silent for long.
  private var silent: [ParticipantIdentity: VoiceActivity] = [:]
  /// Participants that the room says are loud; more than this at once are nobody's conversation.
  private var loudInRoom = 0
  private static let mostLoudInRoom = 64
  /// Meters are shown anew in each such span of the session's time, nanoseconds; the number of the last.
  private static let meterTick: Int64 = 100_000_000
  private var shownTick: Int64 = -1
  private var heldSince = SessionTime.zero
  private var lastTalk = SessionTime.zero
  /// Who shares a screen; nil when nobody does. Preferred, see `Settings`.
  public var presenter: ParticipantIdentity?
  /// Those who are never dropped from `ranking`, however many talk.
  public var pinned: Set<ParticipantIdentity> = []
  /// Everybody who has talked, at most `Settings.atMost`: the active talker, then whoever took the floor before, the
  /// newest first.
  public private(set) var ranking: [ParticipantIdentity] = []
  /// The active talker. Stays when everybody is silent; nil only until somebody has talked, or when all who have left.
  public var talker: ParticipantIdentity? { ranking.first }

  /// Starts with nobody talking.
  public init(settings: Settings = Settings()) { self.settings = settings }

  /// True while the participant is talking.
  public func isTalking(_ identity: ParticipantIdentity) -> Bool { voices[identity]?.talkingSince != nil }

  /// Everybody who is talking, in the order of their identities.
  public var talking: [ParticipantIdentity] {
    var talking: [ParticipantIdentity] = []
    for (identity, voice) in voices where voice.talkingSince != nil { talking.append(identity) }
    talking.sort()
    return talking
  }

  /// How loud the participant is, for display: 0 (-60 dB and less) to 1000. It changes ten times a second, everybody's at the same
  /// instants: more nobody sees, and each picture that is another one costs an encoder as much as any.
  public func meter(_ identity: ParticipantIdentity) -> Int { voices[identity]?.meter ?? 0 }

  /// Takes the room's word on who is loud. Somebody not listed has not changed.
  public mutating func update(_ speakers: [Speaker], at now: SessionTime) {
    guard settings.levels != .sound else { return }
    for speaker in speakers {
      let room = voices[speaker.participant]?.room
      guard speaker.isActive || room != nil, room != nil || loudInRoom < Self.mostLoudInRoom else { continue }
      let level = Loudness.decibels(perMille: speaker.level)
      wake(speaker.participant)
      voices[speaker.participant, default: Voice()].room = speaker.isActive ? (room?.since ?? now, level) : nil
      loudInRoom += (speaker.isActive ? 1 : 0) - (room == nil ? 0 : 1)
    }
    refresh(at: now)
  }

  /// Takes the level of a packet of somebody's sound, dBov, due at `time`.
  public mutating func heard(_ identity: ParticipantIdentity, decibels: Int, at time: SessionTime) {
    guard settings.levels != .room else { return }
    wake(identity)
    var activity = voices[identity]?.activity ?? VoiceActivity()
    activity.heard(decibels, at: time, settings)
    voices[identity, default: Voice()].activity = activity
  }

  /// Forgets a participant who left or whose microphone is off.
  public mutating func silence(_ identity: ParticipantIdentity, hasLeft: Bool) {
    if voices[identity]?.room != nil { loudInRoom -= 1 }
    if hasLeft {
      voices[identity] = nil
      silent[identity] = nil
      ranking.removeAll { $0 == identity }
      if presenter == identity { presenter = nil }
    } else {
      voices[identity]?.room = nil
      voices[identity]?.activity?.silence()
      voices[identity]?.talkingSince = nil
      voices[identity]?.meter = 0
    }
  }

  /// Moves time on; `talker` and `ranking` may change.
  public mutating func advance(to now: SessionTime) {
    refresh(at: now)
    rest(at: now)
    remember()
    guard let current = talker else {
      if let first = candidate(delay: settings.takeoverDelay) ?? presenter { take(first, at: now) }
      return
    }
    guard now - heldSince >= settings.minimumHold else { return }
    let isOverlapping = isTalking(current)
    let next =
      isOverlapping
      ? candidate(delay: settings.overlapDelay, louderUntil: now) : candidate(delay: settings.takeoverDelay)
    if let next {
      take(next, at: now)
    } else if let presenter, presenter != current, !isOverlapping, let patience = settings.presenterReturn,
      now - lastTalk >= patience
    {
      take(presenter, at: now)
    }
  }

  private mutating func wake(_ identity: ParticipantIdentity) {
    guard !silent.isEmpty, let activity = silent.removeValue(forKey: identity) else { return }
    var voice = Voice()
    voice.activity = activity
    voices[identity] = voice
  }

  /// Puts those aside of whom nothing follows as long as nothing more is heard of them.
  private mutating func rest(at now: SessionTime) {
    for (identity, voice) in voices
    where voice.room == nil && voice.talkingSince == nil && voice.louderSince == nil
      && voice.activity?.isSettled(at: now) ?? true
    {
      voices[identity] = nil
      if let activity = voice.activity { silent[identity] = activity }
    }
  }

  /// Works out who talks at `now`, how loud and for how long.
  private mutating func refresh(at now: SessionTime) {
    let tick = now.nanoseconds / Self.meterTick
    let isShown = tick != shownTick
    shownTick = tick
    var index = voices.startIndex
    while index != voices.endIndex {
      let bonus = voices.keys[index] == presenter ? settings.presenterBonus : 0
      voices.values[index].refresh(at: now, settings, bonus: bonus)
      if voices.values[index].talkingSince != nil { lastTalk = now }
      if isShown { voices.values[index].show(settings) }
      voices.formIndex(after: &index)
    }
    let reference = talker.flatMap { voices[$0] }.flatMap { $0.talkingSince == nil ? nil : $0.level }
    index = voices.startIndex
    while index != voices.endIndex {
      let voice = voices.values[index]
      let isLouder = voice.talkingSince != nil && reference.map { voice.level >= $0 + settings.takeoverMargin } ?? true
      voices.values[index].louderSince = isLouder ? (voice.louderSince ?? now) : nil
      voices.formIndex(after: &index)
    }
  }

  /// Those who talk without having the floor come right behind the active talker.
  private mutating func remember() {
    guard !ranking.isEmpty else { return }
    var newcomers: [ParticipantIdentity] = []
    for (identity, voice) in voices where voice.talkingSince != nil && voice.talked >= settings.takeoverDelay {
      if !ranking.contains(identity) { newcomers.append(identity) }
    }
    guard !newcomers.isEmpty else { return }
    ranking.insert(contentsOf: newcomers.sorted(), at: 1)
    trim()
  }

  private mutating func take(_ identity: ParticipantIdentity, at now: SessionTime) {
    ranking.removeAll { $0 == identity }
    ranking.insert(identity, at: 0)
    trim()
    heldSince = now
    var index = voices.startIndex
    while index != voices.endIndex {
      voices.values[index].louderSince = nil
      voices.formIndex(after: &index)
    }
  }

  private mutating func trim() {
    while ranking.count > max(1, settings.atMost) {
      guard let oldest = ranking.dropFirst().lastIndex(where: { !pinned.contains($0) }) else { return }
      ranking.remove(at: oldest)
    }
  }

  /// The loudest of those who have talked long enough, and, when `louderUntil` is given, have been louder than the
  /// talker for as long until then. Ties go to who began first, then to the lower identity.
  private func candidate(delay: Duration, louderUntil now: SessionTime? = nil) -> ParticipantIdentity? {
    var best: (identity: ParticipantIdentity, level: Int, since: SessionTime)?
    for (identity, voice) in voices where identity != talker {
      guard let since = voice.talkingSince, voice.talked >= delay else { continue }
      if let now {
        guard let louder = voice.louderSince, now - louder >= delay else { continue }
      }
      if let champion = best,
        (voice.level, champion.since, champion.identity) <= (champion.level, since, identity)
      {
        continue
      }
      best = (identity, voice.level, since)
    }
    return best?.identity
  }
}
