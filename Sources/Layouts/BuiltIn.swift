// The layouts that need no file: what recordings have by default, and what tests use. The same as in `layouts/`.

import MediaCore

extension Layout {
  /// Everybody in tiles of one size; a shared screen is large. The same as `layouts/grid.yaml`.
  public static let grid = Layout(
    name: "grid", summary: "Everybody in tiles of one size; a shared screen is large.",
    scenes: [
      stage("screen", [.screens(1...Condition.unlimited), .canvas([.landscape])], [.spotlight, .screenShare], .right),
      above(
        "screen-above", [.screens(1...Condition.unlimited), .canvas([.portrait])], percent: 31,
        [.spotlight, .screenShare], shape: .any, most: 12),
      above(
        "screen-square", [.screens(1...Condition.unlimited)], percent: 56, [.spotlight, .screenShare], shape: .any,
        most: 8),
      Scene(name: "grid", regions: [margined("people", [.everyone])]),
    ])

  /// The active talker, or a shared screen, large, and the others in a strip. The same as `layouts/speaker.yaml`.
  public static let speaker = Layout(
    name: "speaker", summary: "The active talker, or a shared screen, is large; the others are in a strip.",
    scenes: [
      alone("alone-portrait", on: [.canvas([.portrait])], fit: .cover), alone("alone"),
      stage("landscape", [.canvas([.landscape])], preferred, .right),
      above(
        "screen-above", [.screens(1...Condition.unlimited), .canvas([.portrait])], percent: 31,
        [.spotlight, .screenShare], shape: .any, most: 9),
      above(
        "screen-square", [.screens(1...Condition.unlimited), .canvas([.square])], percent: 56,
        [.spotlight, .screenShare], shape: .any, most: 8),
      above(
        "portrait", [.canvas([.portrait])], percent: 41, [.spotlight, .pinned, .talker, .withVideo, .everyone],
        shape: nil, most: 9),
      stage("square", [], [.spotlight, .pinned, .talker, .withVideo, .everyone], .below),
    ])

  /// One person's camera, whole, or the card that stands for it, with nothing drawn on it.
  public static func camera(of identity: ParticipantIdentity) -> Layout {
    let wanted = SourceSelector([.identity(identity)], excluding: [.screenShare])
    var region = single(Region(name: "camera", selector: wanted), shape: .any)
    region.cameraFit = .contain
    region.cornerRadius = .zero
    region.look = TileLook(name: .none, muteIcon: false, talkerOutline: false, marks: false)
    return Layout(name: "camera", scenes: [Scene(name: "camera", regions: [region])])
  }

  private enum Strip { case right, below }

  /// What is preferred in the large place.
  private static let preferred: [SourceTerm] = [
    .spotlight, .screenShare, .pinned, .talker, .withVideo, .everyone,
  ]
  private static let margin = Length.milliUnits(600)

  private static func margined(
    _ name: String, right: Int = 600, bottom: Int = 600, _ terms: [SourceTerm]
  ) -> Region {
    Region(
      name: name, x: margin, y: margin, width: .full - margin - .milliUnits(right),
      height: .full - margin - .milliUnits(bottom), selector: SourceSelector(terms))
  }

  /// For one tile.
  private static func single(_ region: Region, shape: ShapeRange?) -> Region {
    var region = region
    region.maximumTiles = 1
    region.shape = shape
    region.overflow = .none
    return region
  }

  private static func alone(_ name: String, on canvas: [Condition.Requirement] = [], fit: FitRule = .auto) -> Scene {
    var region = Region(name: "large", selector: SourceSelector([.everyone]))
    region.maximumTiles = 1
    region.shape = .any
    region.cameraFit = fit
    region.cornerRadius = .zero
    return Scene(
      name: name, when: Condition([[.people(0...1), .cameras(0...1), .screens(0...0)] + canvas]), regions: [region])
  }

  private static func stage(
    _ name: String, _ requirements: [Condition.Requirement], _ terms: [SourceTerm], _ strip: Strip
  ) -> Scene {
    let isRight = strip == .right
    let large = margined("large", right: isRight ? 11_400 : 600, bottom: isRight ? 600 : 7_600, terms)
    let depth = Length.milliUnits(isRight ? 10_200 : 6_400)
    var row = Region(
      name: isRight ? "strip" : "row", x: isRight ? .full - margin - depth : margin,
      y: isRight ? margin : .full - margin - depth, width: isRight ? depth : .full - margin - margin,
      height: isRight ? .full - margin - margin : depth, selector: SourceSelector([.others]), cells: .steady)
    row.maximumTiles = 5
    row.maximumColumns = isRight ? 1 : nil
    row.maximumRows = isRight ? nil : 1
    row.shape = ShapeRange(.init(1, 1), .init(8, 5))
    return Scene(
      name: name, when: requirements.isEmpty ? .always : Condition([requirements]),
      regions: [single(large, shape: .any), row])
  }

  private static func above(
    _ name: String, _ requirements: [Condition.Requirement], percent: Int, _ terms: [SourceTerm], shape: ShapeRange?,
    most: Int
  ) -> Scene {
    var large = margined("large", terms)
    large.height = .percent(percent)
    var people = margined("people", [.others])
    people.y = .percent(percent) + .milliUnits(1_200)
    people.height = .full - people.y - margin
    people.maximumTiles = most
    return Scene(name: name, when: Condition([requirements]), regions: [single(large, shape: shape), people])
  }
}
