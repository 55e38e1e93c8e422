import MediaCore

extension Layout {
  /// The layout as a file, with everything that isn't the default. The same layout always gives the same text, and
  /// the text read again gives the same layout.
  public var canonicalText: String {
    var text = LayoutText()
    text.line("name", LayoutText.quoted(name))
    if !summary.isEmpty { text.line("summary", LayoutText.quoted(summary)) }
    text.line("theme", theme.rawValue)
    if let canvas { text.line("canvas", "\(canvas)") }
    switch background {
    case .theme: break
    case .color(let color): text.line("background", LayoutText.quoted("\(color)"))
    case .image(let path, let fit):
      text.line("background", "{image: \(LayoutText.quoted(path)), fit: \(fit.rawValue)}")
    }
    if case .glide(let time) = transition { text.line("transition", LayoutText.duration(time)) }
    text.list("scenes", scenes) { $0.write(&$1) }
    if !overlays.isEmpty { text.list("overlays", overlays) { $0.write(&$1) } }
    return text.text
  }
}

extension Scene {
  fileprivate func write(_ text: inout LayoutText) {
    text.line("name", LayoutText.quoted(name))
    let alternatives = when.alternatives.map { alternative in
      "{" + alternative.map(\.text).joined(separator: ", ") + "}"
    }
    if alternatives.count == 1 { text.line("when", alternatives[0]) }
    if alternatives.count > 1 { text.line("when", "[\(alternatives.joined(separator: ", "))]") }
    text.list("regions", regions) { $0.write(&$1) }
  }
}

extension Condition.Requirement {
  fileprivate var text: String {
    func range(_ range: ClosedRange<Int>) -> String {
      if range.upperBound >= Condition.unlimited { return "\(range.lowerBound)+" }
      return range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }
    return switch self {
    case .people(let value): "people: \(range(value))"
    case .cameras(let value): "cameras: \(range(value))"
    case .screens(let value): "screens: \(range(value))"
    case .pinned(let value): "pinned: \(range(value))"
    case .talkers(let value): "talkers: \(range(value))"
    case .canvas(let shapes): "canvas: [\(shapes.map(\.rawValue).joined(separator: ", "))]"
    case .present(let term): "present: \(LayoutText.quoted("\(term)"))"
    case .absent(let term): "absent: \(LayoutText.quoted("\(term)"))"
    }
  }
}

extension Region {
  fileprivate func write(_ text: inout LayoutText) {
    let plain = Region(name: name, selector: selector)
    func list(_ terms: [SourceTerm]) -> String {
      "[\(terms.map { LayoutText.quoted("\($0)") }.joined(separator: ", "))]"
    }
    text.line("name", LayoutText.quoted(name))
    text.line("x", "\(x)")
    text.line("y", "\(y)")
    text.line("width", "\(width)")
    text.line("height", "\(height)")
    if z != 0 { text.line("z", "\(z)") }
    text.line("show", list(selector.include))
    if !selector.exclude.isEmpty { text.line("hide", list(selector.exclude)) }
    if repeats { text.line("repeat", "yes") }
    if order != plain.order { text.line("order", order.rawValue) }
    if cells != plain.cells { text.line("cells", cells.rawValue) }
    if let maximumRows { text.line("max-rows", "\(maximumRows)") }
    if let maximumColumns { text.line("max-columns", "\(maximumColumns)") }
    if maximumTiles != plain.maximumTiles { text.line("max-tiles", "\(maximumTiles)") }
    if smallestTile != plain.smallestTile {
      text.line("smallest-tile", "\(smallestTile.width)x\(smallestTile.height)")
    }
    if let shape { text.line("shape", LayoutText.quoted(shape.text)) }
    if !cellsExcluded.isEmpty {
      text.line("cells-excluded", "[\(cellsExcluded.map(String.init).joined(separator: ", "))]")
    }
    if horizontalAlignment != .center || verticalAlignment != .center {
      text.line("align", "[\(horizontalAlignment.rawValue), \(verticalAlignment.rawValue)]")
    }
    if gap != plain.gap { text.line("gap", "\(gap)") }
    if cameraFit != plain.cameraFit || screenFit != plain.screenFit {
      text.line("fit", "{cameras: \(cameraFit.rawValue), screens: \(screenFit.rawValue)}")
    }
    if cornerRadius != plain.cornerRadius { text.line("radius", "\(cornerRadius)") }
    if let border {
      let color = border.color.map { ", color: \(LayoutText.quoted("\($0)"))" } ?? ""
      text.line("border", "{width: \(border.width)\(color)}")
    }
    if overflow != plain.overflow { text.line("overflow", overflow.rawValue) }
    if pageTime != plain.pageTime { text.line("page-time", LayoutText.duration(pageTime)) }
    if withoutVideo != plain.withoutVideo { text.line("without-video", withoutVideo.rawValue) }
    if let background { text.line("background", LayoutText.quoted("\(background)")) }
    writeLook(&text, plain: plain.look)
  }

  private func writeLook(_ text: inout LayoutText, plain: TileLook) {
    if look.name != plain.name { text.line("names", look.name.rawValue) }
    for (key, value, standard) in [
      ("mute-icon", look.muteIcon, plain.muteIcon), ("talker-outline", look.talkerOutline, plain.talkerOutline),
      ("marks", look.marks, plain.marks), ("level-ring", look.levelRing, plain.levelRing),
      ("video", look.video, plain.video), ("small-cards", look.smallCard, plain.smallCard),
    ] where value != standard {
      text.line(key, value ? "yes" : "no")
    }
    if look.opacity != plain.opacity { text.line("opacity", LayoutText.opacity(look.opacity)) }
    if let ground = look.ground { text.line("ground", LayoutText.quoted("\(ground)")) }
  }
}

extension ShapeRange {
  fileprivate var text: String {
    if self == .any { return "any" }
    func ratio(_ ratio: Ratio) -> String { "\(ratio.width):\(ratio.height)" }
    return narrowest == widest ? ratio(widest) : "\(ratio(narrowest))-\(ratio(widest))"
  }
}

extension Overlay {
  fileprivate func write(_ text: inout LayoutText) {
    let plain = Overlay(content, anchor: anchor)
    switch content {
    case .image(let path): text.line("image", LayoutText.quoted(path))
    case .text(.title): text.line("show", "title")
    case .text(.elapsed): text.line("show", "elapsed")
    case .text(.clock(let format)):
      text.line("show", "clock")
      if format != .standard { text.line("format", LayoutText.quoted(format.pattern)) }
    case .text(.literal(let words)): text.line("text", LayoutText.quoted(words))
    }
    text.line("at", anchor.rawValue)
    if x != plain.x { text.line("x", "\(x)") }
    if y != plain.y { text.line("y", "\(y)") }
    if size != plain.size { text.line("size", "\(size)") }
    if opacity != plain.opacity { text.line("opacity", LayoutText.opacity(opacity)) }
    if plate != plain.plate { text.line("plate", plate ? "yes" : "no") }
    if let color { text.line("color", LayoutText.quoted("\(color)")) }
    if isBelowTiles { text.line("below-tiles", "yes") }
  }
}

/// Writes the part of YAML that layouts need.
private struct LayoutText {
  private(set) var text = ""
  private var indent = 0
  private var isItem = false

  mutating func line(_ key: String, _ value: String) { add("\(key): \(value)") }

  private mutating func add(_ line: String) {
    text += String(repeating: " ", count: max(0, indent - (isItem ? 2 : 0))) + (isItem ? "- " : "") + line + "\n"
    isItem = false
  }

  mutating func list<Element>(_ key: String, _ elements: [Element], write: (Element, inout LayoutText) -> Void) {
    guard !elements.isEmpty else { return line(key, "[]") }
    add("\(key):")
    indent += 4
    for element in elements {
      isItem = true
      write(element, &self)
    }
    isItem = false
    indent -= 4
  }

  static func duration(_ span: Duration) -> String { "\(span.milliseconds)ms" }

  static func opacity(_ value: UInt8) -> String {
    let percent = (Int(value) * 100 + 127) / 255
    return (percent * 255 + 50) / 100 == Int(value) ? "\(percent)%" : "\(value)/255"
  }

  /// In double quotes, with everything escaped that YAML does not print.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22, 0x5c: result += "\\\(scalar)"
      case 0..<0x20, 0x7f..<0xa1, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
