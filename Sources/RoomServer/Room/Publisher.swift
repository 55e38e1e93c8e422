import Logging
import MediaCore
import PeerConnection
import RTP
import SDP
import Signaling
import Transport

/// A client's publishing connection: the client offers, the server answers. Confined to the room's loop.
final class Publisher: PeerConnectionDelegate {
  private unowned let participant: ClientSession
  private let connection: RTCPeerConnection
  private var receivers: [ObjectIdentifier: Publication] = [:]
  private var started: [RTPReceiver] = []
  private var earlyCandidates: [Livekit_SignalResponse]? = []
  /// What is to be sent when the sections of its offer have their tracks.
  private var answer: (text: String, id: UInt32)?

  /// In kbit/s.
  private static let startBitrate = 1000

  init(participant: ClientSession) throws(RoomJoinRefusal) {
    self.participant = participant
    var configuration = participant.room.mediaConfiguration
    // Without feedback libwebrtc stays at its start bitrate. Not REMB as well: libwebrtc takes the smaller of the two,
    // and the estimate that can be made here is the poorer one.
    configuration.bandwidthFeedback = [.transportWide]
    do {
      connection = try RTCPeerConnection(loop: participant.room.loop, configuration: configuration)
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

  // MARK: Offers

  /// Takes the client's offer and makes the answer, which waits until its sections have their tracks.
  func handle(_ offer: Livekit_SessionDescription) {
    started.removeAll()
    do throws(PeerConnectionError) {
      try connection.setRemoteOffer(offer.sdp)
      answer = (adapted(try connection.createAnswer(), to: offer.sdp), offer.id)
    } catch {
      participant.logger.warning("offer refused", metadata: ["reason": "\(error)"])
      return participant.leave(.stateMismatch)
    }
    started.removeAll { !$0.isActive || receivers[ObjectIdentifier($0)] != nil }
    let sections = started.map { receiver in
      OfferedSection(
        mid: receiver.mid.rawValue, kind: receiver.kind, trackID: receiver.trackID, codecs: receiver.codecs,
        layers: receiver.rids.count)
    }
    participant.room.handle(.offered(participant.sid, sections))
  }

  /// Begins to take a track's packets from a section of the newest offer; nil when there is no such section.
  func start(_ mid: String, _ route: TrackRoute) -> Publication? {
    guard let receiver = started.first(where: { $0.mid.rawValue == mid }) else { return nil }
    let publication = Publication(route, receiver: receiver, logger: participant.logger)
    publication.ownerSpokenAt = participant.spokenAt
    receivers[ObjectIdentifier(receiver)] = publication
    receiver.wantsPackets = true
    return publication
  }

  /// Sends the answer that waits, and the candidates that were found before it.
  func sendAnswer(tracks: [String: String]) {
    started.removeAll()
    guard let (text, id) = answer else { return }
    answer = nil
    participant.describe(.description(.answer, text, id: id, tracks: tracks))
    for candidate in earlyCandidates ?? [] { participant.describe(candidate) }
    earlyCandidates = nil
  }

  /// A candidate of the client.
  func addCandidate(_ candidate: String) { connection.addRemoteCandidate(candidate) }

  /// The track is over, whatever the client still sends.
  func stop(_ track: String) {
    guard let publication = receivers.values.first(where: { $0.sid == track }) else { return }
    receivers[ObjectIdentifier(publication.receiver)] = nil
    publication.receiver.wantsPackets = false
  }

  private func unbind(_ receiver: RTPReceiver) {
    guard let publication = receivers.removeValue(forKey: ObjectIdentifier(receiver)) else { return }
    receiver.wantsPackets = false
    participant.room.handle(.trackEnded(participant.sid, track: publication.sid))
  }

  /// The answer with what the publisher is to send: of sound redundancy (RFC 2198) before all else, and no silence, unless the track was
  /// announced otherwise; of each track of pictures the codec that was announced before all others, and a start bitrate (in kbit/s), which
  /// libwebrtc takes instead of its 300: without it the first seconds of a camera are a quarter of its size.
  private func adapted(_ answer: String, to offer: String) -> String {
    guard var description = try? SessionDescription(parsing: answer),
      let offered = try? SessionDescription(parsing: offer)
    else { return answer }
    let tracks = participant.room.machine.member(participant.sid)?.tracks
    for index in description.media.indices {
      guard offered.media.indices.contains(index) else { continue }
      let name = offered.media[index].streams.first?.track
      let mid = description.media[index].mid
      let bound = receivers.values.first { $0.receiver.mid == mid }?.sid
      guard description.media[index].kind == .media(.video) else {
        let track = tracks?.preview(bound: bound, name: name, type: .audio)
        Self.arrangeAudio(&description.media[index], of: track?.info)
        continue
      }
      let track = tracks?.preview(bound: bound, name: name, type: .video)
      guard let codec = track?.codec ?? Self.first(description.media[index]) else { continue }
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

  /// Puts redundancy (RFC 2198) before everything else, or leaves it out: what is listed first publishers send. Asks for silence to be left
  /// out (RFC 7587 section 6.1) where the track was announced so. Nil: it was not announced.
  static func arrangeAudio(_ media: inout MediaDescription, of info: Livekit_TrackInfo?) {
    if let info, !info.disableDtx, !info.audioFeatures.contains(.tfNoDtx) {
      for map in media.rtpMaps where map.isEncoding("opus", clockRate: 48_000) {
        add("usedtx=1", to: map.payloadType, in: &media)
      }
    }
    let types = Set(
      media.rtpMaps.filter { $0.isEncoding("red", clockRate: 48_000) }.map(\.payloadType))
    let names = Set(types.map(\.description))
    if info?.disableRed == false {
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
    for map in preferred { add("x-google-start-bitrate=\(startBitrate)", to: map.payloadType, in: &media) }
  }

  /// Adds a parameter to those of a format (RFC 8866 section 6.15).
  private static func add(_ parameter: String, to type: PayloadType, in media: inout MediaDescription) {
    if let known = media.formatParameters.firstIndex(where: { $0.payloadType == type }) {
      media.formatParameters[known].text += ";" + parameter
    } else {
      media.formatParameters.append(FormatParameters(payloadType: type, text: parameter))
    }
  }

  // MARK: Data

  /// Sends data to a client that doesn't subscribe, on the channels that it opened itself.
  func sendData(_ bytes: [UInt8], isReliable: Bool) {
    bytes.withUnsafeBytes { _ = connection.sendData(label: DataLabel(isReliable: isReliable).rawValue, $0) }
  }

  // MARK: PeerConnectionDelegate

  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    let message = Livekit_SignalResponse.trickle(
      TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex), .publisher)
    if earlyCandidates != nil {
      earlyCandidates?.append(message)
    } else {
      participant.describe(message)
    }
  }

  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    participant.room.handle(.media(participant.sid, .publisher, state))
  }

  func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver) { started.append(receiver) }

  func peerConnection(_ pc: RTCPeerConnection, receiverChanged receiver: RTPReceiver) {
    unbind(receiver)
    started.append(receiver)
  }

  func peerConnection(_ pc: RTCPeerConnection, receiverRemoved receiver: RTPReceiver) { unbind(receiver) }

  func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, received packet: RTPPacket, rid: RID?, at now: Instant
  ) {
    receivers[ObjectIdentifier(receiver)]?.receive(packet, rid: rid, now: now)
  }

  func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, rid: RID?, senderReport ntp: NTPTime, rtpTimestamp: UInt32,
    at now: Instant
  ) {
    receivers[ObjectIdentifier(receiver)]?.receiveReport(rid: rid, ntp: ntp, rtpTimestamp: rtpTimestamp, at: now)
  }

  func peerConnection(
    _ pc: RTCPeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    guard let channel = DataLabel(rawValue: label) else { return }
    participant.room.handle(.data(participant.sid, Array(bytes), isReliable: channel == .reliable))
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
