/// The two layouts that `SessionCore` knows by name.
public enum LayoutName: String, CaseIterable, Sendable, Hashable {
  /// Everybody in tiles of one size; a shared screen takes the large place as in `speaker`.
  case grid
  /// The active talker (or a shared screen) large, the others in a strip.
  case speaker

  /// The layout of that name; capital letters don't matter. Nil when there is none.
  public init?(text: some StringProtocol) { self.init(rawValue: text.lowercased()) }

  /// All names, for messages: `grid, speaker`.
  public static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// The layout itself.
  public var layout: Layout { self == .grid ? .grid : .speaker }
}

/// Arranges a room that has no past.
public func arrange(
  layout: LayoutName, canvas: CanvasSize, sources: [LayoutSource], talker: TileKey? = nil
) -> [VideoLayer] {
  var arranger = Arranger(layout: layout.layout, canvas: canvas)
  return arranger.arrange(RoomView(sources: sources, talkers: talker.map { [$0] } ?? [])).layers
}
