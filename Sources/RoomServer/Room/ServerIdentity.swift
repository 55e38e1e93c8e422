import Signaling

/// What the server says of itself and of a client's rights.
enum ServerIdentity {
  /// SDKs switch features by this number: it is that of the stock server whose behaviour is followed.
  static let version = "1.9.0"

  static let info: Livekit_ServerInfo = {
    var info = Livekit_ServerInfo()
    info.edition = .standard
    info.version = version
    info.protocol = 16
    info.nodeID = "ND_recbot"
    return info
  }()

  static func kind(_ text: String?) -> Livekit_ParticipantInfo.Kind {
    switch text {
    case "ingress": .ingress
    case "egress": .egress
    case "sip": .sip
    case "agent": .agent
    case "connector": .connector
    case "bridge": .bridge
    default: .standard
    }
  }

  static func permission(_ grant: VideoGrant) -> Livekit_ParticipantPermission {
    var permission = Livekit_ParticipantPermission()
    permission.canSubscribe = grant.allowsSubscribe
    permission.canPublish = grant.allowsPublish
    permission.canPublishData = grant.allowsData
    permission.hidden = grant.hidden ?? false
    permission.recorder = grant.recorder ?? false
    permission.canUpdateMetadata = grant.canUpdateOwnMetadata ?? false
    permission.canPublishSources = [.camera, .microphone, .screenShare, .screenShareAudio].filter { source in
      grant.canPublishSources?.contains(source.claimName) ?? false
    }
    return permission
  }
}
