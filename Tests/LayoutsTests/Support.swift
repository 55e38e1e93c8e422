import Foundation
import LayoutFiles
import Layouts
import MediaCore

/// `count` cameras p1, p2, … in the order of joining.
func cameras(_ count: Int) -> [LayoutSource] {
  (1...max(1, count)).prefix(count).map {
    LayoutSource(key: camera($0), pictureWidth: 640, pictureHeight: 360, trackName: "camera")
  }
}

func camera(_ number: Int) -> TileKey { .camera(ParticipantIdentity("p\(number)")) }

func screen(_ number: Int) -> TileKey { .screenShare(ParticipantIdentity("p\(number)")) }

func shared(_ number: Int) -> LayoutSource {
  LayoutSource(key: screen(number), pictureWidth: 1280, pictureHeight: 720, trackName: "screen")
}

let hd = CanvasSize(width: 1280, height: 720)

/// Reads a layout written in a test.
func layout(_ yaml: String, canvas: CanvasSize? = nil) throws -> Layout {
  try LayoutReader.read(yaml, file: "test.yaml", name: "test", canvas: canvas)
}

/// One region with these lines (of YAML, in one flow mapping) on the whole canvas.
func region(_ lines: String) throws -> Layout { try layout("scenes: [{regions: [{\(lines)}]}]") }

/// What one arrangement shows, for reading and for goldens: a line for each region and size of tiles.
func describe(_ arrangement: Arrangement) -> String {
  var groups: [(head: String, tiles: [String])] = []
  for layer in arrangement.layers {
    let name =
      switch layer.key {
      case .camera(let participant, _): "\(participant)"
      case .screenShare(let participant, _): "\(participant)/screen"
      case .overflow(let count): "+\(count)"
      case .empty: "empty"
      }
    var head = "\(layer.region) \(layer.rect.width)x\(layer.rect.height) \(layer.fit) r\(layer.cornerRadius)"
    if layer.z != 0 { head += " z\(layer.z)" }
    if layer.isLarge { head += " large" }
    if layer.look.smallCard { head += " small" }
    if let border = layer.border { head += " border \(border.width)" }
    let tile = "\(name)@\(layer.rect.x),\(layer.rect.y)"
    if groups.last?.head == head { groups[groups.count - 1].tiles.append(tile) } else { groups.append((head, [tile])) }
  }
  return groups.map { "    \($0.head): \($0.tiles.joined(separator: " "))\n" }.joined()
}

/// Compares with `Goldens/NAME`, which is written again when `RECBOT_UPDATE_GOLDENS` is set.
func golden(_ name: String, _ text: String) throws -> Bool {
  let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Goldens/\(name)")
  if ProcessInfo.processInfo.environment["RECBOT_UPDATE_GOLDENS"] != nil {
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: file, atomically: true, encoding: .utf8)
  }
  return try String(contentsOf: file, encoding: .utf8) == text
}
