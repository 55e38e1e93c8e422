import Foundation
import Logging
import Testing

@testable import Delivery

/// Files that stay on this machine, and files that wait.
@Suite struct LocalDeliveryTests {
  /// A folder that is gone after the test.
  final class Folder {
    let path: String
    init() {
      path = NSTemporaryDirectory() + "/delivery-tests-\(UUID().uuidString)"
      try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func file(_ name: String, _ text: String) -> String {
      _ = FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(text.utf8))
      return "\(path)/\(name)"
    }
    func text(_ name: String) -> String? {
      FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) }
    }
  }

  let folder = Folder()
  /// SHA-256 of "abc" (FIPS 180-2, appendix B.1).
  static let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

  private func delivery(_ root: String = "out") -> StoreDelivery {
    StoreDelivery(.local(root: "\(folder.path)/\(root)"), logger: Logger(label: "test"))
  }

  @Test func aFileIsUnderItsNameWithItsHash() async throws {
    let file = folder.file("talk.webm", "abc")
    let delivered = try await delivery().deliver(file: file, name: "2026/11/talk.webm")
    #expect(
      delivered == DeliveredFile(location: "\(folder.path)/out/2026/11/talk.webm", size: 3, sha256: Self.hash))
    #expect(folder.text("out/2026/11/talk.webm") == "abc")
    #expect(folder.text("talk.webm") == "abc")
    // Again: it is there already.
    #expect(try await delivery().deliver(file: file, name: "2026/11/talk.webm") == delivered)
  }

  @Test func nothingIsReplaced() async throws {
    let first = folder.file("1.webm", "abc")
    let second = folder.file("2.webm", "abd")
    _ = try await delivery().deliver(file: first, name: "talk.webm")
    let error = await #expect(throws: DeliveryError.self) {
      try await delivery().deliver(file: second, name: "talk.webm")
    }
    #expect(error?.code == .exists)
    #expect(folder.text("out/talk.webm") == "abc")
  }

  @Test func linksDoNotLeadOutOfTheRoot() async throws {
    let file = folder.file("talk.webm", "abc")
    try FileManager.default.createDirectory(atPath: "\(folder.path)/out", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: "\(folder.path)/elsewhere", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/out/link", withDestinationPath: "\(folder.path)/elsewhere")
    for name in ["link/talk.webm", "../elsewhere/talk.webm", "/talk.webm", "a//b"] {
      await #expect(throws: DeliveryError.self) { try await delivery().deliver(file: file, name: name) }
    }
    #expect(folder.text("elsewhere/talk.webm") == nil)
  }

  @Test func onAnotherFileSystemItIsACopy() async throws {
    guard FileManager.default.isWritableFile(atPath: "/dev/shm") else { return }
    let root = "/dev/shm/delivery-tests-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: root) }
    let file = folder.file("talk.webm", String(repeating: "abc", count: 1_000_000))
    let delivery = StoreDelivery(.local(root: root), logger: Logger(label: "test"))
    let delivered = try await delivery.deliver(file: file, name: "a/talk.webm")
    #expect(delivered.size == 3_000_000)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/a") == ["talk.webm"])
    #expect(FileManager.default.contentsEqual(atPath: file, andPath: delivered.location))
  }

  @Test func whatCannotBeDeliveredWaitsUntilItCan() async throws {
    let store = try BackupStore(folder: "\(folder.path)/backup")
    let file = folder.file("talk.webm", "abc")
    _ = folder.file("talk.webm.upload", "{}")
    let reason = DeliveryError(.unreachable, "the store is away")
    let kept = try await store.keep(file: file, name: "x/talk.webm", job: "../01J", reason: reason)
    #expect(folder.text("talk.webm") == "abc")
    // Again: it waits already.
    #expect(try await store.keep(file: file, name: "x/talk.webm", job: "../01J", reason: reason) == kept)
    #expect(try await store.measure(kept) == (3, Self.hash))
    #expect(kept.file == "\(folder.path)/backup/-.-01J-talk.webm")
    #expect(FileManager.default.fileExists(atPath: kept.file + ".upload"))
    #expect(try await store.entries() == [kept])
    // The target is a file's: it fails, and is noted.
    _ = folder.file("blocked", "")
    await #expect(throws: DeliveryError.self) { try await store.deliver(kept, by: delivery("blocked")) }
    #expect(try await store.entries().map(\.attempts) == [1])
    let delivered = try await store.deliver(kept, by: delivery())
    #expect(delivered.sha256 == Self.hash)
    #expect(folder.text("out/x/talk.webm") == "abc")
    #expect(try await store.entries() == [])
    #expect(!FileManager.default.fileExists(atPath: kept.file))
    // Where it is stays known until whoever asked for it has heard it.
    let departed = try await store.departed()
    #expect(departed.map(\.delivered) == [delivered] && departed.map(\.file) == [kept.file])
    // A file that takes its place meanwhile is not lost with the note.
    let next = try await store.keep(file: file, name: "x/talk.webm", job: "../01J", reason: reason)
    await store.forget(departed[0])
    #expect(try await store.entries() == [next])
    _ = try await store.deliver(next, by: delivery("out2"))
    for entry in try await store.departed() { await store.forget(entry) }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/backup").allSatisfy {
        $0.hasSuffix(".upload")
      })
  }

  @Test func twoFilesOfOneNameDoNotShareAPlace() async throws {
    let store = try BackupStore(folder: "\(folder.path)/backup")
    let reason = DeliveryError(.unreachable, "")
    _ = try await store.keep(file: folder.file("a", "1"), name: "talk.webm", job: "j", reason: reason)
    let error = await #expect(throws: DeliveryError.self) {
      try await store.keep(file: folder.file("b", "2"), name: "talk.webm", job: "j", reason: reason)
    }
    #expect(error?.code == .exists)
    #expect(folder.text("b") == "2")
    #expect(try await store.entries().count == 1)
  }

  @Test func storesInPrivateNetworksAndWithoutTLSAreRefused() async throws {
    let credentials = S3Credentials.Source.fixed(S3Credentials(accessKeyID: "a", secretAccessKey: "b"))
    for endpoint in [
      "http://s3.example.com", "https://127.0.0.1", "https://[::1]", "https://169.254.169.254", "https://10.0.0.1:9000",
      "https://user:secret@s3.example.com", "ftp://s3.example.com", "https://2130706433.", "https://localhost",
    ] {
      var options = DeliveryOptions()
      options.attempts = 1
      let delivery = StoreDelivery(
        .s3(S3Target(bucket: "bucket", endpoint: endpoint, credentials: credentials)), options: options,
        logger: Logger(label: "test"))
      let error = await #expect(throws: DeliveryError.self, "\(endpoint)") {
        try await delivery.deliver(file: folder.file("f", "abc"), name: "f")
      }
      #expect(error?.code == .refusedAddress || error?.code == .unreachable, "\(endpoint): \(error?.description ?? "")")
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test(arguments: ["", "a", "UPPER", "a_b", "..", "-ab", "a..b", String(repeating: "a", count: 64)])
  func bucketsThatCannotBeAreRefused(bucket: String) async {
    let credentials = S3Credentials.Source.fixed(S3Credentials(accessKeyID: "a", secretAccessKey: "b"))
    let delivery = StoreDelivery(.s3(S3Target(bucket: bucket, credentials: credentials)), logger: Logger(label: "test"))
    let error = await #expect(throws: DeliveryError.self) { try await delivery.check() }
    #expect(error?.code == .configuration)
  }
}
