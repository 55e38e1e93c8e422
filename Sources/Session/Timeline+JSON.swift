import Layouts
import MediaCore

extension TimelineEntry {
  /// The entry as one line of JSON, without the newline. `startDate` is when the session began, nanoseconds since
  /// 1970-01-01 UTC.
  public func json(startDate: Int64) -> String {
    var line = "{\"time_ms\":\(time.milliseconds),\"session_ms\":\(sessionTime.milliseconds)"
    line += ",\"at\":\"\(UTCDate.text(startDate &+ sessionTime.nanoseconds))\",\"event\":\"\(event.name)\""
    for (key, value) in event.fields { line += ",\"\(key)\":\(value)" }
    return line + "}"
  }
}

/// Dates as they stand in files.
public enum UTCDate {
  /// `2026-11-21T09:30:00.125Z` (RFC 3339), of nanoseconds since 1970-01-01 UTC.
  public static func text(_ nanoseconds: Int64) -> String {
    let milliseconds = max(0, nanoseconds) / 1_000_000
    let seconds = ClockFormat("%FT%T")?.text(seconds: milliseconds / 1000) ?? ""
    return "\(seconds).\(String(1000 + milliseconds % 1000).dropFirst())Z"
  }
}

extension TimelineEvent {
  /// The name under which it is written.
  public var name: String {
    switch self {
    case .started: "started"
    case .joined: "joined"
    case .left: "left"
    case .renamed: "renamed"
    case .published: "published"
    case .unpublished: "unpublished"
    case .muted(_, _, _, let isMuted): isMuted ? "muted" : "unmuted"
    case .subscribed(_, _, _, let isSubscribed): isSubscribed ? "subscribed" : "unsubscribed"
    case .obstacle: "obstacle"
    case .lowBandwidth(_, _, let isLow): isLow ? "low-bandwidth" : "bandwidth-restored"
    case .talker: "talker"
    case .activeTalkers: "active-talkers"
    case .resolution: "resolution"
    case .unsupportedCodec: "unsupported-codec"
    case .bandwidth: "bandwidth-alert"
    case .path: "path"
    case .data: "data"
    case .chat: "chat"
    case .caption: "caption"
    case .layout: "layout"
    case .scene: "scene"
    case .pinned: "pinned"
    case .unpinned: "unpinned"
    case .spotlight: "spotlight"
    case .processors: "processors"
    case .title: "title"
    case .marker: "marker"
    case .paused: "paused"
    case .resumed: "resumed"
    case .connectionLost: "connection-lost"
    case .connectionRestored: "connection-restored"
    case .degradation: "degradation"
    case .ended: "ended"
    }
  }

  /// What else is written, as keys and JSON values.
  fileprivate var fields: [(key: String, value: String)] {
    func text(_ key: String, _ value: String) -> (key: String, value: String) { (key, JSONText.quoted(value)) }
    func person(_ identity: ParticipantIdentity) -> (key: String, value: String) {
      text("participant", identity.rawValue)
    }
    func optional(_ key: String, _ value: String?) -> (key: String, value: String) {
      (key, value.map(JSONText.quoted) ?? "null")
    }
    return switch self {
    case .started(let room): [text("room", room)]
    case .joined(let identity, let name), .left(let identity, let name), .renamed(let identity, let name),
      .talker(let identity, let name):
      [person(identity), text("name", name)]
    case .published(let track, let identity, let source), .unpublished(let track, let identity, let source),
      .muted(let track, let identity, let source, _), .subscribed(let track, let identity, let source, _):
      [person(identity), text("source", source.timelineName), text("track", track.rawValue)]
    case .obstacle(let track, let identity, let source, let obstacle):
      [
        person(identity), text("source", source.timelineName), text("track", track.rawValue),
        optional("obstacle", obstacle?.rawValue),
      ]
    case .lowBandwidth(let track, let identity, _): [person(identity), text("track", track.rawValue)]
    case .activeTalkers(let list):
      [("talkers", "[" + list.map { JSONText.quoted($0.rawValue) }.joined(separator: ",") + "]")]
    case .resolution(let track, let identity, let source, let width, let height):
      [
        person(identity), text("source", source.timelineName), text("track", track.rawValue), ("width", "\(width)"),
        ("height", "\(height)"),
      ]
    case .unsupportedCodec(let track, let identity, let source, let codec):
      [
        person(identity), text("source", source.timelineName), text("track", track.rawValue),
        text("codec", codec),
      ]
    case .bandwidth(let alert): MessageFields.of(alert)
    case .path(let path): [text("carrier", path.carrier.rawValue), text("address", path.address)]
    case .data(let message, let name): MessageFields.of(message, name: name)
    case .chat(let chat, let name): MessageFields.of(chat, name: name)
    case .caption(let caption, let name): MessageFields.of(caption, name: name)
    case .layout(let name): [text("layout", name)]
    case .scene(let name): [text("scene", name)]
    case .pinned(let tile): [text("tile", tile)]
    case .unpinned(let tile), .spotlight(let tile): [optional("tile", tile)]
    case .processors(let identity, let name, let processors):
      [
        person(identity), text("name", name),
        ("processors", "[" + processors.list.map(JSONText.quoted).joined(separator: ",") + "]"),
      ]
    case .title(let title), .marker(let title): [text("title", title)]
    case .paused(let policy): [text("policy", policy.rawValue)]
    case .connectionLost(let reason): [text("reason", reason)]
    case .degradation(let step): [text("step", step.name)]
    case .ended(let end): [text("reason", end.name)]
    case .resumed, .connectionRestored: []
    }
  }
}

extension TrackSource {
  /// A word for it, as it stands in files.
  public var timelineName: String {
    switch self {
    case .screenShare: "screen-share"
    case .screenShareAudio: "screen-share-audio"
    default: rawValue
    }
  }
}

extension SessionEnd {
  /// A word for it, as it stands in the timeline.
  public var name: String {
    switch self {
    case .stopped: "stopped"
    case .roomEnded: "room-ended"
    case .evicted: "evicted"
    case .removed: "removed"
    case .maxDuration: "max-duration"
    case .empty: "empty"
    case .connectionLost: "connection-lost"
    }
  }
}
