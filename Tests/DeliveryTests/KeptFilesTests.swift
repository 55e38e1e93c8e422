import Foundation
import Testing

@testable import Delivery

/// The files of a data folder, requests for them, and signatures.
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

  @Test func aRequestIsTakenAsItWasSigned() {
    let key = FileRequest.key(from: "the workers' secret")
    let request = FileRequest(verb: .read(3..<9), folderID: "folder", location: "/a b/ü&=?.webm", size: 10, until: 1000)
    let target = request.target(key: key)
    func read(_ target: String, isRemoval: Bool = false, key other: [UInt8]? = nil, now: Int64 = 999) -> FileRequest? {
      FileRequest(target: target[...], isRemoval: isRemoval, key: other ?? key, now: now)
    }
    #expect(read(target) == request)
    #expect(read(target, now: 1000) == nil && read(target, now: 300) == nil)
    #expect(read(target, key: FileRequest.key(from: "another")) == nil && read(target, isRemoval: true) == nil)
    for (part, other) in [
      ("start=3", "start=0"), ("end=9", "end=10"), ("until=1000", "until=1001"), ("size=10", "size=11"),
    ] {
      #expect(read(target.replacing(part, with: other)) == nil, "\(other)")
    }
    #expect(read(target + "&start=3") == nil && read("/files?") == nil && read("/files") == nil)
    let removal = FileRequest(verb: .remove, folderID: "folder", location: "/a", size: 10, until: 1000)
    #expect(read(removal.target(key: key), isRemoval: true) == removal && read(removal.target(key: key)) == nil)
    for range in [Int64(-1)..<5, 0..<11] {
      let request = FileRequest(verb: .read(range), folderID: "f", location: "/a", size: 10, until: 1000)
      #expect(read(request.target(key: key)) == nil)
    }
  }

  @Test func fieldsCannotBeShifted() {
    let key: [UInt8] = [1, 2, 3]
    let one = SignedRequest(purpose: "p", fields: ["ab", "c"], until: 5)
    let other = SignedRequest(purpose: "p", fields: ["a", "bc"], until: 5)
    #expect(one.signature(key: key) != other.signature(key: key))
    #expect(one.isSigned(one.signature(key: key), key: key) && !one.isSigned("", key: key))
    #expect(SignedRequest.key(from: "s", purpose: "a") != SignedRequest.key(from: "s", purpose: "b"))
  }
}
