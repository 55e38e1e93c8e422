import FrameEncryption
import Testing

@testable import Settings

@Suite struct FrameKeyFileTests {
  private func read(_ text: String, _ file: String = "room.yaml") throws -> FrameKeys {
    try FrameKeyFile.keys(Array(text.utf8), file: file)
  }

  private func fault(_ text: String, _ file: String = "room.yaml") -> String {
    do {
      return "\(try read(text, file))"
    } catch {
      return "\(error)"
    }
  }

  @Test func aPassphraseIsALine() throws {
    #expect(try read("correct horse\n", "room.key").shared == [0: Array("correct horse".utf8)])
    #expect(try read("\ncorrect: horse\r\n", "-").shared == [0: Array("correct: horse".utf8)])
    #expect(fault("\n", "room.key") == "room.key: the file is empty; it must hold the room's passphrase")
    #expect(
      fault("a\nb\n", "room.key")
        == "room.key: more than one line; a passphrase has one line, and a file of several keys ends with .yaml")
    #expect(
      fault(String(repeating: "x", count: 1025), "room.key") == "room.key: the passphrase must have 1 to 1024 bytes")
    #expect(throws: ConfigurationError.self) { try FrameKeyFile.keys([0xff, 0xfe, 10], file: "room.key") }
    #expect(throws: ConfigurationError.self) {
      try FrameKeyFile.keys([UInt8](repeating: 97, count: FrameKeyFile.maximumBytes + 1), file: "room.key")
    }
  }

  @Test func aYAMLFileSaysEverything() throws {
    let keys = try read(
      """
      shared: [first, "hex:00ff", "base64:AAE+/w=="]
      participants:
        ann: "12"
        bob: [x, y]
      derivation: hkdf
      salt: salty
      ratchet-window: 0
      """)
    #expect(keys.shared == [0: Array("first".utf8), 1: [0, 0xff], 2: [0, 1, 0x3e, 0xff]])
    #expect(keys.own == ["ann": [0: Array("12".utf8)], "bob": [0: [120], 1: [121]]])
    #expect(keys.derivation == .hkdf && keys.salt == Array("salty".utf8) && keys.ratchetWindow == 0)
    #expect(keys.has(participant: "cleo"))
    #expect(try !read("participants: {ann: x}").has(participant: "bob"))
  }

  @Test(arguments: [
    ("", "room.yaml: must say shared: KEY, or participants: and a key for each identity"),
    ("derivation: pbkdf2", "room.yaml: there is no key; say shared: KEY, or participants: and a key for each identity"),
    ("shard: x", "room.yaml:1: 'shard' is not known; did you mean 'shared'?"),
    ("shared: x\nderivation: scrypt", "room.yaml:2: derivation must be pbkdf2"),
    ("shared: ''", "room.yaml:1: shared must be a passphrase in quotes"),
    ("shared: hex:0g", "room.yaml:1: shared: what follows hex: is not such text"),
    ("shared: {a: b}", "room.yaml:1: shared must be a passphrase in quotes"),
    ("shared: []", "room.yaml:1: shared must be one key, or a list of 1 to 256"),
    ("participants: [a]", "room.yaml:1: participants must be identities"),
    ("participants: {ann: {x: y}}", "room.yaml:1: the key of 'ann' must be a passphrase in quotes"),
    ("shared: x\nratchet-window: 65", "room.yaml:2: ratchet-window must be 0 to 64"),
  ])
  func whatIsWrongIsOneLine(text: String, told: String) {
    let fault = fault(text)
    #expect(fault.hasPrefix(told), "\(fault)")
    #expect(!fault.contains("\n"))
  }

  /// A parser's error quotes what it has read.
  @Test func errorsShowNoKey() {
    for text in ["shared: \"secret", "shared: [secret, ", "\tsecret: x", "secret\nsecret: y: z", "shared: *secret"] {
      #expect(!fault(text).contains("secret"), "\(fault(text))")
    }
  }
}
