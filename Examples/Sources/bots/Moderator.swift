import RecbotKit
import Synchronization

/// Mutes who is louder than this for a second, and says so: the root mean square, 1 for full scale.
func moderate(_ room: Room, limit: Float) async {
  await withDiscardingTaskGroup { group in
    for await event in room.events {
      guard case .trackPublished(.audio(let track)) = event, track.source == .microphone else { continue }
      group.addTask { await moderate(track, in: room, limit: limit) }
    }
  }
}

private func moderate(_ track: RemoteAudioTrack, in room: Room, limit: Float) async {
  var loud = Duration.zero
  for await block in track.blocks() {
    let power = block.samples.reduce(0) { $0 + $1 * $1 } / Float(max(1, block.samples.count))
    // What is quiet for as long as it was loud is forgiven.
    loud = power > limit * limit ? loud + block.duration : max(.zero, loud - block.duration)
    guard loud > .seconds(1), track.track.isEnabled else { continue }
    loud = .zero
    let name = room.remoteParticipant(track.participant)?.name ?? "\(track.participant)"
    do {
      try await room.mute(track.track)
      try await room.localParticipant.send(chat: "\(name) was muted for shouting. Unmute when you are calm.")
      say("muted \(name)")
    } catch {
      say("\(name) shouts, and cannot be muted: \(error)")
    }
  }
}
