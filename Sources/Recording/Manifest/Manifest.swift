import Layouts
import MediaCore
import Session

/// What a finished recording is told by: who was there when, which tracks came how well, what happened. Bounded, however
/// many come; what had no room is counted in `leftOut`.
struct Manifest {
  /// People, tracks, and entries of each other list that are kept.
  static let mostPeople = 4096, mostTracks = 8192, mostEntries = 4096
  /// Stays of one person, and sizes of one track.
  static let mostOfOne = 64

  /// A stretch of the file; without an end it goes on.
  struct Span {
    var start: SessionTime
    var end: SessionTime?
    /// The same in the session: where a cut takes the time out of the file, it has a length still.
    var sessionStart: SessionTime
    var sessionEnd: SessionTime?
    /// Why, or how.
    var text = ""
  }

  struct Person {
    var name: String
    var stays: [Span] = []
    var talked = Duration.zero
  }

  struct TrackEntry {
    var participant: ParticipantIdentity
    var source: TrackSource
    var published: Span
    var kind: MediaKind?
    var codec: Codec?
    var first: SessionTime?
    var last = SessionTime.zero
    var frames: Int64 = 0
    var sizes: [(at: SessionTime, width: Int, height: Int)] = []
    var freezes = FreezeWatch()
    /// Sound that never came.
    var concealed = LossWindow()
    /// Sound that never came, but for a copy in the packet behind it.
    var restored = Duration.zero
    /// What the sender's reports say.
    var reports = CaptureReports()
    /// Of pictures with sound.
    var skew = SkewWatch()
    /// Where the sound goes on; nil where nothing is missing if it does not.
    var audioEnd: SessionTime?
    var lateAudio = Duration.zero
    var decodeErrors: UInt64 = 0
    var holds: Holds = []
  }

  /// Why no picture of a track is expected.
  struct Holds: OptionSet, Hashable {
    let rawValue: UInt8
    static let muted = Holds(rawValue: 1), taken = Holds(rawValue: 2), narrow = Holds(rawValue: 4)
    static let unwanted = Holds(rawValue: 8), obstacle = Holds(rawValue: 16)
  }

  var room = ""
  var people: [ParticipantIdentity: Person] = [:]
  /// In the order in which they came.
  var peopleOrder: [ParticipantIdentity] = []
  var bots: Set<ParticipantIdentity> = []
  var tracks: [TrackID: TrackEntry] = [:]
  var trackOrder: [TrackID] = []
  var layouts: [(at: SessionTime, name: String)] = []
  var markers: [(at: SessionTime, title: String)] = []
  var gaps: [Span] = []
  var pauses: [Span] = []
  /// What had no room, by the name of its list.
  var leftOut: [String: Int] = [:]
}

/// Counts what is lost, and finds the worst ten seconds.
struct LossWindow: Hashable {
  private static let window = Duration.seconds(10)
  /// How much in all.
  private(set) var total = Duration.zero
  /// How much in the worst ten seconds.
  private(set) var worst = Duration.zero
  /// When the worst ten seconds begin.
  private(set) var worstAt = SessionTime.zero
  private var (index, sum) = (-1, Duration.zero)

  /// So much is lost at this time.
  mutating func add(_ lost: Duration, at time: SessionTime) {
    let at = Int(max(.zero, time.sinceBeginning) / Self.window)
    if at != index { (index, sum) = (at, .zero) }
    sum += lost
    total += lost
    if sum > worst { (worst, worstAt) = (sum, .zero + Self.window * at) }
  }
}
