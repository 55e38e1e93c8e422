import MediaCore
import Session

/// What an outage does, and its end.
extension LiveKitSession {
  /// The machine's addresses changed: what is waiting is tried at once; what stands is looked at.
  mutating func networkChanged(at now: Instant) {
    log(.info, RoomError(.networkChanged).summary)
    guard signal.isOpen, !policy.isLost else { return follow(.networkChanged, at: now) }
    outage.networkChanged(at: now)
    signal.allowQuestion()
  }

  /// Looks at media and signalling, and draws the conclusions. After every input.
  mutating func look(at now: Instant) {
    guard signal.isLive, hasJoined, media.generation > 0 else { return }
    if outage.isOver(signal, media, at: now) { tellReturn(at: now) }
    outage.measure(expectsMedia: room.expectsMedia(), lastPacketAt: media.traffic.lastPacketAt, at: now)
    if outage.isDoubtful { perform(signal.ask(at: now).map { .send($0) }) }
    if outage.isDoubtful || media.isSilent, media.probe(at: now) { add(.probeMedia) }
    if let loss = outage.lossByNetworkChange(signal, media, allowsReconnect: policy.allowsReconnect, at: now) {
      lost(loss, at: now)
    }
    if outage.isPathSilent(signal, media, at: now) {
      media.fellSilent()
      let kind = outage.isServerGone(signal, at: now) ? RoomError.Kind.serverSilent : .mediaLost
      if signal.isOpen { outage.explain(RoomError(kind).summary) }
      tellLoss(at: now)
    }
    // A transport that has ended is no question any more, once the server had its time to say why.
    if !media.isUp, media.connectedAt != nil || policy.isLost, !media.isRecovering { tellLoss(at: now) }
    if let loss = outage.lossBySilence(signal, media, isSteady: policy.state == .connected, at: now) {
      lost(loss, at: now)
    }
    let isSteady = policy.state == .connected && policy.allowsReconnect && signal.isOpen && media.isFlowing
    if let loss = outage.lossByWatchdog(isSteady: isSteady, lastPacketAt: media.traffic.lastPacketAt, at: now) {
      lost(loss, at: now)
    }
    outage.schedule(at: now)
  }

  /// Whether the recording is told what happens.
  var isTelling: Bool { hasJoined && !outage.isTold }

  /// Pictures and sound are not true any more.
  mutating func tellLoss(at now: Instant) {
    if hasJoined, signal.phase != .ended, outage.tell(at: now) { add(.emit(.connectionLost(outage.text))) }
  }

  /// Tells what has changed since the loss, with everybody and everything that is there.
  private mutating func tellReturn(at now: Instant) {
    outage.end()
    if media.isSilent {
      media.spoke()
      if signal.isOpen { follow(.connected, at: now) }
    }
    add(.emit(.connectionRestored))
    actions += room.tellAll()
    add(.emit(.synchronized))
    add(.requestKeyframes)
  }
}
