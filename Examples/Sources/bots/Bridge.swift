import RecbotKit

/// Everybody in one room is seen, heard and read in the other, both ways.
func bridge(_ one: Room, _ other: Room) async {
  await withTaskGroup(of: Void.self) { group in
    group.addTask { await lead(from: one, to: other) }
    group.addTask { await lead(from: other, to: one) }
    // When either room ends, so does the bridge.
    await group.next()
    group.cancelAll()
    for room in [one, other] { await room.disconnect() }
  }
}

private func lead(from room: Room, to other: Room) async {
  await withDiscardingTaskGroup { group in
    for await event in room.events {
      switch event {
      case .trackPublished(.video(let track)): group.addTask { await lead(track, to: other) }
      case .trackPublished(.audio(let track)): group.addTask { await lead(track, to: other) }
      case .chatReceived(let message) where message.action == .posted:
        let name = message.participant.flatMap { room.remoteParticipant($0)?.name } ?? room.name
        try? await other.localParticipant.send(chat: "\(name): \(message.text)")
      default: break
      }
    }
  }
}

/// A track's name in the other room.
private func name(_ track: RemoteTrack) -> String { "\(track.participant) \(track.name)" }

private func lead(_ track: RemoteVideoTrack, to room: Room) async {
  let frames = track.frames(limit: 4)
  // The size is known with the first picture.
  guard let first = await frames.first(where: { _ in true }) else { return }
  let camera = LocalVideoTrack(
    name: name(track.track), source: track.source,
    capturer: SequenceCapturer(frames, dimensions: first.dimensions))
  guard let publication = try? await room.localParticipant.publish(camera) else { return }
  say("\(room.name) sees \(name(track.track))")
  await track.ended()
  room.localParticipant.unpublish(publication)
}

private func lead(_ track: RemoteAudioTrack, to room: Room) async {
  let microphone = LocalAudioTrack(
    name: name(track.track), source: track.source, capturer: SequenceAudioCapturer(track.blocks()))
  guard let publication = try? await room.localParticipant.publish(microphone) else { return }
  say("\(room.name) hears \(name(track.track))")
  await track.ended()
  room.localParticipant.unpublish(publication)
}
