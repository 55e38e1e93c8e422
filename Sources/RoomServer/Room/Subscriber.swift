import Logging
import MediaCore
import PeerConnection
import Signaling
import Transport

/// A client's receiving connection: the server offers, the client answers. Confined to the room's loop.
final class Subscriber: PeerConnectionDelegate {
  private unowned let participant: Participant
  private let connection: PeerConnection
  private var schedule = OfferSchedule()
  private var pumping: LoopTimer?
  private var offerID = UInt32.random(in: 1...256)
  private var earlyCandidates: [Livekit_SignalResponse]? = []
  private var subscriptions: [String: Subscription] = [:]
  /// What the client said of tracks, whether they are there already or not.
  private var wishes: [String: Wish] = [:]
  /// Tracks that are paused on command; nil among them stands for all video.
  private var pausedOnCommand: Set<String?> = []
  private var keeper = BandwidthKeeper()
  /// A limit that the client wants to be simulated, in bits per second.
  var simulatedBandwidth: Int?
  private var openChannels: Set<String> = []
  private var waitingData: [[UInt8]] = []
  private var waitingBytes = 0

  private struct Wish {
    /// Explicitly wanted or not wanted; nil: as the join said.
    var isSubscribed: Bool?
    var video: VideoWish?
  }

  /// The most tracks about which a client's wishes are kept.
  private static let wishLimit = 1000
  /// Bytes of reliable messages that wait for the data channel.
  private static let waitingLimit = 100_000

  init(participant: Participant) throws(Room.JoinError) {
    self.participant = participant
    var configuration = participant.room.mediaConfiguration
    // The receiver knows best what reaches it. With transport-wide feedback offered too, libwebrtc would send that
    // instead, and the estimating would be ours.
    configuration.bandwidthFeedback = [.maximumBitrate]
    do {
      connection = try PeerConnection(loop: participant.room.loop, configuration: configuration)
    } catch {
      throw .media(error.description)
    }
    connection.delegate = self
    connection.openDataChannel(label: DataLabel.reliable.rawValue, ordered: true)
    connection.openDataChannel(label: DataLabel.lossy.rawValue, ordered: false, maxRetransmits: 0)
  }

  /// True while media can flow.
  var isConnected: Bool { connection.state == .connected }

  /// Offers what there is, if only the data channels: the client's join waits for this connection.
  func start() {
    schedule.request(now: MediaLoop.now())
    pump()
  }

  /// Cuts the media off in both directions, or lets it through again.
  func setCut(_ isCut: Bool) { connection.setCut(isCut) }

  /// The signal connection is gone: an offer that waits for its answer waits in vain.
  func signalLost() {
    guard schedule.isAwaitingAnswer else { return }
    connection.withdrawOffer()
    schedule.withdrawn(now: MediaLoop.now())
  }

  /// The signal connection is there again: ICE restarts, for the network may be another one.
  func signalResumed() {
    connection.restartICE()
    needsOffer()
    tellStreamStates(again: true)
  }

  /// Ends the connection.
  func close() {
    pumping?.cancel()
    pumping = nil
    connection.delegate = nil
    connection.close()
    for subscription in subscriptions.values { subscription.publication.remove(subscription) }
    subscriptions.removeAll()
  }

  // MARK: Subscriptions

  /// Subscribes to a track when it is wanted and allowed, or ends the subscription when it isn't any more.
  func consider(_ publication: Publication) {
    guard publication.owner !== participant else { return }
    let isWanted = wishes[publication.sid]?.isSubscribed ?? participant.autoSubscribe
    let isAllowed = publication.owner.allows(participant, publication.sid)
    guard isWanted, isAllowed, participant.grant.allowsSubscribe else { return drop(publication) }
    guard subscriptions[publication.sid] == nil else { return }
    let sender = connection.addSender(
      kind: publication.kind, codec: publication.codec,
      streamID: "\(publication.owner.sid)|\(publication.sid)", trackID: publication.sid)
    let wish = wishes[publication.sid]?.video ?? VideoWish(quality: participant.adaptiveStream ? 0 : 2)
    let subscription = Subscription(publication: publication, sender: sender, wish: wish)
    subscription.setPaused(isPausedOnCommand(publication), .command)
    subscriptions[publication.sid] = subscription
    publication.add(subscription)
    needsOffer()
    tellStreamStates()
  }

  /// Ends the subscription to a track, if there is one.
  func drop(_ publication: Publication) {
    guard let subscription = subscriptions.removeValue(forKey: publication.sid) else { return }
    publication.remove(subscription)
    connection.removeSender(subscription.sender)
    needsOffer()
  }

  /// The client wants a track, or doesn't want it any more.
  func setSubscribed(_ sid: String, _ isSubscribed: Bool) {
    guard wishes[sid] != nil || wishes.count < Self.wishLimit else { return }
    wishes[sid, default: Wish()].isSubscribed = isSubscribed
    if let publication = participant.room.publication(sid) { consider(publication) }
  }

  /// The client says how it shows a video track.
  func setVideo(_ sid: String, _ wish: VideoWish) {
    guard wishes[sid] != nil || wishes.count < Self.wishLimit else { return }
    wishes[sid, default: Wish()].video = wish
    guard let subscription = subscriptions[sid] else { return }
    subscription.wish = wish
    subscription.publication.choose(for: subscription, now: MediaLoop.now())
  }

  /// The client doesn't want a track's media for now.
  func setDisabled(_ sid: String) {
    var wish = wishes[sid]?.video ?? VideoWish(quality: participant.adaptiveStream ? 0 : 2)
    wish.isDisabled = true
    setVideo(sid, wish)
  }

  // MARK: Pauses

  /// Pauses tracks or lets them flow again, on command; without names, all video.
  func setPaused(_ sids: [String], _ isPaused: Bool) {
    if sids.isEmpty {
      pausedOnCommand = isPaused ? [nil] : []
    } else if isPaused {
      pausedOnCommand.formUnion(sids)
    } else {
      pausedOnCommand.subtract(sids)
    }
    let now = MediaLoop.now()
    for subscription in subscriptions.values {
      subscription.setPaused(isPausedOnCommand(subscription.publication), .command)
      subscription.publication.choose(for: subscription, now: now)
    }
    tellStreamStates()
  }

  private func isPausedOnCommand(_ publication: Publication) -> Bool {
    pausedOnCommand.contains(publication.sid) || publication.kind == .video && pausedOnCommand.contains(nil)
  }

  /// Tells the client which streams have been paused or flow again; after a resume, all that are paused.
  private func tellStreamStates(again: Bool = false) {
    var changes: [Livekit_StreamStateInfo] = []
    for subscription in subscriptions.values {
      let isPaused = !subscription.pauses.isEmpty
      guard isPaused != subscription.isToldPaused || again && isPaused else { continue }
      subscription.isToldPaused = isPaused
      var info = Livekit_StreamStateInfo()
      info.participantSid = subscription.publication.owner.sid
      info.trackSid = subscription.publication.sid
      info.state = isPaused ? .paused : .active
      changes.append(info)
    }
    if !changes.isEmpty { participant.send(.streamStates(changes)) }
  }

  // MARK: Bandwidth

  /// Fits what is sent to what arrives; due every `BandwidthKeeper.interval`.
  func keepBandwidth(now: Int64) {
    guard isConnected, !subscriptions.isEmpty else { return }
    let imposed = [simulatedBandwidth, participant.condition.bandwidth].compactMap { $0 }.min()
    let before = keeper.limit
    let isDivided = keeper.beat(
      Array(subscriptions.values), bytesSent: connection.transportCounters?.bytesSent ?? 0, imposed: imposed,
      mayPause: participant.allowsPause, now: now)
    if keeper.limit != before {
      participant.logger.debug("what is sent is limited", metadata: ["why": "\(keeper)"])
    }
    guard isDivided else { return }
    for subscription in subscriptions.values { subscription.publication.choose(for: subscription, now: now) }
    tellStreamStates()
  }

  /// What others are told about this connection's quality.
  var quality: QualityScore.Facts {
    var facts = QualityScore.Facts()
    facts.isLost = connection.state == .disconnected || connection.state == .failed
    for subscription in subscriptions.values {
      facts.loss = max(facts.loss, subscription.sender.fractionLost)
      facts.roundTrip = max(facts.roundTrip, subscription.sender.roundTripTime ?? 0)
      facts.isLimited = facts.isLimited || subscription.pauses.contains(.congestion)
    }
    return facts
  }

  // MARK: What is there

  /// True when the client receives a track.
  func isSubscribed(_ sid: String) -> Bool { subscriptions[sid] != nil }

  // MARK: Offers

  private func needsOffer() {
    schedule.request(now: MediaLoop.now())
    pump()
  }

  /// Does what the schedule says is due.
  private func pump() {
    pumping?.cancel()
    pumping = nil
    // Kept here: it may be sent away in what follows.
    let participant = participant
    // Nobody would hear an offer; the change waits for the client to come back.
    guard participant.connection != nil else { return }
    let now = MediaLoop.now()
    switch schedule.next(now: now) {
    case .wait(let until):
      guard let until else { return }
      pumping = participant.room.loop.timer(after: max(0, until &- now)) { [weak self] in self?.pump() }
    case .offer:
      sendOffer()
      if participant.isMember { pump() }
    case .giveUp:
      participant.logger.warning("no answer to an offer")
      participant.leave(.stateMismatch, action: .reconnect)
    }
  }

  private func sendOffer() {
    let offer: String
    do throws(PeerConnectionError) {
      offer = try connection.createOffer()
    } catch {
      participant.logger.error("cannot offer", metadata: ["reason": "\(error)"])
      return participant.leave(.stateMismatch, action: .reconnect)
    }
    offerID &+= 1
    var tracks: [String: String] = [:]
    for (sid, subscription) in subscriptions {
      if let mid = subscription.sender.mid { tracks[mid.rawValue] = sid }
    }
    participant.describe(.description(.offer, offer, id: offerID, tracks: tracks))
    for candidate in earlyCandidates ?? [] { participant.describe(candidate) }
    earlyCandidates = nil
  }

  /// Takes the client's answer. The id isn't looked at: some SDKs always send 0.
  func handle(_ answer: Livekit_SessionDescription) {
    let now = MediaLoop.now()
    guard schedule.answered(now: now) else {
      participant.logger.warning("an answer came that nobody waited for")
      return
    }
    do throws(PeerConnectionError) {
      try connection.setRemoteAnswer(answer.sdp)
    } catch {
      participant.logger.warning("answer refused", metadata: ["reason": "\(error)"])
      return participant.leave(.stateMismatch, action: .reconnect)
    }
    startStreams(now: now)
    pump()
  }

  /// A candidate of the client.
  func addCandidate(_ candidate: String) { connection.addRemoteCandidate(candidate) }

  /// Asks for the keyframes with which new streams begin.
  private func startStreams(now: Int64) {
    for subscription in subscriptions.values { subscription.publication.choose(for: subscription, now: now) }
  }

  // MARK: Data

  /// Sends a data packet; reliable ones wait for the channel.
  func sendData(_ bytes: [UInt8], isReliable: Bool) {
    let label = DataLabel(isReliable: isReliable).rawValue
    if openChannels.contains(label) {
      bytes.withUnsafeBytes { _ = connection.sendData(label: label, $0) }
    } else if isReliable, waitingBytes + bytes.count <= Self.waitingLimit {
      waitingData.append(bytes)
      waitingBytes += bytes.count
    }
  }

  // MARK: PeerConnectionDelegate

  func peerConnection(_ pc: PeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    let message = Livekit_SignalResponse.trickle(
      TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex), .subscriber)
    if earlyCandidates != nil {
      earlyCandidates?.append(message)
    } else {
      participant.describe(message)
    }
  }

  func peerConnection(_ pc: PeerConnection, stateChanged state: TransportState) {
    if state == .connected { startStreams(now: MediaLoop.now()) }
    participant.mediaStateChanged(state, isPrimary: true)
  }

  func peerConnection(_ pc: PeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    guard let subscription = subscriptions.values.first(where: { $0.sender === sender }) else { return }
    subscription.publication.requestKeyframe(layer: subscription.keyframeLayer, now: MediaLoop.now())
  }

  func peerConnection(_ pc: PeerConnection, receivedBitrateEstimate bitrate: UInt64) {
    keeper.note(estimate: bitrate, now: MediaLoop.now())
  }

  func peerConnection(_ pc: PeerConnection, dataChannelOpened label: String) {
    openChannels.insert(label)
    guard label == DataLabel.reliable.rawValue else { return }
    for bytes in waitingData { bytes.withUnsafeBytes { _ = pc.sendData(label: label, $0) } }
    waitingData.removeAll()
    waitingBytes = 0
  }

  func peerConnection(_ pc: PeerConnection, dataChannelClosed label: String) { openChannels.remove(label) }
}
