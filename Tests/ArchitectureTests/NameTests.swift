import Foundation
import Testing

/// One word for one thing: what two targets declare has two names, and no type is called like its module, which would hide
/// the module from whoever must write `Module.Type`.
@Suite struct NameTests {
  /// The types at the top level of the files, and the targets that declare each.
  private static func declared() throws -> [String: Set<String>] {
    let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    var found: [String: Set<String>] = [:]
    for target in ArchitectureTests.table.keys.filter({ ArchitectureTests.table[$0]?.folder == "Sources" }) + ["recbot"]
    {
      let folder = ArchitectureTests.folder(of: target)
      for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) ?? .init()
      {
        guard file.pathExtension == "swift", !file.lastPathComponent.hasSuffix(".pb.swift"),
          !ArchitectureTests.isShown(file.path)
        else { continue }
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.first != " " {
          let words = line.split(separator: " ")
          guard let kind = words.firstIndex(where: { kinds.contains($0) }), kind < 4, kind + 1 < words.count,
            !line.hasPrefix("//")
          else { continue }
          let name = words[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
          // The same thing under the same name, for who imports this module alone.
          if words[kind] == "typealias", line.hasSuffix(".\(name)") { continue }
          found[String(name), default: []].insert(target)
        }
      }
    }
    return found
  }

  /// `RecbotKit` is the face for others, and calls things as LiveKit's Swift SDK does.
  private static let ofTheFace: Set<String> = ["Room", "RoomEvent", "ConnectOptions"]

  @Test func noNameTwice() throws {
    let declared = try Self.declared()
    #expect(declared.count > 800, "the declarations were not found")
    for (name, targets) in declared {
      if Self.ofTheFace.contains(name), targets.contains("RecbotKit"), targets.count == 2 { continue }
      #expect(targets.count == 1, "\(name) is declared in \(targets.sorted().joined(separator: " and "))")
    }
  }

  @Test func noTypeHasItsModulesName() throws {
    for (name, targets) in try Self.declared() {
      #expect(!targets.contains(name), "\(name) has the name of its module")
    }
  }
}
