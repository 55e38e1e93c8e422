import Layouts
import MediaCore

/// What the layouts are asked about, and what it was made of: it is made anew only when that has changed.
struct LayoutInput: Sendable {
  /// What a view is made of, beside what is shown of each person.
  struct Basis: Equatable, Sendable {
    var ranking: [ParticipantIdentity]
    var people: UInt64
    var pins: [TileSelector]
    var spotlight: TileSelector?
  }

  /// The view.
  private(set) var view = RoomView(sources: [])
  /// How often it has changed.
  private(set) var revision: UInt64 = 0
  private var basis: Basis?

  /// True when the view was made of this.
  func isMade(of basis: Basis) -> Bool { basis == self.basis }

  /// The view is this one from now on.
  mutating func renew(_ view: RoomView, of basis: Basis) {
    self.view = view
    self.basis = basis
    revision &+= 1
  }
}
