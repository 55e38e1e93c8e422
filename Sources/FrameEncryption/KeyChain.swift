import Digests
import MediaCore

/// One key and those that follow it: each step's material is derived from the one before, and so is its key, which is the
/// beginning of the next step's material (both derivations begin with the same block).
struct KeyChain {
  /// Names a chain: whose key it is (nil: everybody's), and its index.
  struct Name: Hashable, Sendable {
    var participant: String?
    var index: UInt8
  }

  /// Of the step behind the last of `ciphers`.
  @Redacted private(set) var material: [UInt8]
  private(set) var ciphers: [AESGCM] = []
  /// How many are wanted.
  var wanted = 1

  init(_ material: [UInt8]) { self.material = material }

  mutating func append(_ cipher: AESGCM, material: [UInt8]) {
    ciphers.append(cipher)
    self.material = material
  }
}

/// A key that is to be derived, which takes some 30 ms: done on a thread of its own.
public struct KeyWork: Sendable {
  let name: KeyChain.Name
  let keys: FrameKeys
  @Redacted var material: [UInt8]

  /// What came of it.
  public struct Result: Sendable {
    let name: KeyChain.Name
    let cipher: AESGCM?
    @Redacted var material: [UInt8]
  }

  /// Derives it. Any thread.
  public func perform() -> Result {
    let next = keys.derive(material, count: 32)
    return Result(name: name, cipher: AESGCM(key: Array(next.prefix(16))), material: next)
  }
}
