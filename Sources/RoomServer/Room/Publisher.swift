import Logging
import MediaCore
import PeerConnection
import RTP
import SDP
import Signaling
import Transport

/// A client's publishing connection: the client offers, the server answers. Confined to the room's loop.
final class Publisher: PeerConnectionDelegate {
  private unowned let participant: Participant
  private let connection: PeerConnection
  private var pending: [PendingTrack] = []
  private var receivers: [ObjectIdentifier: Publication] = [:]
  private var started: [RTPReceiver] = []
  private var earlyCandidates: [Livekit_SignalResponse]? = []
  /// The number of the last reliable data packet that came.
  private(set) var lastReliableSequence: UInt32 = 0

  /// Tracks that were announced, but haven't come in an offer yet.
  private struct PendingTrack {
    var cid: String
    var info: Livekit_TrackInfo
    /// What the publisher is told to send; nil when it didn't say what it prefers but by the order of its offer.
    var codec: Codec?
    /// The same, as the publisher described it.
    var described: Livekit_SimulcastCodec?
  }

  /// The most tracks that may be announced without being offered.
  private static let pendingLimit = 20
  /// In kbit/s.
  private static let startBitrate = 1000
  /// The most tracks of one participant.
  private static let trackLimit = 64

  init(participant: Participant) throws(Room.JoinError) {
    self.participant = participant
    var configuration = participant.room.mediaConfiguration
    // Without feedback libwebrtc stays at its start bitrate. Not REMB as well: libwebrtc takes the smaller of the two,
    // and the estimate that can be made here is the poorer one.
    configuration.bandwidthFeedback = [.transportWide]
    do {
      connection = try PeerConnection(loop: participant.room.loop, configuration: configuration)
    } catch {
      throw .media(error.description)
    }
    connection.delegate = self
  }

  /// True while media can flow.
  var isConnected: Bool { connection.state == .connected }

  /// What others are told about this connection's quality.
  var quality: QualityScore.Facts {
    var facts = QualityScore.Facts()
    facts.isLost = connection.state == .disconnected || connection.state == .failed
    for receiver in connection.receivers where receiver.isActive { facts.loss = max(facts.loss, receiver.fractionLost) }
    return facts
  }

  /// Cuts the media off in both directions, or lets it through again.
  func setCut(_ isCut: Bool) { connection.setCut(isCut) }

  /// Ends the connection.
  func close() {
    connection.delegate = nil
    connection.close()
    receivers.removeAll()
  }

  // MARK: Announcing tracks

  /// Answers the announcement of a track.
  func announce(_ request: Livekit_AddTrackRequest) {
    guard request.sid.isEmpty, request.type == .audio || request.type == .video else {
      return refuse(request, .unsupportedType, "only audio and video tracks are supported")
    }
    guard participant.grant.allowsPublishing(request.source) else {
      return refuse(request, .notAllowed, "the token does not allow to publish this source")
    }
    guard pending.count < Self.pendingLimit, receivers.count < Self.trackLimit else {
      return refuse(request, .limitExceeded, "too many tracks")
    }
    let track: PendingTrack
    if let known = pending.first(where: { $0.cid == request.cid }) {
      track = known
    } else {
      let kind: MediaKind = request.type == .audio ? .audio : .video
      let described =
        request.simulcastCodecs.first { Self.codec($0, of: kind) != nil } ?? request.simulcastCodecs.first
      let codec = described.flatMap { Self.codec($0, of: kind) }
      track = PendingTrack(
        cid: request.cid, info: trackInfo(request, codec ?? (kind == .audio ? .opus : .vp8)), codec: codec,
        described: described)
      pending.append(track)
    }
    var response = Livekit_TrackPublishedResponse()
    response.cid = request.cid
    response.track = track.info
    participant.send(Livekit_SignalResponse(.trackPublished(response)))
  }

  private func refuse(
    _ request: Livekit_AddTrackRequest, _ reason: Livekit_RequestResponse.Reason, _ text: String
  ) {
    participant.send(.outcome(of: 0, reason, text, request: .addTrack(request)))
  }

  /// The codec that a client names, such as `vp9` or `video/VP9`; nil when it can't be forwarded.
  private static func codec(_ described: Livekit_SimulcastCodec, of kind: MediaKind) -> Codec? {
    let name = described.codec.lowercased()
    return CodecTable.codecs.first { codec in
      codec.kind == kind && (name == codec.rawValue.lowercased() || name == codec.mimeType.lowercased())
    }
  }

  private func trackInfo(_ request: Livekit_AddTrackRequest, _ codec: Codec) -> Livekit_TrackInfo {
    var info = Livekit_TrackInfo()
    info.sid = participant.room.makeTrackSID()
    info.type = request.type
    info.source = request.source
    info.name = request.name
    info.muted = request.muted
    info.width = request.width
    info.height = request.height
    info.layers = request.layers
    info.disableDtx = request.disableDtx
    // What is encrypted end to end has its redundancy inside, if any.
    info.disableRed = request.disableRed || request.encryption != .none
    info.stereo = request.stereo
    info.encryption = request.encryption
    info.backupCodecPolicy = request.backupCodecPolicy
    info.packetTrailerFeatures = request.packetTrailerFeatures
    info.audioFeatures = request.audioFeatures
    info.mimeType = codec.mimeType
    info.stream = request.stream
    if info.stream.isEmpty {
      switch request.source {
      case .camera, .microphone: info.stream = "camera"
      case .screenShare, .screenShareAudio: info.stream = "screen"
      default: info.stream = "unknown"
      }
    }
    info.version.unixMicro = WallClock.microseconds()
    return info
  }

  // MARK: Offers

  /// Takes the client's offer and answers it.
  func handle(_ offer: Livekit_SessionDescription) {
    started.removeAll()
    let answer: String
    do throws(PeerConnectionError) {
      try connection.setRemoteOffer(offer.sdp)
      answer = adapted(try connection.createAnswer(), to: offer.sdp)
    } catch {
      participant.logger.warning("offer refused", metadata: ["reason": "\(error)"])
      return participant.leave(.stateMismatch, action: .reconnect)
    }
    var fresh: [Publication] = []
    for receiver in started where receiver.isActive {
      if let publication = bind(receiver) {
        fresh.append(publication)
      }
    }
    started.removeAll()
    var tracks: [String: String] = [:]
    for publication in receivers.values { tracks[publication.receiver.mid.rawValue] = publication.sid }
    participant.describe(.description(.answer, answer, id: offer.id, tracks: tracks))
    for candidate in earlyCandidates ?? [] { participant.describe(candidate) }
    earlyCandidates = nil
    for publication in fresh { participant.add(publication) }
  }

  /// A candidate of the client.
  func addCandidate(_ candidate: String) { connection.addRemoteCandidate(candidate) }

  /// Joins a section with what was announced for it: by the track's name in the offer, else by kind and order.
  private func bind(_ receiver: RTPReceiver) -> Publication? {
    guard receivers[ObjectIdentifier(receiver)] == nil else { return nil }
    let type: Livekit_TrackType = receiver.kind == .audio ? .audio : .video
    let index =
      pending.firstIndex { $0.info.type == type && $0.cid == receiver.trackID }
      ?? pending.firstIndex { $0.info.type == type }
    guard let index else {
      participant.logger.warning("a track was offered that had not been announced", metadata: ["kind": "\(type)"])
      return nil
    }
    var track = pending.remove(at: index)
    // Sound comes in the first codec that the answer has, which are those of the offer in its order.
    let codec = (type == .video ? track.codec : nil) ?? receiver.codecs.first ?? (type == .video ? .vp8 : .opus)
    track.info.mimeType = codec.mimeType
    track.info.mid = receiver.mid.rawValue
    track.info.simulcast = receiver.rids.count > 1
    if type == .video {
      var told = Livekit_SimulcastCodecInfo()
      told.mimeType = track.info.mimeType
      told.mid = track.info.mid
      told.cid = track.cid
      told.layers = track.info.layers
      if let described = track.described {
        if !described.layers.isEmpty { told.layers = described.layers }
        told.videoLayerMode = described.videoLayerMode
      }
      track.info.codecs = [told]
    }
    let publication = Publication(
      info: track.info, codec: codec, owner: participant, receiver: receiver)
    receivers[ObjectIdentifier(receiver)] = publication
    receiver.wantsPackets = true
    return publication
  }

  /// The publication is over, whatever the client still sends.
  func forget(_ publication: Publication) {
    receivers[ObjectIdentifier(publication.receiver)] = nil
    publication.receiver.wantsPackets = false
  }

  private func unbind(_ receiver: RTPReceiver) {
    guard let publication = receivers.removeValue(forKey: ObjectIdentifier(receiver)) else { return }
    receiver.wantsPackets = false
    participant.remove(publication)
  }

  /// The answer with what the publisher is to send: of sound redundancy (RFC 2198) before all else, unless it was announced
  /// without; of each track of pictures the codec that was announced before all others, and a start bitrate (in kbit/s), which libwebrtc takes instead of its 300: without it the first seconds of a
  /// camera are a quarter of its size.
  private func adapted(_ answer: String, to offer: String) -> String {
    guard var description = try? SessionDescription(parsing: answer),
      let offered = try? SessionDescription(parsing: offer)
    else { return answer }
    for index in description.media.indices {
      guard offered.media.indices.contains(index) else { continue }
      let name = offered.media[index].streams.first?.track
      let mid = description.media[index].mid
      guard description.media[index].kind == .media(.video) else {
        let info =
          receivers.values.first { $0.receiver.mid == mid }?.info
          ?? (pending.first { $0.cid == name } ?? pending.first { $0.info.type == .audio })?.info
        Self.arrangeSound(&description.media[index], isRedundant: info?.disableRed == false)
        continue
      }
      let codec =
        receivers.values.first { $0.receiver.mid == mid }?.codec
        ?? (pending.first { $0.cid == name } ?? pending.first { $0.info.type == .video })?.codec
        ?? Self.first(description.media[index])
      guard let codec else { continue }
      Self.prefer(codec, in: &description.media[index])
    }
    return description.serialized()
  }

  /// The codec of pictures that a section lists first.
  private static func first(_ media: MediaDescription) -> Codec? {
    media.payloadTypes.lazy.compactMap { media.rtpMap(of: $0) }.compactMap { map in
      CodecTable.codecs.first { $0.kind == .video && map.isEncoding($0.rawValue, clockRate: map.clockRate) }
    }.first
  }

  /// Puts redundancy (RFC 2198) before everything else, or leaves it out. What publishers list first they send.
  private static func arrangeSound(_ media: inout MediaDescription, isRedundant: Bool) {
    let types = Set(
      media.rtpMaps.filter { $0.isEncoding("red", clockRate: 48_000) }.map(\.payloadType))
    let names = Set(types.map(\.description))
    if isRedundant {
      media.formats = media.formats.filter(names.contains) + media.formats.filter { !names.contains($0) }
    } else {
      media.formats.removeAll(where: names.contains)
      media.rtpMaps.removeAll { types.contains($0.payloadType) }
      media.formatParameters.removeAll { types.contains($0.payloadType) }
    }
  }

  private static func prefer(_ codec: Codec, in media: inout MediaDescription) {
    let preferred = media.rtpMaps.filter { $0.isEncoding(codec.rawValue, clockRate: Int(codec.clockRate.hertz)) }
    let first = Set(preferred.map(\.payloadType.description))
    media.formats = media.formats.filter(first.contains) + media.formats.filter { !first.contains($0) }
    for map in preferred {
      let parameter = "x-google-start-bitrate=\(startBitrate)"
      if let known = media.formatParameters.firstIndex(where: { $0.payloadType == map.payloadType }) {
        media.formatParameters[known].text += ";" + parameter
      } else {
        media.formatParameters.append(FormatParameters(payloadType: map.payloadType, text: parameter))
      }
    }
  }

  // MARK: Changes by the client

  /// Mutes a track that was announced, but isn't there yet; false when there is none.
  func mutePending(_ sid: String, _ muted: Bool) -> Bool {
    guard let index = pending.firstIndex(where: { $0.info.sid == sid }) else { return false }
    pending[index].info.muted = muted
    return true
  }

  /// Changes what is told of a track that was announced, but isn't there yet.
  func changePending(_ sid: String, _ change: (inout Livekit_TrackInfo) -> Void) {
    guard let index = pending.firstIndex(where: { $0.info.sid == sid }) else { return }
    change(&pending[index].info)
  }

  /// True for a track that was announced, but isn't there yet.
  func isPending(_ sid: String) -> Bool { pending.contains { $0.info.sid == sid } }

  /// Sends data to a client that doesn't subscribe, on the channels that it opened itself.
  func sendData(_ bytes: [UInt8], isReliable: Bool) {
    bytes.withUnsafeBytes { _ = connection.sendData(label: DataLabel(isReliable: isReliable).rawValue, $0) }
  }

  // MARK: PeerConnectionDelegate

  func peerConnection(_ pc: PeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    let message = Livekit_SignalResponse.trickle(
      TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex), .publisher)
    if earlyCandidates != nil {
      earlyCandidates?.append(message)
    } else {
      participant.describe(message)
    }
  }

  func peerConnection(_ pc: PeerConnection, stateChanged state: TransportState) {
    participant.mediaStateChanged(state, isPrimary: participant.subscriber == nil)
  }

  func peerConnection(_ pc: PeerConnection, receiverAdded receiver: RTPReceiver) { started.append(receiver) }

  func peerConnection(_ pc: PeerConnection, receiverChanged receiver: RTPReceiver) {
    unbind(receiver)
    started.append(receiver)
  }

  func peerConnection(_ pc: PeerConnection, receiverRemoved receiver: RTPReceiver) { unbind(receiver) }

  func peerConnection(
    _ pc: PeerConnection, receiver: RTPReceiver, received packet: RTPPacket, rid: RID?, at now: Int64
  ) {
    receivers[ObjectIdentifier(receiver)]?.receive(packet, rid: rid, now: now)
  }

  func peerConnection(
    _ pc: PeerConnection, receiver: RTPReceiver, rid: RID?, senderReport ntp: NTPTime, rtpTimestamp: UInt32,
    at now: Int64
  ) {
    receivers[ObjectIdentifier(receiver)]?.receiveReport(rid: rid, ntp: ntp, rtpTimestamp: rtpTimestamp, at: now)
  }

  func peerConnection(
    _ pc: PeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    guard participant.grant.allowsData, let channel = DataLabel(rawValue: label),
      let packet = SignalCoding.packet(Array(bytes))
    else { return }
    // Speakers are told by the server alone.
    if case .speaker = packet.value { return }
    if channel == .reliable, packet.sequence > 0 {
      // Sent again after a resume: it had come.
      guard packet.sequence > lastReliableSequence else { return }
      lastReliableSequence = packet.sequence
    }
    participant.room.forward(packet, from: participant, isReliable: channel == .reliable)
  }
}

/// The data channels that LiveKit's clients use.
enum DataLabel: String {
  /// Ordered, every message arrives.
  case reliable = "_reliable"
  /// Unordered, sent once.
  case lossy = "_lossy"

  init(isReliable: Bool) { self = isReliable ? .reliable : .lossy }
}
