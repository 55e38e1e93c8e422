import Foundation
import Testing

@testable import Delivery

/// The files of a data folder.
@Suite struct KeptFilesTests {
  @Test func aFolderKeepsItsName() throws {
    let folder = NSTemporaryDirectory() + "recbot-kept-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try KeptFiles(dataFolder: folder, roots: [])
    #expect(try KeptFiles(dataFolder: folder, roots: []).folderID == first.folderID)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["folder-id"])
    try Data("../../etc\n".utf8).write(to: URL(filePath: folder + "/folder-id"))
    #expect(throws: DeliveryError.self) { try KeptFiles(dataFolder: folder, roots: []) }
    #expect(throws: DeliveryError.self) { try KeptFiles(dataFolder: folder + "/nowhere", roots: []) }
  }
}
