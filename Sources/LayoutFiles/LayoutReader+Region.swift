import Layouts
import MediaCore
import Settings

/// The keys of a region.
enum RegionKeys {
  /// Those that make no sense for several regions at once.
  static let ofOne = ["name", "x", "y", "right", "bottom", "width", "height", "z", "show", "hide", "cells-excluded"]
  static let all =
    ofOne + [
      "repeat", "order", "cells", "max-rows", "max-columns", "max-tiles", "smallest-tile", "shape", "align", "gap",
      "fit",
      "radius", "border", "overflow", "page-time", "without-video", "background", "names", "mute-icon",
      "talker-outline", "marks", "level-ring", "video", "small-cards", "opacity", "ground",
    ]
}

extension LayoutReader {
  func region(_ node: DataNode, number: Int, defaults: DataNode?) throws(LayoutError) -> Region {
    let own = try fields(node, "a region", among: RegionKeys.all)
    let map: [String: DataNode]
    if let defaults {
      map = own.merging(try fields(defaults, "the defaults", among: RegionKeys.all)) { own, _ in own }
    } else {
      map = own
    }
    guard let show = map["show"] else {
      throw error(node, "a region needs 'show', for example [talker, others]")
    }
    var region = Region(name: "region-\(number)", selector: SourceSelector(try terms(show, "show")))
    guard !region.selector.include.isEmpty else { throw error(show, "'show' names nothing; for example [everyone]") }
    if let hide = map["hide"] { region.selector.exclude = try terms(hide, "hide") }
    if let name = map["name"] { region.name = try words(name, "name", longest: 64) }
    (region.x, region.width) = try extent(map, ("x", "width", "right"), at: node)
    (region.y, region.height) = try extent(map, ("y", "height", "bottom"), at: node)
    if let z = map["z"] { region.z = try integer(z, "z", -99...99) }
    try readCells(map, into: &region)
    try readTiles(map, into: &region)
    try readLook(map, into: &region)
    return region
  }

  /// Beginning and length along one side, from the two that are given.
  private func extent(
    _ map: [String: DataNode], _ keys: (start: String, length: String, end: String), at node: DataNode
  ) throws(LayoutError) -> (start: Length, length: Length) {
    let start = try map[keys.start].map { node throws(LayoutError) in try length(node, keys.start) }
    let size = try map[keys.length].map { node throws(LayoutError) in try length(node, keys.length) }
    let end = try map[keys.end].map { node throws(LayoutError) in try length(node, keys.end) }
    switch (start, size, end) {
    case (_?, _?, _?):
      throw error(
        map[keys.end] ?? node, "'\(keys.start)', '\(keys.length)' and '\(keys.end)' are one too many; leave one out")
    case (nil, let size?, let end?): return (.full - end - size, size)
    case (let start, let size?, nil): return (start ?? .zero, size)
    case (let start, nil, let end): return (start ?? .zero, .full - (start ?? .zero) - (end ?? .zero))
    }
  }

  private func terms(_ node: DataNode, _ key: String) throws(LayoutError) -> [SourceTerm] {
    var result: [SourceTerm] = []
    for item in try listOrOne(node, key) { result.append(try term(item, key)) }
    return result
  }

  func term(_ node: DataNode, _ key: String) throws(LayoutError) -> SourceTerm {
    guard let text = node.text else { throw error(node, "'\(key)' takes roles and names") }
    if let term = SourceTerm(text: text) { return term }
    let known = SourceTerm.words.map(\.word)
    let hint = Values.suggestion(for: text, among: known).map { "did you mean '\($0)'?" }
    throw error(
      node,
      "'\(key)': there is no role '\(shown(text))'; "
        + (hint ?? "known: \(known.joined(separator: ", ")), person:NAME, identity:ID, track:NAME, source:NAME"))
  }

  private func readCells(_ map: [String: DataNode], into region: inout Region) throws(LayoutError) {
    if let node = map["repeat"] { region.repeats = try boolean(node, "repeat") }
    if let node = map["order"] { region.order = try choice(node, "order") }
    if let node = map["cells"] { region.cells = try choice(node, "cells") }
    if let node = map["max-rows"] { region.maximumRows = try integer(node, "max-rows", 1...1000) }
    if let node = map["max-columns"] { region.maximumColumns = try integer(node, "max-columns", 1...1000) }
    if let node = map["max-tiles"] { region.maximumTiles = try integer(node, "max-tiles", 1...1000) }
    if let node = map["smallest-tile"] {
      region.smallestTile = try parsed(node, "smallest-tile", "a size in pixels such as 96x54") { text in
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Length.decimal($0, digits: 0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1], (2...4096).contains(width),
          (2...4096).contains(height)
        else { return nil }
        return TileSize(width: width, height: height)
      }
    }
    if let node = map["shape"] { region.shape = try shape(node) }
    if let node = map["cells-excluded"] {
      guard region.cells == .table else { throw error(node, "'cells-excluded' needs 'cells: table'") }
      for item in try list(node, "cells-excluded", most: 1000) {
        region.cellsExcluded.append(try integer(item, "cells-excluded", 0...999))
      }
    }
    if let node = map["overflow"] { region.overflow = try choice(node, "overflow") }
    if let node = map["page-time"] {
      let time = try duration(node, "page-time", "a time from 1s to 1h, such as 10s")
      guard (Duration.seconds(1)...Duration.seconds(3600)).contains(time) else {
        throw error(node, "'page-time': from 1s to 1h")
      }
      region.pageTime = time
    }
    if let node = map["without-video"] { region.withoutVideo = try choice(node, "without-video") }
  }

  private func readTiles(_ map: [String: DataNode], into region: inout Region) throws(LayoutError) {
    if let node = map["align"] {
      let items = try listOrOne(node, "align")
      guard (1...2).contains(items.count) else { throw error(node, "'align' takes one or two of start, center, end") }
      region.horizontalAlignment = try choice(items[0], "align")
      region.verticalAlignment = try choice(items[items.count - 1], "align")
    }
    if let node = map["gap"] { region.gap = try distance(node, "gap") }
    if let node = map["radius"] { region.cornerRadius = try distance(node, "radius") }
    if let node = map["fit"] {
      if case .map = node.value {
        let fits = try fields(node, "'fit'", among: ["cameras", "screens"])
        if let node = fits["cameras"] { region.cameraFit = try choice(node, "cameras") }
        if let node = fits["screens"] { region.screenFit = try choice(node, "screens") }
      } else {
        region.cameraFit = try choice(node, "fit")
        region.screenFit = region.cameraFit
      }
    }
    if let node = map["border"] {
      if case .map = node.value {
        let border = try fields(node, "'border'", among: ["width", "color"])
        var rule = BorderRule()
        if let node = border["width"] { rule.width = try distance(node, "width") }
        if let node = border["color"] { rule.color = try color(node, "color") }
        region.border = rule
      } else {
        region.border = node.text == "none" ? nil : BorderRule(width: try distance(node, "border"))
      }
    }
    if let node = map["background"] {
      region.background = node.text == "none" ? nil : try color(node, "background")
    }
  }

  private func readLook(_ map: [String: DataNode], into region: inout Region) throws(LayoutError) {
    if let node = map["names"] { region.look.name = try choice(node, "names") }
    if let node = map["mute-icon"] { region.look.muteIcon = try boolean(node, "mute-icon") }
    if let node = map["talker-outline"] { region.look.talkerOutline = try boolean(node, "talker-outline") }
    if let node = map["marks"] { region.look.marks = try boolean(node, "marks") }
    if let node = map["level-ring"] { region.look.levelRing = try boolean(node, "level-ring") }
    if let node = map["video"] { region.look.video = try boolean(node, "video") }
    if let node = map["small-cards"] { region.look.smallCard = try boolean(node, "small-cards") }
    if let node = map["opacity"] { region.look.opacity = try opacity(node) }
    if let node = map["ground"] { region.look.ground = node.text == "theme" ? nil : try color(node, "ground") }
  }

  /// `16:9`, `4:3-16:9` or `any`.
  private func shape(_ node: DataNode) throws(LayoutError) -> ShapeRange {
    try parsed(node, "shape", "a ratio such as 16:9, a range such as 4:3-16:9, or any") { text in
      if text == "any" { return .any }
      var ratios: [ShapeRange.Ratio] = []
      for part in text.split(separator: "-", omittingEmptySubsequences: false) {
        let numbers = part.split(separator: ":", omittingEmptySubsequences: false).map { Length.decimal($0, digits: 0) }
        guard numbers.count == 2, let width = numbers[0], let height = numbers[1], (1...1000).contains(width),
          (1...1000).contains(height)
        else { return nil }
        ratios.append(.init(width, height))
      }
      guard let first = ratios.first, let last = ratios.last, ratios.count <= 2 else { return nil }
      return ShapeRange(first, last)
    }
  }

  // MARK: Overlays

  func overlay(_ node: DataNode) throws(LayoutError) -> Overlay {
    let map = try fields(
      node, "an overlay",
      among: ["show", "text", "image", "format", "at", "x", "y", "size", "opacity", "plate", "color", "below-tiles"])
    let kinds = ["show", "text", "image"].filter { map[$0] != nil }
    guard kinds.count == 1 else {
      throw error(node, "an overlay needs one of 'show' (title, clock, elapsed), 'text' and 'image'")
    }
    let content: Overlay.Content
    if let image = map["image"] {
      content = .image(path: try path(image))
    } else if let text = map["text"] {
      content = .text(.literal(try words(text, "text", longest: 200)))
    } else {
      content = .text(try overlayText(map, at: node))
    }
    if let format = map["format"], map["show"]?.text != "clock" {
      throw error(format, "'format' belongs to a clock: show: clock")
    }
    var overlay = Overlay(content, anchor: .topRight)
    if let node = map["at"] { overlay.anchor = try choice(node, "at") }
    if let node = map["x"] { overlay.x = try length(node, "x") }
    if let node = map["y"] { overlay.y = try length(node, "y") }
    if let node = map["size"] { overlay.size = try distance(node, "size") }
    if let node = map["opacity"] { overlay.opacity = try opacity(node) }
    if let node = map["plate"] { overlay.plate = try boolean(node, "plate") }
    if let node = map["color"] { overlay.color = try color(node, "color") }
    if let node = map["below-tiles"] { overlay.isBelowTiles = try boolean(node, "below-tiles") }
    return overlay
  }

  private func overlayText(_ map: [String: DataNode], at node: DataNode) throws(LayoutError) -> OverlayText {
    let show = map["show"] ?? node
    switch show.text {
    case "title": return .title
    case "elapsed": return .elapsed
    case "clock":
      guard let format = map["format"] else { return .clock(.standard) }
      return .clock(
        try parsed(format, "format", "a pattern with %H %I %M %S %p %Y %m %d %e %y %F %T %R, such as %H:%M") {
          ClockFormat($0)
        })
    default: throw unknown(show.text ?? "", "'show'", show, among: ["title", "clock", "elapsed"])
    }
  }
}
