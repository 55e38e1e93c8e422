import MediaCore
import RTP
import SDP

@testable import PeerConnection

/// Feeds session descriptions, divided by zero bytes, to one negotiation. Those that begin with `A` answer an offer
/// of ours; before those with `+` and `-` a track is added or all are removed; the rest are offers.
public func fuzzNegotiation(_ bytes: UnsafeRawBufferPointer) {
  var policy = NegotiationPolicy()
  policy.usesTransportFeedback = true
  policy.usesMaximumBitrate = true
  var machine = Negotiation(policy: policy, seed: 1)
  let local = Negotiation.LocalTransport(
    ufrag: "ours", password: "0123456789abcdefghijkl", fingerprint: .init(algorithm: "sha-256", value: "AA:BB"))
  for part in bytes.split(separator: 0, maxSplits: 15) {
    let operation = part.first ?? 0
    let isPlain = !"A+-".utf8.contains(operation)
    let text = String(decoding: isPlain ? part : part.dropFirst(), as: UTF8.self)
    switch operation {
    case UInt8(ascii: "+"): addTrack(to: &machine)
    case UInt8(ascii: "-"): for track in machine.tracks { machine.removeTrack(track.id) }
    default: break
    }
    guard let description = try? SessionDescription(parsing: text) else { continue }
    if operation == UInt8(ascii: "A") {
      answerOurs(&machine, with: description, local: local)
    } else {
      answerTheirs(&machine, description, local: local)
    }
    for media in machine.media {
      precondition(media.receivePayloads.entries.allSatisfy { media.receivePayloads.format(of: $0.type) != nil })
    }
    precondition(machine.sections.isEmpty || machine.sections.indices.contains(machine.tagIndex))
  }
}

private func addTrack(to machine: inout Negotiation) {
  let isVideo = machine.tracks.count.isMultiple(of: 2)
  let stream = MediaStreamTrack(stream: "s", track: "t\(machine.tracks.count)")
  _ = machine.addTrack(
    codec: isVideo ? .vp8 : .opus, stream: stream, layers: isVideo ? [RID("q"), RID("h")] : [], alsoReceives: isVideo)
}

private func answerOurs(
  _ machine: inout Negotiation, with answer: SessionDescription, local: Negotiation.LocalTransport
) {
  if machine.tracks.isEmpty { addTrack(to: &machine) }
  guard let offer = try? machine.createOffer(local) else { return }
  check(offer, machine)
  if (try? machine.setRemoteAnswer(answer)) == nil { machine.withdrawOffer() }
  precondition(machine.state == .stable, "an exchange that has ended is not over")
}

private func answerTheirs(
  _ machine: inout Negotiation, _ offer: SessionDescription, local: Negotiation.LocalTransport
) {
  guard (try? machine.setRemoteOffer(offer)) != nil else { return }
  guard let answer = try? machine.createAnswer(local) else {
    preconditionFailure("an offer that was taken cannot be answered")
  }
  precondition(answer.media.count == offer.media.count, "an answer must have the offer's sections")
  check(answer, machine)
}

/// Our own descriptions must be readable by others.
private func check(_ description: SessionDescription, _ machine: Negotiation) {
  precondition(description.media.count == machine.sections.count, "sections were lost")
  guard let again = try? SessionDescription(parsing: description.serialized()) else {
    preconditionFailure("a description of ours cannot be read")
  }
  precondition(again.media.count == description.media.count, "sections were lost in writing")
}
