import RecbotKit

/// Says back what everybody says, so long after; each person by a track of their own.
func echo(in room: Room, after delay: Duration) async {
  await withDiscardingTaskGroup { group in
    for await event in room.events {
      guard case .trackPublished(.audio(let track)) = event else { continue }
      group.addTask { await echo(track, in: room, after: delay) }
    }
  }
}

private func echo(_ track: RemoteAudioTrack, in room: Room, after delay: Duration) async {
  let voice = BufferAudioCapturer()
  let blocks = track.blocks()
  let name = "echo of \(track.participant)"
  guard let publication = try? await room.localParticipant.publish(LocalAudioTrack(name: name, capturer: voice)) else {
    return say("no \(name)")
  }
  say(name)
  var start: ContinuousClock.Instant?
  for await block in blocks {
    // By the times of the blocks, so that pauses stay as long as they were.
    let time = block.time ?? .zero
    let begin = start ?? .now + delay - time
    start = begin
    try? await Task.sleep(until: begin + time, clock: .continuous)
    voice.capture(block)
  }
  room.localParticipant.unpublish(publication)
}
