import Layouts
import MediaCore

/// One of the pictures that are planned of a session: its layout, and where its tiles are. Pure.
struct PlannedPicture: Sendable {
  private var arranger: Arranger
  var motion = TileMotion()
  /// The tiles' places, and what they were worked out from, as long as nothing that moves them has changed.
  private(set) var arrangement: (view: RoomView, revision: UInt64, result: Arrangement)?
  /// The scene of the last arrangement of this layout.
  private(set) var scene: String?
  /// The publications that had a tile in the newest plan.
  var shown: Set<TrackID> = []
  private let followsLayout: Bool
  /// Whether the layout in force uses pictures of people.
  private(set) var usesPictures: Bool

  /// The session's own picture.
  init(_ settings: SessionCore.Settings) {
    arranger = Arranger(layout: settings.layout, canvas: settings.canvas, rule: settings.arrangementRule)
    followsLayout = true
    usesPictures = settings.layout.usesPictures
  }

  /// A further one.
  init(_ picture: SessionCore.Settings.FurtherPicture, of settings: SessionCore.Settings) {
    let layout = picture.layout ?? settings.layout
    arranger = Arranger(layout: layout, canvas: picture.canvas)
    followsLayout = picture.layout == nil
    usesPictures = layout.usesPictures
  }

  /// The layout in force.
  var layout: Layout { arranger.layout }

  /// The session's layout is another one from now on.
  mutating func follow(_ layout: Layout) {
    guard followsLayout else { return }
    arranger.setLayout(layout)
    usesPictures = layout.usesPictures
    arrangement = nil
    scene = nil
  }

  /// Whether the layout in force uses pictures of people when the session's is this one.
  func usesPictures(following layout: Layout) -> Bool { followsLayout ? layout.usesPictures : usesPictures }

  /// A pause begins or ends: nothing glides over it.
  mutating func interrupt() {
    arrangement = nil
    motion = TileMotion()
  }

  /// The places of the tiles, worked out anew when something that moves them has changed: `revision` grows with each change of
  /// `view`.
  mutating func arrange(_ view: RoomView, revision: UInt64, at time: SessionTime) -> Arrangement {
    if let arrangement, arrangement.result.validUntil.map({ time < $0 }) ?? true,
      arrangement.revision == revision || arrangement.view == view
    {
      self.arrangement?.revision = revision
      return arrangement.result
    }
    var timed = view
    timed.time = time
    let result = arranger.arrange(timed)
    motion.follow(result.layers, transition: layout.transition, at: time)
    arrangement = (view, revision, result)
    scene = result.scene
    return result
  }
}
