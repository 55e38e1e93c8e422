/// Says where everything is, in place of a layout's own rules: for a room of which all times are known beforehand, and for
/// what other systems' layouts do with it. Pure: the same view gives the same arrangement.
public protocol ArrangementRule: Sendable {
  /// Where everything is for this view of the room; the layout gives colours, names and overlays.
  func arrangement(of view: RoomView, _ layout: Layout) -> Arrangement
}
