import Layouts
import MediaCore

/// Reads the `video_layout` of Twilio's Video Compositions API: a JSON object of regions by name. Also taken is an
/// object that holds it as `video_layout` or `VideoLayout`, such as the API's own answers; its `resolution` becomes
/// the layout's canvas.
public enum TwilioReader {
  private static let keys = [
    "video_sources", "video_sources_excluded", "x_pos", "y_pos", "z_pos", "width", "height", "max_columns", "max_rows",
    "cells_excluded", "reuse",
  ]

  /// Reads a layout.
  ///
  /// - Parameters:
  ///   - text: the JSON.
  ///   - file: its name, for messages.
  ///   - canvas: the size it will be used for: regions must lie inside. Nil: that of the file, else 1280x720.
  public static func read(_ text: String, file: String, canvas: CanvasSize? = nil) throws(LayoutError) -> Layout {
    guard text.utf8.count <= LayoutReader.maximumBytes else {
      throw LayoutError("\(file): larger than 256 KiB is no layout")
    }
    let root = try JSONReader.read(text, file: file)
    let values = LayoutReader(file: file, folder: "", canvas: canvas)
    guard case .map(var members) = root.value else {
      throw values.error(root, "a video_layout must be an object of regions")
    }
    let base = file.split(separator: "/").last.map(String.init) ?? file
    var layout = Layout(name: "twilio:\(base)", background: .color(.black), scenes: [])
    if let inner = members.first(where: { $0.key.text == "video_layout" || $0.key.text == "VideoLayout" }),
      case .map(let regions) = inner.value.value, !regions.contains(where: { $0.key.text == "video_sources" })
    {
      if let node = members.first(where: { $0.key.text == "resolution" || $0.key.text == "Resolution" })?.value,
        node.text != nil
      {
        layout.canvas = try values.parsed(node, "resolution", "a size such as 1280x720") { CanvasSize(text: $0) }
      }
      members = regions
    }
    guard !members.isEmpty else { throw values.error(root, "the layout has no region") }
    guard members.count <= 64 else { throw values.error(root, "the layout has more than 64 regions") }
    let size = canvas ?? layout.canvas ?? CanvasSize(width: 1280, height: 720)
    var scene = Scene(name: "regions", regions: [])
    for member in members {
      let key = member.key
      let name = key.text ?? ""
      guard !name.isEmpty, name.unicodeScalars.count <= 64 else {
        throw values.error(key, "a region's name has 1 to 64 characters")
      }
      scene.regions.append(try region(member.value, name: name, canvas: size, values))
    }
    layout.scenes = [scene]
    return layout
  }

  private static func region(
    _ node: DataNode, name: String, canvas: CanvasSize, _ values: LayoutReader
  ) throws(LayoutError) -> Region {
    let map = try values.fields(node, "a region", among: keys)
    guard let sources = map["video_sources"] else {
      throw values.error(node, "the region '\(values.shown(name))' needs 'video_sources', for example [\"*\"]")
    }
    var region = Region(
      name: name,
      selector: SourceSelector(
        try terms(sources, "video_sources", values),
        excluding: try map["video_sources_excluded"].map { node throws(LayoutError) in
          try terms(node, "video_sources_excluded", values)
        } ?? []),
      cells: .table)
    func number(_ key: String, _ range: ClosedRange<Int>) throws(LayoutError) -> Int? {
      guard let node = map[key] else { return nil }
      return try values.integer(node, key, range)
    }
    // Odd numbers are rounded down to even ones.
    let x = (try number("x_pos", 0...(canvas.width - 1)) ?? 0) & ~1
    let y = (try number("y_pos", 0...(canvas.height - 1)) ?? 0) & ~1
    region.x = .pixels(x)
    region.y = .pixels(y)
    // 0 counts as not given.
    let width = try number("width", 0...canvas.width).flatMap { $0 == 0 ? nil : $0 }
    let height = try number("height", 0...canvas.height).flatMap { $0 == 0 ? nil : $0 }
    region.width = width.map { .pixels($0 & ~1) } ?? .full - .pixels(x)
    region.height = height.map { .pixels($0 & ~1) } ?? .full - .pixels(y)
    if let problem = region.problem(on: canvas) {
      throw values.error(node, "the region '\(values.shown(name))' \(problem) on a canvas of \(canvas)")
    }
    region.z = try number("z_pos", -99...99) ?? 0
    region.maximumRows = try number("max_rows", 0...1000).flatMap { $0 == 0 ? nil : $0 }
    region.maximumColumns = try number("max_columns", 0...1000).flatMap { $0 == 0 ? nil : $0 }
    if let node = map["cells_excluded"] {
      for item in try values.list(node, "cells_excluded", most: 1000) {
        region.cellsExcluded.append(try values.integer(item, "cells_excluded", 0...1_000_000))
      }
      // Cells beyond the largest table are no cells.
      region.cellsExcluded = Set(region.cellsExcluded.filter { $0 < 1000 }).sorted()
    }
    region.overflow = .reuseOldest
    if let node = map["reuse"] {
      switch node.text {
      case "show_oldest": region.overflow = .reuseOldest
      case "show_newest": region.overflow = .reuseNewest
      case "none": region.overflow = .none
      default:
        throw values.unknown(node.text ?? "", "'reuse'", node, among: ["show_oldest", "show_newest", "none"])
      }
    }
    region.repeats = true
    region.order = .joined
    region.gap = .zero
    region.cornerRadius = .zero
    region.cameraFit = .contain
    region.screenFit = .contain
    region.withoutVideo = .empty
    region.background = .black
    region.look = TileLook(name: .none, muteIcon: false, talkerOutline: false, marks: false, ground: .black)
    return region
  }

  private static func terms(
    _ node: DataNode, _ key: String, _ values: LayoutReader
  ) throws(LayoutError) -> [SourceTerm] {
    var result: [SourceTerm] = []
    for item in try values.list(node, key, most: 1000) {
      guard case .scalar(let text, isString: true) = item.value, let glob = Glob(text) else {
        throw values.error(item, "'\(key)' takes names of 1 to 256 characters in double quotes, such as \"*\"")
      }
      result.append(.source(glob))
    }
    return result
  }
}
