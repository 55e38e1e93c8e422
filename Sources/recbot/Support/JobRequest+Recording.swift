import JobsAPI
import MediaCore
import RecbotKit
import Session

extension RoomSelection {
  /// The part of the room that a job records.
  init(_ selection: JobSelection) {
    self.init()
    participant = selection.participant.map { ParticipantIdentity($0) }
    tracks = selection.tracks.map { Set($0.map { TrackID($0) }) }
    sources = selection.screenShare.map { isScreen in
      isScreen ? [.screenShare, .screenShareAudio] : [.camera, .microphone, .unknown]
    }
    kind =
      switch selection.media {
      case .audio: .audio
      case .video: .video
      case nil: nil
      }
  }
}
