import RecbotKit

/// What a file gives to whoever sits opposite.
func tracks(of file: WebMFile) -> [PeerTrack] {
  let picture = file.video.map { PeerTrack.video(LocalVideoTrack(capturer: $0)) }
  let sound = file.audio.map { PeerTrack.audio(LocalAudioTrack(capturer: $0)) }
  return [picture, sound].compactMap { $0 }
}

/// Waits in a two-party room, plays a file to whoever comes, and says goodbye.
func answer(in room: PeerRoom, with file: WebMFile) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for await event in room.events {
      switch event {
      case .participantConnected(let person): say("\(person.name) is there")
      case .trackPublished(.video(let track)): group.addTask { await look(at: track) }
      case .localTrackPublished:
        say("playing for \(file.duration)")
        // A moment for what is on its way.
        try await Task.sleep(for: file.duration + .seconds(1))
        return group.cancelAll()
      default: break
      }
    }
  }
}

/// Says how large somebody's pictures are.
private func look(at track: RemoteVideoTrack) async {
  for await frame in track.frames() {
    return say("\(track.participant) is seen in \(frame.dimensions.width)x\(frame.dimensions.height)")
  }
}
