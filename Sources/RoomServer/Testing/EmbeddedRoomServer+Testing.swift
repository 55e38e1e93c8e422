import Signaling

extension EmbeddedRoomServer {
  /// The server's faults on command, for tests in the same process; over HTTP they are at `/test/<verb>`.
  public var testing: Testing { Testing(server: self) }

  /// Makes faults. Every method waits for the server's loop and so returns when the fault is in force; none is to be
  /// called on an event loop. They give the number of participants that were hit. See `TestVerb` for what each does.
  public struct Testing: Sendable {
    let server: EmbeddedRoomServer

    /// Carries out any verb.
    @discardableResult
    public func perform(_ verb: TestVerb) throws(TestVerbError) -> Int {
      guard let directory = server.directory else { throw .notRunning }
      return try directory.loop.sync { () throws(TestVerbError) in try directory.perform(verb) }
    }

    /// `cut-signal`
    @discardableResult
    public func cutSignal(
      room: String, identity: String? = nil, mode: SignalCut = .close, for time: Duration? = nil
    ) throws(TestVerbError) -> Int {
      try perform(.cutSignal(TestTarget(room: room, identity: identity), mode: mode, lasting: time))
    }

    /// `cut-media`
    @discardableResult
    public func cutMedia(
      room: String, identity: String? = nil, for time: Duration? = nil
    ) throws(TestVerbError) -> Int {
      try perform(.cutMedia(TestTarget(room: room, identity: identity), lasting: time))
    }

    /// `drop-updates`
    @discardableResult
    public func dropUpdates(
      room: String, identity: String? = nil, for time: Duration? = nil
    ) throws(TestVerbError) -> Int {
      try perform(.dropUpdates(TestTarget(room: room, identity: identity), lasting: time))
    }

    /// `delay-answers`
    @discardableResult
    public func delayAnswers(
      room: String, identity: String? = nil, by delay: Duration, for time: Duration? = nil
    ) throws(TestVerbError) -> Int {
      try perform(.delayAnswers(TestTarget(room: room, identity: identity), by: delay, lasting: time))
    }

    /// `restart`
    @discardableResult
    public func restart(wipe: Bool = true) throws(TestVerbError) -> Int { try perform(.restart(wipes: wipe)) }

    /// `migrate`
    @discardableResult
    public func migrate(
      room: String, identity: String? = nil, action: Livekit_LeaveRequest.Action = .reconnect
    ) throws(TestVerbError) -> Int {
      try perform(.migrate(TestTarget(room: room, identity: identity), action: action))
    }

    /// `kick`
    @discardableResult
    public func kick(
      room: String, identity: String? = nil, reason: Livekit_DisconnectReason = .participantRemoved
    ) throws(TestVerbError) -> Int {
      try perform(.kick(TestTarget(room: room, identity: identity), reason: reason))
    }

    /// `duplicate`
    @discardableResult
    public func duplicate(room: String, identity: String? = nil) throws(TestVerbError) -> Int {
      try perform(.duplicate(TestTarget(room: room, identity: identity)))
    }

    /// `end-room`
    @discardableResult
    public func endRoom(
      _ room: String, reason: Livekit_DisconnectReason = .roomDeleted
    ) throws(TestVerbError) -> Int { try perform(.endRoom(room, reason: reason)) }

    /// `fill`
    @discardableResult
    public func fill(_ room: String, limit: Int?) throws(TestVerbError) -> Int {
      try perform(.fill(room, limit: limit))
    }

    /// `busy`
    @discardableResult
    public func busy(
      status: Int = 503, room: String? = nil, for time: Duration? = nil
    ) throws(TestVerbError) -> Int { try perform(.busy(status: status, room: room, lasting: time)) }

    /// `expire-token`
    @discardableResult
    public func expireToken(room: String, identity: String? = nil) throws(TestVerbError) -> Int {
      try perform(.expireToken(TestTarget(room: room, identity: identity)))
    }

    /// `pause-streams`
    @discardableResult
    public func pauseStreams(
      room: String, identity: String? = nil, tracks: [String] = [], paused: Bool
    ) throws(TestVerbError) -> Int {
      try perform(.pauseStreams(TestTarget(room: room, identity: identity), tracks: tracks, paused: paused))
    }

    /// `permit`
    @discardableResult
    public func permit(room: String, identity: String, canSubscribe: Bool) throws(TestVerbError) -> Int {
      try perform(.permit(TestTarget(room: room, identity: identity), canSubscribe: canSubscribe))
    }

    /// `limit-bandwidth`
    @discardableResult
    public func limitBandwidth(
      room: String, identity: String? = nil, bitsPerSecond: Int?, for time: Duration? = nil
    ) throws(TestVerbError) -> Int {
      try perform(
        .limitBandwidth(
          TestTarget(room: room, identity: identity), bitsPerSecond: bitsPerSecond, lasting: time))
    }

    /// `restore`
    @discardableResult
    public func restore() throws(TestVerbError) -> Int { try perform(.restore) }
  }
}
