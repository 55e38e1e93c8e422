import MediaCore
import Session

/// What is in a log: gathered from its entries, one by one. Pure.
public struct LogContents: Sendable {
  /// A track.
  public struct Track: Sendable, Hashable {
    /// As it was announced last.
    public var track: Session.Track
    /// Its codecs, in the order in which they came.
    public var codecs: [Codec] = []
    /// Frames that came.
    public var frames: UInt64 = 0
    /// Stretches of sound that were told as lost.
    public var lost: UInt64 = 0
    /// Pictures with which decoding can begin.
    public var keyframes: UInt64 = 0
    /// Bytes of its frames.
    public var bytes: UInt64 = 0
    /// Arrival of its first frame; nil before that.
    public var first: SessionTime?
    /// Arrival of its last frame; nil before the first.
    public var last: SessionTime?
  }

  /// The room's name, as soon as it is known.
  public private(set) var room: String?
  /// Who was there, in the order in which they came, as they were announced last.
  public private(set) var people: [Participant] = []
  /// What they published, in the order in which it was announced.
  public private(set) var tracks: [Track] = []
  /// Chat, captions and data messages.
  public private(set) var messages: UInt64 = 0
  /// Losses of the connection.
  public private(set) var outages: UInt64 = 0
  /// What the log could not take.
  public private(set) var gaps: [LogGap] = []
  /// How the recording ended; nil: it was killed, or is not over.
  public private(set) var end: LogEnd?
  /// From the beginning to the arrival of the last entry.
  public private(set) var length = Duration.zero
  private var places: [TrackID: Int] = [:]
  /// More gaps than this are not listed one by one.
  private static let gapLimit = 10_000

  /// Nothing yet.
  public init() {}

  /// Takes the next entry.
  public mutating func take(_ entry: LogEntry) {
    switch entry {
    case .gap(let gap): if gaps.count < Self.gapLimit { gaps.append(gap) }
    case .end(let end): self.end = end
    case .event(let event):
      length = event.arrived.sinceBeginning
      switch event.payload {
      case .frame(let frame, let track): take(frame, of: track, at: event.arrived)
      case .room(let event): take(event)
      }
    }
  }

  private mutating func take(_ event: RoomEvent) {
    switch event {
    case .joined(let name): room = name
    case .participant(let participant):
      if let index = people.firstIndex(where: { $0.identity == participant.identity }) {
        people[index] = participant
      } else {
        people.append(participant)
      }
    case .track(let track):
      if let place = places[track.id] {
        tracks[place].track = track
      } else {
        places[track.id] = tracks.count
        tracks.append(Track(track: track))
      }
    case .data, .chat, .caption: messages += 1
    case .connectionLost: outages += 1
    default: break
    }
  }

  private mutating func take(_ frame: EncodedFrame, of track: TrackID, at time: SessionTime) {
    guard let place = places[track] else { return }
    tracks[place].first = tracks[place].first ?? time
    tracks[place].last = time
    guard frame.payload.count > 0 else { return tracks[place].lost += 1 }
    tracks[place].frames += 1
    tracks[place].bytes += UInt64(frame.payload.count)
    if frame.isKeyframe, frame.codec.kind == .video { tracks[place].keyframes += 1 }
    if tracks[place].codecs.last != frame.codec { tracks[place].codecs.append(frame.codec) }
  }
}
