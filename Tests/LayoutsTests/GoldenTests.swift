import Foundation
import Layouts
import MediaCore
import Testing

/// Exact geometry of both layouts. Written again when `RECBOT_UPDATE_GOLDENS` is set.
@Suite struct GoldenTests {
  @Test(arguments: LayoutName.allCases, ["1280x720", "640x360", "720x1280"])
  func geometryIsAsCommitted(layout: LayoutName, size: String) throws {
    let canvas = try #require(CanvasSize(text: size))
    var text = ""
    for count in 0...12 {
      text += "\(count) participants\n" + describe(arrange(layout: layout, canvas: canvas, sources: cameras(count)))
    }
    let shared = cameras(8) + [LayoutSource(key: screen(2))]
    for count in [1, 2, 3, 8] {
      let sources = Array(shared.prefix(count)) + shared.suffix(1)
      text += "\(count) participants, p2 shares a screen\n"
      text += describe(arrange(layout: layout, canvas: canvas, sources: sources))
    }
    text += "4 participants, p3 talks\n"
    text += describe(arrange(layout: layout, canvas: canvas, sources: cameras(4), talker: camera(3)))
    text += "30 participants, p30 talks\n"
    text += describe(arrange(layout: layout, canvas: canvas, sources: cameras(30), talker: camera(30)))

    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Goldens/\(layout.rawValue)-\(size).txt")
    if ProcessInfo.processInfo.environment["RECBOT_UPDATE_GOLDENS"] != nil {
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
  }

  private func describe(_ layers: [VideoLayer]) -> String {
    layers.map { layer in
      let name =
        switch layer.key {
        case .camera(let participant, _): "\(participant)"
        case .screenShare(let participant, _): "\(participant)/screen"
        case .overflow(let count): "+\(count)"
        case .empty: "empty"
        }
      return "  \(name) \(layer.rect) \(layer.fit) r\(layer.cornerRadius)\(layer.isLarge ? " large" : "")\n"
    }.joined()
  }
}
