import Layouts
import MediaCore

extension SessionCore {
  /// The numbers of a session.
  public struct Settings: Sendable {
    /// Output picture.
    public var canvas: CanvasSize
    /// The layout at the beginning.
    public var layout: Layout
    /// Says where everything is instead of that layout's own rules; nil: nothing does.
    public var arrangementRule: (any ArrangementRule)?
    /// Output pictures a second, 1 to 120.
    public let framesPerSecond: Int
    /// How long the core waits for late frames before it plans an instant; at least 250 ms.
    public let latency: Duration
    /// A camera that sends nothing for so long has no signal.
    public var noSignalAfter: Duration
    /// The same for shared screens, which may rightly be still.
    public var screenNoSignalAfter: Duration
    /// After the connection is lost, the last pictures stay (dimmed) for so long.
    public var dimFor: Duration
    /// End when no people (bots don't count) have been in the room for so long; nil: never.
    public var stopWhenEmpty: Duration?
    /// End when the file has this length; nil: never.
    public var maximumDuration: Duration?
    /// Who is the active talker.
    public var talker: TalkerPolicy.Settings
    /// How much of the video tracks is wanted.
    public var receive: ReceptionPolicy.Mode
    /// Whether pictures that no layout uses are of use all the same, for a session log. Where not, they are not received, whatever
    /// `receive` says.
    public var keepsPictures = true
    /// At most so many people are shown: the list of active talkers; nil: all.
    public var maximumTalkers: Int?
    /// The recording's title at the beginning.
    public var title: String
    /// When the session began: nanoseconds since 1970-01-01 UTC.
    public var startDate: Int64
    /// What the local time is ahead of UTC, seconds.
    public var utcOffset: Int
    /// What is done to whose pictures and sound from the beginning on; of those that mean somebody, the last counts.
    public var processors: [ProcessorRule] = []
    /// Further pictures that are planned of the same session, at the same instants.
    public var further: [FurtherPicture] = []

    /// Makes settings; the defaults are those of the command line.
    public init(
      canvas: CanvasSize, layout: Layout, arrangementRule: (any ArrangementRule)? = nil, framesPerSecond: Int = 30,
      latency: Duration = .milliseconds(500),
      noSignalAfter: Duration = .seconds(3), screenNoSignalAfter: Duration = .seconds(15),
      dimFor: Duration = .seconds(3), stopWhenEmpty: Duration? = nil, maximumDuration: Duration? = nil,
      talker: TalkerPolicy.Settings = TalkerPolicy.Settings(), receive: ReceptionPolicy.Mode = .best,
      maximumTalkers: Int? = nil, title: String = "", startDate: Int64 = 0,
      utcOffset: Int = 0
    ) {
      self.canvas = canvas
      self.layout = layout
      self.arrangementRule = arrangementRule
      self.framesPerSecond = max(1, min(framesPerSecond, 120))
      // Sound is handed on ahead of its time; the pauses that cut it off must be known by then.
      self.latency = max(latency, .milliseconds(250))
      self.noSignalAfter = noSignalAfter
      self.screenNoSignalAfter = screenNoSignalAfter
      self.dimFor = dimFor
      self.stopWhenEmpty = stopWhenEmpty
      self.maximumDuration = maximumDuration
      self.talker = talker
      self.receive = receive
      self.maximumTalkers = maximumTalkers
      self.title = title
      self.startDate = startDate
      self.utcOffset = utcOffset
    }

    /// A further picture of a session: other sizes and layouts, and the same frames.
    public struct FurtherPicture: Sendable {
      /// Its size, pixels.
      public var canvas: CanvasSize
      /// Its layout, which stays; nil: that of the session's picture, with its changes.
      public var layout: Layout?

      /// Makes one; see the properties.
      public init(canvas: CanvasSize, layout: Layout? = nil) {
        self.canvas = canvas
        self.layout = layout
      }
    }

    /// Presentation time of an output slot; exact for every whole second.
    public func slotTime(_ slot: Int64) -> SessionTime { OutputClock(framesPerSecond: framesPerSecond).time(of: slot) }
  }
}
