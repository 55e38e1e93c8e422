import Foundation
import JobsAPI
import Testing

@testable import Worker

@Suite struct KeyFolderTests {
  @Test func aFolderHasTheKeysThatItsFilesAreCalled() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "recbot-keys-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    for name in ["lesson-7", "board.yaml", "board.key", "talk.yml", ".hidden", "not a name", "übung"] {
      try Data("a passphrase".utf8).write(to: place.appending(path: name))
    }
    let folder = KeyFolder(place.path)
    #expect(folder.names() == ["board", "board.key", "lesson-7", "talk"])
    #expect(folder.file(of: "lesson-7") == place.path + "/lesson-7")
    #expect(folder.file(of: "board") == place.path + "/board.yaml")
    for name in ["../lesson-7", ".hidden", "not a name", "", "none", "lesson-7/", String(repeating: "a", count: 129)] {
      #expect(folder.file(of: name) == nil, "\(name)")
    }
    #expect(KeyFolder(place.path + "/none").names().isEmpty)
  }

  @Test func aWorkerTellsABoundedNumberOfNames() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "recbot-keys-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    for number in 0...KeyFolder.mostNames { try Data().write(to: place.appending(path: "key-\(number)")) }
    #expect(KeyFolder(place.path).names().count == KeyFolder.mostNames)
  }
}
