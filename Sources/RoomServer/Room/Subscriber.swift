import Logging
import MediaCore
import PeerConnection
import Platform
import Signaling
import Transport

/// A client's receiving connection: the server offers, the client answers. Confined to the room's loop.
final class Subscriber: PeerConnectionDelegate {
  private unowned let participant: ClientSession
  private let connection: RTCPeerConnection
  /// Whether video may be paused when bandwidth is short.
  private let mayPause: Bool
  private var schedule = OfferSchedule()
  private var pumping: LoopTimer?
  private var offerID: UInt32
  private var earlyCandidates: [Livekit_SignalResponse]? = []
  private var subscriptions: [String: Subscription] = [:]
  /// Tracks that are paused on command; nil among them stands for all video.
  private var pausedOnCommand: Set<String?> = []
  private var keeper = BandwidthKeeper()
  /// A limit from outside, in bits per second.
  var imposedBandwidth: Int?
  /// A limit that the client wants to be simulated, in bits per second.
  var simulatedBandwidth: Int?
  private var openChannels: Set<String> = []
  private var waitingData: [[UInt8]] = []
  private var waitingBytes = 0

  /// Bytes of reliable messages that wait for the data channel.
  private static let waitingLimit = 100_000

  init(participant: ClientSession, mayPause: Bool, offerID: UInt32) throws(RoomJoinRefusal) {
    self.participant = participant
    self.mayPause = mayPause
    self.offerID = offerID
    var configuration = participant.room.mediaConfiguration
    // The receiver knows best what reaches it. With transport-wide feedback offered too, libwebrtc would send that
    // instead, and the estimating would be ours.
    configuration.bandwidthFeedback = [.maximumBitrate]
    do {
      connection = try RTCPeerConnection(loop: participant.room.loop, configuration: configuration)
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
    schedule.request(now: MonotonicClock.now)
    pump()
  }

  /// Cuts the media off in both directions, or lets it through again.
  func setCut(_ isCut: Bool) { connection.setCut(isCut) }

  /// The signal connection is gone: an offer that waits for its answer waits in vain.
  func signalLost() {
    guard schedule.isAwaitingAnswer else { return }
    connection.withdrawOffer()
    schedule.withdrawn(now: MonotonicClock.now)
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

  /// Begins to send a track, shown as the client says.
  func subscribe(to publication: Publication, _ wish: VideoWish) {
    let sender = connection.addSender(
      kind: publication.kind, codec: publication.codec,
      streamID: "\(publication.owner)|\(publication.sid)", trackID: publication.sid)
    let subscription = Subscription(publication: publication, sender: sender, wish: wish)
    subscription.setPaused(isPausedOnCommand(publication), .command)
    subscriptions[publication.sid] = subscription
    publication.add(subscription, now: MonotonicClock.now)
    needsOffer()
    tellStreamStates()
  }

  /// Sends a track no more.
  func unsubscribe(from track: String) {
    guard let subscription = subscriptions.removeValue(forKey: track) else { return }
    subscription.publication.remove(subscription)
    connection.removeSender(subscription.sender)
    needsOffer()
  }

  /// The client says how it shows a video track.
  func setVideo(_ sid: String, _ wish: VideoWish) {
    guard let subscription = subscriptions[sid] else { return }
    subscription.wish = wish
    subscription.publication.choose(for: subscription, now: MonotonicClock.now)
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
    let now = MonotonicClock.now
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
      info.participantSid = subscription.publication.owner
      info.trackSid = subscription.publication.sid
      info.state = isPaused ? .paused : .active
      changes.append(info)
    }
    if !changes.isEmpty { participant.send(.streamStates(changes)) }
  }

  // MARK: Bandwidth

  /// Fits what is sent to what arrives; due every `BandwidthKeeper.interval`.
  func keepBandwidth(now: Instant) {
    guard isConnected, !subscriptions.isEmpty else { return }
    let imposed = [simulatedBandwidth, imposedBandwidth].compactMap { $0 }.min()
    let before = keeper.limit
    let isDivided = keeper.tick(
      Array(subscriptions.values), bytesSent: connection.transportCounters?.bytesSent ?? 0, imposed: imposed,
      mayPause: mayPause, now: now)
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
      facts.roundTrip = max(facts.roundTrip, subscription.sender.roundTripTime ?? .zero)
      facts.isLimited = facts.isLimited || subscription.pauses.contains(.congestion)
    }
    return facts
  }

  // MARK: Offers

  private func needsOffer() {
    schedule.request(now: MonotonicClock.now)
    pump()
  }

  /// Does what the schedule says is due.
  private func pump() {
    pumping?.cancel()
    pumping = nil
    // Nobody would hear an offer; the change waits for the client to come back.
    guard participant.connection != nil else { return }
    let now = MonotonicClock.now
    switch schedule.next(now: now) {
    case .wait(let until):
      guard let until else { return }
      pumping = participant.room.loop.timer(after: max(.zero, until - now)) { [weak self] in self?.pump() }
    case .offer:
      if sendOffer() { pump() }
    case .giveUp:
      participant.logger.warning("no answer to an offer")
      participant.leave(.stateMismatch)
    }
  }

  /// False when there is no offer to send; the session ends then.
  private func sendOffer() -> Bool {
    let offer: String
    do throws(PeerConnectionError) {
      offer = try connection.createOffer()
    } catch {
      participant.logger.error("cannot offer", metadata: ["reason": "\(error)"])
      participant.leave(.stateMismatch)
      return false
    }
    offerID &+= 1
    var tracks: [String: String] = [:]
    for (sid, subscription) in subscriptions {
      if let mid = subscription.sender.mid { tracks[mid.rawValue] = sid }
    }
    participant.describe(.description(.offer, offer, id: offerID, tracks: tracks))
    for candidate in earlyCandidates ?? [] { participant.describe(candidate) }
    earlyCandidates = nil
    return true
  }

  /// Takes the client's answer. The id isn't looked at: some SDKs always send 0.
  func handle(_ answer: Livekit_SessionDescription) {
    let now = MonotonicClock.now
    guard schedule.answered(now: now) else {
      participant.logger.warning("an answer came that nobody waited for")
      return
    }
    do throws(PeerConnectionError) {
      try connection.setRemoteAnswer(answer.sdp)
    } catch {
      participant.logger.warning("answer refused", metadata: ["reason": "\(error)"])
      return participant.leave(.stateMismatch)
    }
    startStreams(now: now)
    pump()
  }

  /// A candidate of the client.
  func addCandidate(_ candidate: String) { connection.addRemoteCandidate(candidate) }

  /// Asks for the keyframes with which new streams begin.
  private func startStreams(now: Instant) {
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

  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    let message = Livekit_SignalResponse.trickle(
      TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex), .subscriber)
    if earlyCandidates != nil {
      earlyCandidates?.append(message)
    } else {
      participant.describe(message)
    }
  }

  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    if state == .connected { startStreams(now: MonotonicClock.now) }
    participant.room.handle(.media(participant.sid, .subscriber, state))
  }

  func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    guard let subscription = subscriptions.values.first(where: { $0.sender === sender }) else { return }
    subscription.publication.requestKeyframe(layer: subscription.keyframeLayer, now: MonotonicClock.now)
  }

  func peerConnection(_ pc: RTCPeerConnection, receivedBitrateEstimate bitrate: UInt64) {
    keeper.note(estimate: bitrate, now: MonotonicClock.now)
  }

  func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String) {
    openChannels.insert(label)
    guard label == DataLabel.reliable.rawValue else { return }
    for bytes in waitingData { bytes.withUnsafeBytes { _ = pc.sendData(label: label, $0) } }
    waitingData.removeAll()
    waitingBytes = 0
  }

  func peerConnection(_ pc: RTCPeerConnection, dataChannelClosed label: String) { openChannels.remove(label) }
}
