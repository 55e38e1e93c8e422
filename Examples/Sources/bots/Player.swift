import RecbotKit

/// Plays a file into a room, once.
func play(_ file: WebMFile, in room: Room) async throws {
  if let capturer = file.video {
    try await room.localParticipant.publish(LocalVideoTrack(name: "film", source: .screenShare, capturer: capturer))
  }
  if let capturer = file.audio {
    var options = AudioPublishOptions()
    options.bitrate = 96_000
    // Music that grows quiet is no silence.
    options.isDiscontinuous = false
    try await room.localParticipant.publish(
      LocalAudioTrack(name: "film sound", source: .screenShareAudio, capturer: capturer), options: options)
  }
  say("playing for \(file.duration)")
  // A moment for what is on its way.
  try await Task.sleep(for: file.duration + .seconds(1))
}
