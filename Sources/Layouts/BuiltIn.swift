extension Layout {
  /// Everybody in tiles of one size; a shared screen takes a large place beside a strip. The same as `layouts/grid.yaml`.
  public static let grid = Layout(
    name: "grid", summary: "Everybody in tiles of one size; a shared screen is large.",
    scenes: [
      stage(name: "screen", [.screens(1...Condition.unlimited), .canvas([.landscape])], strip: .right),
      stage(name: "screen-above", [.screens(1...Condition.unlimited)], strip: .below),
      Scene(name: "grid", regions: [people]),
    ])

  /// The active talker, or a shared screen, large, and the others in a strip. The same as `layouts/speaker.yaml`.
  public static let speaker = Layout(
    name: "speaker", summary: "The active talker, or a shared screen, is large; the others are in a strip.",
    scenes: [
      Scene(name: "alone", when: Condition([[.people(0...1), .screens(0...0)]]), regions: [alone]),
      stage(name: "landscape", [.canvas([.landscape])], strip: .right),
      stage(name: "upright", [], strip: .below),
    ])

  private enum Strip { case right, below }

  /// What is preferred in the large place.
  private static let preferred: [SourceTerm] = [
    .spotlight, .screenShare, .pinned, .talker, .withVideo, .everyone,
  ]
  private static let margin = Length.milliUnits(600)

  private static func inset(_ name: String, right: Int = 600, bottom: Int = 600, _ terms: [SourceTerm]) -> Region {
    Region(
      name: name, x: margin, y: margin, width: .full - margin - .milliUnits(right),
      height: .full - margin - .milliUnits(bottom), selector: SourceSelector(terms))
  }

  private static var people: Region { inset("people", [.everyone]) }

  private static var alone: Region {
    var region = Region(name: "large", selector: SourceSelector(preferred))
    region.maximumTiles = 1
    region.shape = ShapeRange(.init(1, 1000), .init(1000, 1))
    region.overflow = .none
    region.cornerRadius = .zero
    return region
  }

  private static func stage(name: String, _ requirements: [Condition.Requirement], strip: Strip) -> Scene {
    let isRight = strip == .right
    var large = isRight ? inset("large", right: 11_400, preferred) : inset("large", bottom: 7_600, preferred)
    large.maximumTiles = 1
    large.shape = ShapeRange(.init(1, 1000), .init(1000, 1))
    large.overflow = .none
    let depth = Length.milliUnits(isRight ? 10_200 : 6_400)
    var row = Region(
      name: "strip", x: isRight ? .full - margin - depth : margin, y: isRight ? margin : .full - margin - depth,
      width: isRight ? depth : .full - margin - margin, height: isRight ? .full - margin - margin : depth,
      selector: SourceSelector([.others]), cells: .steady)
    row.maximumTiles = 5
    row.maximumColumns = isRight ? 1 : nil
    row.maximumRows = isRight ? nil : 1
    row.shape = ShapeRange(.init(1, 1), .init(8, 5))
    return Scene(name: name, when: requirements.isEmpty ? .always : Condition([requirements]), regions: [large, row])
  }
}
