import Digests
import MediaCore
import TestKit
import Testing

@testable import FrameEncryption

@Suite struct FrameCryptorTests {
  private let sound = Sealing.bytes("f8fffe0001020304")
  private let picture = Sealing.bytes("1002009d012a08000800 000102030405")
  /// What "12345678" becomes by PBKDF2, and its ratchet's steps.
  private static let first = Sealing.bytes("5b0a8f826680865f9c7b75b08ba5084c")
  private static let second = Sealing.bytes("9695a5038352cac6546e6047a99c13ea")

  private func keys(_ change: (inout FrameKeys) -> Void = { _ in }) -> FrameKeys {
    var keys = FrameKeys()
    keys.shared = [0: Array("12345678".utf8)]
    change(&keys)
    return keys
  }

  private func ready(_ keys: FrameKeys) -> FrameCryptor {
    var decryption = FrameCryptor(keys: keys, nonceSeed: 0xa0a1_a2a3_a4a5_a6a7)
    work(&decryption)
    return decryption
  }

  /// Derives what is wanted; gives how many keys that were.
  @discardableResult private func work(_ decryption: inout FrameCryptor) -> Int {
    var derived = 0
    while let work = decryption.nextWork() {
      derived += 1
      decryption.finish(work.perform())
    }
    return derived
  }

  private func open(
    _ decryption: inout FrameCryptor, _ bytes: [UInt8], _ codec: Codec = .opus, layers: Int = 1,
    from participant: String = "ann", at now: Instant = .zero
  ) -> String {
    let outcome = bytes.withUnsafeBytes {
      decryption.open($0, codec: codec, layers: layers, from: participant, at: now)
    }
    return switch outcome {
    case .opened(let buffer): hex(Array(buffer.bytes))
    case .injected: "injected"
    case .refused(let refusal): "\(refusal)"
    }
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test func thePublishedKeysComeOut() {
    let salt = Array("LKFrameEncryptionKey".utf8)
    #expect(
      KeyDerivation.pbkdf2SHA256(Array(0...15), salt: Array(0...7), rounds: 100_000, count: 16)
        == Sealing.bytes("a658cd52efbacadfecdfe0a0dc574ec3"))
    #expect(
      KeyDerivation.pbkdf2SHA256(Array("livekitrocks".utf8), salt: salt, rounds: 100_000, count: 16)
        == Sealing.bytes("0961650c1bebd64a7ca427e26d6bc62b"))
    #expect(
      KeyDerivation.hkdfSHA256(
        Array("12345678".utf8), salt: salt, info: [UInt8](repeating: 0, count: 128), count: 16)
        == Sealing.bytes("e458cad5d3938267878127c73274909f"))
  }

  /// Made by LiveKit's rules with another implementation of AES.
  @Test func framesOfOtherClientsAreOpened() {
    var decryption = ready(keys())
    #expect(
      open(
        &decryption,
        Sealing.bytes("f89fa0a63f3374949ac5963db680f7b0f91ea9058a5bd82aa0a1a2a3a4a5a6a7a8a9aaab0c00"))
        == "f8fffe0001020304")
    #expect(
      open(
        &decryption,
        Sealing.bytes(
          "1002009d012a08000800605fa43d357200d83514201e29f09709a134a6d2b2bda0a1a2a3a4a5a6a7a8a9aaab0c00"), .vp8)
        == "1002009d012a08000800000102030405")
  }

  @Test func aKeyIsDerivedBeforeItIsUsed() {
    var decryption = FrameCryptor(keys: keys(), nonceSeed: 0xa0a1_a2a3_a4a5_a6a7)
    let frame = Sealing.frame(sound, clearLength: 1, key: Self.first)
    #expect(open(&decryption, frame) == "pending")
    #expect(work(&decryption) == 1)
    #expect(open(&decryption, frame) == "f8fffe0001020304")
    #expect(work(&decryption) == 0)
  }

  /// One step, then several at once; frames in between cost no search each.
  @Test func aSenderMayRatchetItsKey() {
    var decryption = ready(keys())
    let frame = Sealing.frame(sound, clearLength: 1, key: Self.second)
    #expect(open(&decryption, frame) == "wrongKey(index: 0)")
    #expect(work(&decryption) == 16)
    #expect(open(&decryption, frame, at: .nanoseconds(1)) == "wrongKey(index: 0)", "it was just looked for")
    #expect(open(&decryption, frame, at: .zero + FrameCryptor.searchInterval) == "f8fffe0001020304")
    // Somebody else still sends with the first key.
    #expect(
      open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first), from: "bob") == "f8fffe0001020304")
    // Back is no way: that key was given up.
    #expect(
      open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first), at: .nanoseconds(1 << 40))
        == "wrongKey(index: 0)")
  }

  /// Whoever sends rubbish makes the recorder derive a window of keys, once.
  @Test func rubbishCostsOneWindow() {
    var decryption = ready(keys())
    let rubbish = Sealing.frame(sound, clearLength: 1, key: [UInt8](repeating: 7, count: 16))
    var derived = 0
    for index in 0..<200 {
      #expect(
        open(&decryption, rubbish, from: "p\(index % 3)", at: .seconds(Int64(index))) == "wrongKey(index: 0)")
      derived += work(&decryption)
    }
    #expect(derived == 16)
    var strict = ready(keys { $0.ratchetWindow = 0 })
    #expect(open(&strict, rubbish) == "wrongKey(index: 0)")
    #expect(work(&strict) == 0)
  }

  @Test func eachHasTheirOwnKeyAndEachKeyItsIndex() {
    var decryption = ready(
      keys {
        $0.shared[3] = Array("12345678".utf8)
        $0.own = ["bob": [0: Array("livekitrocks".utf8)]]
      })
    let bob = Sealing.bytes("0961650c1bebd64a7ca427e26d6bc62b")
    #expect(open(&decryption, Sealing.frame(sound, clearLength: 1, key: bob), from: "bob") == "f8fffe0001020304")
    #expect(
      open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first), from: "bob") == "wrongKey(index: 0)")
    #expect(
      open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first, index: 3), from: "bob")
        == "noKey(index: 3)")
    #expect(open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first, index: 3)) == "f8fffe0001020304")
    #expect(open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first, index: 16)) == "noKey(index: 16)")
  }

  @Test func theServersOwnFramesAreNone() {
    var decryption = ready(keys())
    decryption.serverTrailer = Array("trailer-of-the-room".utf8)
    #expect(open(&decryption, [0xf8, 0xff, 0xfe] + decryption.serverTrailer) == "injected")
    #expect(
      open(&decryption, Sealing.frame(sound, clearLength: 1, key: Self.first)) == "f8fffe0001020304")
  }

  /// Every frame that is cut, and every one with a bit turned, is refused, whatever the codec.
  @Test(arguments: [(Codec.opus, 1), (.vp8, 10), (.vp9, 0), (.h264, 24)])
  func damageIsRefused(codec: Codec, clearLength: Int) {
    var decryption = ready(keys { $0.ratchetWindow = 0 })
    let plain = codec == .opus ? sound : codec == .h264 ? accessUnit : picture
    // Of H.264 the tail is escaped in several places.
    let whole =
      codec == .h264
      ? Sealing.unit(plain, clearLength: clearLength, key: Self.first, nonce: [UInt8](repeating: 0, count: 12))
      : Sealing.frame(plain, clearLength: clearLength, key: Self.first)
    #expect(open(&decryption, whole, codec) == hex(plain))
    for count in 0..<whole.count {
      let told = open(&decryption, Array(whole.prefix(count)), codec)
      #expect(told == "malformed" || told.contains("("), "\(count): \(told)")
    }
    for bit in 0..<(whole.count * 8) {
      var damaged = whole
      damaged[bit / 8] ^= 1 << (bit % 8)
      let told = open(&decryption, damaged, codec)
      #expect(told == "malformed" || told.contains("("), "\(bit): \(told)")
    }
  }

  @Test(arguments: [Codec.av1, .h265]) func otherCodecsAreRefused(codec: Codec) {
    var decryption = ready(keys())
    #expect(open(&decryption, Sealing.frame(picture, clearLength: 0, key: Self.first), codec).hasPrefix("codec("))
    #expect(!FrameCryptor.opens(codec))
  }

  // MARK: H.264 and VP9

  /// Parameter sets, a message and a keyframe's slice, of which the header and one byte are clear.
  private let accessUnit = Sealing.bytes(
    "00000001 6742 00000001 68ce 00000001 0605 00000001 6588 80 0102030405 00000301")

  @Test func ofH264TheSlicesAreEncrypted() {
    var decryption = ready(keys())
    let sealed = Sealing.unit(accessUnit, clearLength: 24, key: Self.first)
    #expect(Array(sealed.prefix(24)) == Array(accessUnit.prefix(24)))
    #expect(open(&decryption, sealed, .h264) == hex(accessUnit))
    let delta = Sealing.bytes("00000001 41 9a 77 66 55")
    #expect(open(&decryption, Sealing.unit(delta, clearLength: 6, key: Self.first), .h264) == hex(delta))
    #expect(
      open(&decryption, Sealing.unit(delta, clearLength: 6, key: Self.second), .h264, at: .nanoseconds(1))
        == "wrongKey(index: 0)")
    // The header counts only where a slice begins: neither a message nor a partition is one.
    #expect(open(&decryption, Sealing.bytes("00000001 0605 00000001 42 9a 00"), .h264) == "malformed")
    #expect(open(&decryption, Sealing.bytes("00000001 65"), .h264) == "malformed")
    #expect(open(&decryption, [], .h264) == "malformed")
  }

  /// Whatever the ciphertext is, and however many zeros stand in nonce and trailer, no start code is in it, and it comes back.
  @Test func escapesOfH264AreUndone() {
    var decryption = ready(keys { $0.shared = [0: Array("12345678".utf8), 1: Array("12345678".utf8)] })
    var escapes = 0
    for round in 0..<2000 {
      let plain = Sealing.bytes("00000001 65 88") + (0..<(round % 97)).map { UInt8(truncatingIfNeeded: $0 &* round) }
      let nonce = [0, 0, 0, 0, 0, UInt8(round % 5), 0, 0, UInt8(round % 256), 0, 0, UInt8(round / 256)]
      let index = UInt8(round % 2)
      let sealed = Sealing.unit(plain, clearLength: 6, key: Self.first, index: index, nonce: nonce)
      escapes += sealed.count - plain.count - 30
      #expect(open(&decryption, sealed, .h264) == hex(plain))
    }
    #expect(escapes > 2000)
    // A megabyte of zeros is but a frame that is none.
    #expect(open(&decryption, accessUnit + [UInt8](repeating: 0, count: 1 << 20), .h264) == "malformed")
  }

  @Test func ofVP9EachLayerIsEncryptedByItself() {
    var decryption = ready(keys())
    let layers: [[UInt8]] = [[1, 2, 3], [0xc1], Array(0...200)]
    let sealed = layers.enumerated().map { number, layer in
      Sealing.frame(layer, clearLength: 0, key: Self.first, nonce: [UInt8](repeating: UInt8(number), count: 12))
    }
    func joined(_ frames: [[UInt8]]) -> [UInt8] { frames.flatMap(\.self) + VP9Superframe.index(frames.map(\.count)) }
    #expect(open(&decryption, joined(sealed), .vp9, layers: 3) == hex(joined(layers)))
    #expect(open(&decryption, sealed[2], .vp9) == hex(layers[2]))
    // One that is damaged spoils the picture, and nothing stays of the layers before it.
    var damaged = sealed
    damaged[2][5] ^= 1
    #expect(open(&decryption, joined(damaged), .vp9, layers: 3) == "wrongKey(index: 0)")
    #expect(open(&decryption, joined(sealed), .vp9, layers: 3) == hex(joined(layers)))
    // What is no superframe of so many.
    #expect(open(&decryption, joined(sealed), .vp9, layers: 2) == "malformed")
    #expect(open(&decryption, sealed[0], .vp9, layers: 2) == "malformed")
    #expect(open(&decryption, joined([sealed[0], [1, 2]]), .vp9, layers: 2) == "malformed")
    #expect(open(&decryption, [], .vp9, layers: 3) == "malformed")
  }

  @Test func messagesAreDecrypted() {
    var decryption = ready(keys())
    let nonce: [UInt8] = Array(1...12)
    let sealed = Sealing.seal(Array("hello".utf8), key: Self.first, nonce: nonce, clear: [])
    #expect(decryption.open(message: sealed, nonce: nonce, keyIndex: 0, from: "ann", at: .zero) == Array("hello".utf8))
    #expect(
      decryption.open(message: sealed, nonce: Array(nonce.dropLast()), keyIndex: 0, from: "ann", at: .zero) == nil)
    #expect(decryption.open(message: sealed, nonce: nonce, keyIndex: 300, from: "ann", at: .zero) == nil)
    #expect(
      decryption.open(message: Array(sealed.dropLast()), nonce: nonce, keyIndex: 0, from: "ann", at: .zero) == nil)
    #expect(decryption.open(message: [], nonce: nonce, keyIndex: 0, from: "ann", at: .zero) == nil)
    let nothing = Sealing.seal([], key: Self.first, nonce: nonce, clear: [])
    #expect(decryption.open(message: nothing, nonce: nonce, keyIndex: 0, from: "ann", at: .zero) == [])
  }

  @Test func aTrackIsUnreadableAfterHalfASecondOfRefusals() {
    var readability = Readability()
    var told: [Bool] = []
    func note(_ isOpened: Bool, _ milliseconds: Int64) {
      if readability.note(isOpened: isOpened, at: .milliseconds(milliseconds)) { told.append(readability.isReadable) }
    }
    note(true, 0)
    for time in stride(from: Int64(20), through: 500, by: 20) { note(false, time) }
    #expect(told == [], "one long loss of keys is no verdict yet")
    note(true, 510)
    for time in stride(from: Int64(520), through: 1100, by: 20) { note(false, time) }
    #expect(told == [false])
    note(true, 1120)
    #expect(told == [false, true])
  }

  private func seal(_ cryptor: inout FrameCryptor, _ plain: [UInt8], _ codec: Codec) -> [UInt8]? {
    plain.withUnsafeBytes { cryptor.seal($0, codec: codec) }.map { Array($0.bytes) }
  }

  /// As another implementation of AES seals it, with a nonce of its own for each.
  @Test func whatTheBotSendsIsSealedAsOthersDo() throws {
    var cryptor = FrameCryptor(keys: keys(), nonceSeed: 0xa0a1_a2a3_a4a5_a6a7)
    #expect(seal(&cryptor, sound, .opus) == nil, "nobody knows yet as whom it sends")
    cryptor.send(as: "bot")
    let early = cryptor.seal(message: [1])
    #expect(!cryptor.canSeal && seal(&cryptor, sound, .opus) == nil && early == nil)
    work(&cryptor)
    #expect(cryptor.canSeal)
    let delta: [UInt8] = [0x11, 2, 3, 4, 5]
    for (number, (plain, codec, clear)) in [
      (sound, Codec.opus, 1), (picture, .vp8, 10), (delta, .vp8, 3), (picture, .vp9, 0), ([7], .opus, 1),
    ].enumerated() {
      let nonce = Array(0xa0...0xa7) + [0, 0, 0, UInt8(number)]
      let sealed = try #require(seal(&cryptor, plain, codec))
      #expect(sealed == Sealing.frame(plain, clearLength: clear, key: Self.first, nonce: nonce))
      #expect(open(&cryptor, sealed, codec, from: "bot") == hex(plain))
    }
    for message in [[UInt8](), Array("hello".utf8)] {
      let sealed = cryptor.seal(message: message)
      let sent = try #require(sealed)
      #expect(sent.sealed.count == message.count + AESGCM.tagLength && sent.keyIndex == 0)
      let opened = cryptor.open(message: sent.sealed, nonce: sent.nonce, keyIndex: 0, from: "bot", at: .zero)
      #expect(opened == message)
    }
    // What has no form that others read, and what is shorter than its clear bytes.
    for codec in [Codec.h264, .av1, .h265, .g722] { #expect(seal(&cryptor, picture, codec) == nil) }
    #expect(seal(&cryptor, [0, 1], .vp8) == nil && seal(&cryptor, [], .opus) == nil)
  }

  @Test func theBotSendsWithItsOwnKeyAndTheIndexThatIsWanted() throws {
    let many = keys {
      $0.shared = [2: Array("livekitrocks".utf8), 5: Array("12345678".utf8)]
      $0.own = ["bot": [9: Array("12345678".utf8)]]
    }
    for (identity, wanted, index) in [("bot", nil, 9), ("ann", nil, 2), ("ann", 5, 5)] as [(String, UInt8?, UInt8)] {
      var keys = many
      keys.sendingIndex = wanted
      var cryptor = ready(keys)
      cryptor.send(as: identity)
      let sealed = try #require(seal(&cryptor, sound, .opus))
      #expect(sealed.last == index)
      #expect(open(&cryptor, sealed, from: identity) == hex(sound))
    }
    var missing = many
    missing.sendingIndex = 3
    #expect(!missing.canSend(as: "ann") && !missing.canSend(as: "bot") && many.canSend(as: "bot"))
    var others = FrameKeys()
    others.own = ["ann": [0: [1]]]
    #expect(!others.canSend(as: "bot"))
    var cryptor = ready(others)
    cryptor.send(as: "bot")
    #expect(seal(&cryptor, sound, .opus) == nil)
  }

  @Test func noNonceComesTwice() {
    var nonces = NonceSequence(seed: .max)
    var seen: Set<[UInt8]> = []
    for _ in 0..<1000 { #expect(seen.insert(nonces.next()).inserted) }
    #expect(seen.allSatisfy { $0.count == AESGCM.nonceLength })
    // After all counts another row begins.
    var last = NonceSequence(seed: 1, count: .max)
    #expect(last.next() == [0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255])
    #expect(last.next() == [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0])
  }

  @Test func noTextShowsAKey() {
    let decryption = FrameCryptor(keys: keys(), nonceSeed: 0xa0a1_a2a3_a4a5_a6a7)
    #expect(!"\(keys())".contains("49") && !"\(decryption)".contains("49, 50"))
  }
}
