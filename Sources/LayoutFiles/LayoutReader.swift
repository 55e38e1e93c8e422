import Layouts
import MediaCore

/// Reads layouts from YAML or JSON. Total; every refusal says where and what would be right.
///
/// Large: it has a function for each word of the layout language.
public struct LayoutReader {
  let file: String
  /// Where relative paths of pictures begin; with a slash at the end, or empty.
  let folder: String
  let canvas: CanvasSize?

  /// A larger file is no layout.
  public static let maximumBytes = 256 << 10

  /// Reads a layout.
  ///
  /// - Parameters:
  ///   - text: YAML, or JSON when its first character is `{`.
  ///   - file: its name, for messages, and for pictures with relative paths.
  ///   - name: the layout's name when the text doesn't give one.
  ///   - canvas: the size it will be used for: regions must lie inside. Nil: that of the layout, or usual ones.
  public static func read(
    _ text: String, file: String, name: String, canvas: CanvasSize? = nil
  ) throws(LayoutError) -> Layout {
    guard text.utf8.count <= maximumBytes else { throw LayoutError("\(file): larger than 256 KiB is no layout") }
    let isJSON = text.first { !$0.isWhitespace } == "{"
    let root = isJSON ? try JSONReader.read(text, file: file) : try DataNode(yaml: text, file: file)
    let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    return try LayoutReader(file: file, folder: folder, canvas: canvas).layout(root, name: name)
  }

  // MARK: Layout

  private static let keys = [
    "name", "summary", "theme", "canvas", "background", "transition", "defaults", "scenes", "overlays",
  ]

  private func layout(_ root: DataNode, name: String) throws(LayoutError) -> Layout {
    let map = try fields(root, "a layout", among: Self.keys)
    var layout = Layout(name: name, scenes: [])
    if let node = map["name"] { layout.name = try words(node, "name", longest: 64) }
    if let node = map["summary"] { layout.summary = try words(node, "summary", longest: 200, mayBeEmpty: true) }
    if let node = map["theme"] { layout.theme = try choice(node, "theme") }
    if let node = map["canvas"] {
      layout.canvas = try parsed(node, "canvas", "a size such as 1280x720, of even numbers from 64 to 4096") {
        CanvasSize(text: $0)
      }
    }
    if let node = map["background"] { layout.background = try background(node) }
    if let node = map["transition"] { layout.transition = try transition(node) }
    if let node = map["defaults"] {
      let given = try fields(node, "the defaults", among: RegionKeys.all)
      for key in RegionKeys.ofOne where given[key] != nil {
        throw error(given[key] ?? node, "'\(key)' belongs to one region, not to the defaults")
      }
    }
    guard let scenes = map["scenes"] else { throw error(root, "a layout needs 'scenes'") }
    layout.scenes = try self.scenes(scenes, defaults: map["defaults"], canvas: canvas ?? layout.canvas)
    if let node = map["overlays"] {
      for item in try list(node, "overlays", most: 32) { layout.overlays.append(try overlay(item)) }
    }
    return layout
  }

  private func background(_ node: DataNode) throws(LayoutError) -> Background {
    if case .map = node.value {
      let map = try fields(node, "a background", among: ["image", "fit"])
      guard let image = map["image"] else { throw error(node, "'background' needs an 'image', or is a colour") }
      return .image(
        path: try path(image), fit: try map["fit"].map { node throws(LayoutError) in try choice(node, "fit") } ?? .cover
      )
    }
    if node.text == "theme" { return .theme }
    return .color(try color(node, "background"))
  }

  private func transition(_ node: DataNode) throws(LayoutError) -> Transition {
    if node.text == "cut" { return .cut }
    let time = try duration(node, "transition", "'cut' or a time up to 5s, such as 300ms")
    guard time <= Transition.longest else { throw error(node, "'transition': at most 5s") }
    return time == .zero ? .cut : .glide(time)
  }

  // MARK: Scenes

  private func scenes(
    _ node: DataNode, defaults: DataNode?, canvas: CanvasSize?
  ) throws(LayoutError) -> [Scene] {
    let items = try list(node, "scenes", most: 64)
    guard !items.isEmpty else { throw error(node, "a layout needs a scene at least") }
    var scenes: [Scene] = []
    for (index, item) in items.enumerated() {
      let map = try fields(item, "a scene", among: ["name", "when", "regions"])
      var scene = Scene(name: "scene-\(index + 1)", regions: [])
      if let name = map["name"] { scene.name = try words(name, "name", longest: 64) }
      guard !scenes.contains(where: { $0.name == scene.name }) else {
        throw error(map["name"] ?? item, "there is a scene '\(scene.name)' already")
      }
      if let when = map["when"] { scene.when = try condition(when) }
      let isLast = index == items.count - 1
      if isLast, scene.when != .always {
        throw error(
          map["when"] ?? item, "the last scene must have no 'when': it applies when no other does; add one after it")
      }
      if !isLast, scene.when == .always {
        throw error(item, "the scenes after '\(scene.name)' can never apply; give it a 'when', or put it last")
      }
      guard let regions = map["regions"] else { throw error(item, "the scene '\(scene.name)' needs 'regions'") }
      for region in try list(regions, "regions", most: 64) {
        let read = try self.region(region, number: scene.regions.count + 1, defaults: defaults)
        guard !scene.regions.contains(where: { $0.name == read.name }) else {
          throw error(region, "there is a region '\(read.name)' in this scene already")
        }
        try check(read, at: region, canvas: canvas, shapes: shapes(of: scene.when))
        scene.regions.append(read)
      }
      scenes.append(scene)
    }
    return scenes
  }

  private func condition(_ node: DataNode) throws(LayoutError) -> Condition {
    guard case .list = node.value else { return Condition([try requirements(node)]) }
    var alternatives: [[Condition.Requirement]] = []
    for item in try list(node, "when", most: 16) { alternatives.append(try requirements(item)) }
    guard !alternatives.isEmpty else { throw error(node, "'when' is empty; leave it out where a scene always applies") }
    return Condition(alternatives)
  }

  private func requirements(_ node: DataNode) throws(LayoutError) -> [Condition.Requirement] {
    let counts = ["people", "cameras", "screens", "pinned", "talkers"]
    let map = try fields(node, "a condition", among: counts + ["canvas", "present", "absent"])
    guard !map.isEmpty else { throw error(node, "'when' is empty; leave it out where a scene always applies") }
    var result: [Condition.Requirement] = []
    for key in counts {
      guard let node = map[key] else { continue }
      let range = try count(node, key)
      switch key {
      case "people": result.append(.people(range))
      case "cameras": result.append(.cameras(range))
      case "screens": result.append(.screens(range))
      case "pinned": result.append(.pinned(range))
      default: result.append(.talkers(range))
      }
    }
    if let node = map["canvas"] {
      var shapes: [CanvasShape] = []
      for item in try listOrOne(node, "canvas") { shapes.append(try choice(item, "canvas")) }
      guard !shapes.isEmpty else { throw error(node, "'canvas' needs a shape at least") }
      result.append(.canvas(shapes))
    }
    for (key, isPresent) in [("present", true), ("absent", false)] {
      guard let node = map[key] else { continue }
      for item in try listOrOne(node, key) {
        let term = try self.term(item, key)
        result.append(isPresent ? .present(term) : .absent(term))
      }
    }
    return result
  }

  /// `3`, `2-4` or `5+`.
  private func count(_ node: DataNode, _ key: String) throws(LayoutError) -> ClosedRange<Int> {
    try parsed(node, key, "a number such as 3, a range such as 2-4, or 5+") { text in
      func number(_ text: Substring) -> Int? { Length.decimal(text, digits: 0).flatMap { $0 <= 10_000 ? $0 : nil } }
      if text.hasSuffix("+") { return number(text.dropLast()).map { $0...Condition.unlimited } }
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard let low = parts.first.flatMap(number), parts.count <= 2 else { return nil }
      guard parts.count == 2 else { return low...low }
      guard let high = number(parts[1]), low <= high else { return nil }
      return low...high
    }
  }

  private func shapes(of condition: Condition) -> Set<CanvasShape> {
    guard !condition.alternatives.isEmpty else { return Set(CanvasShape.allCases) }
    var result = Set<CanvasShape>()
    for alternative in condition.alternatives {
      var allowed = Set(CanvasShape.allCases)
      for case .canvas(let shapes) in alternative { allowed.formIntersection(shapes) }
      result.formUnion(allowed)
    }
    return result
  }

  /// A region must lie on the canvas. Without a known canvas: on a usual one that its scene is made for.
  private func check(
    _ region: Region, at node: DataNode, canvas: CanvasSize?, shapes: Set<CanvasShape>
  ) throws(LayoutError) {
    let usual: [CanvasSize] = [
      CanvasSize(width: 1280, height: 720), CanvasSize(width: 1080, height: 1080),
      CanvasSize(width: 1080, height: 1920),
    ]
    let known = canvas.flatMap { shapes.contains(CanvasShape($0)) ? [$0] : nil }
    let canvases = known ?? usual.filter { shapes.contains(CanvasShape($0)) }
    guard let canvas = canvases.first, !canvases.contains(where: { region.problem(on: $0) == nil }) else { return }
    let problem = region.problem(on: canvas) ?? ""
    throw error(node, "the region '\(region.name)' \(problem) on a canvas of \(canvas)")
  }
}
