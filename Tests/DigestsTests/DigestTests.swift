import Digests
import Testing

@Suite struct DigestTests {
  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// FIPS 180-4's examples, and RFC 1321 appendix A.5.
  @Test func thePublishedExamplesComeOut() {
    #expect(
      hex(Digest.sha256([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      hex(Digest.sha256(Array("abc".utf8))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    let long = Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)
    #expect(hex(Digest.sha256(long)) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    #expect(hex(Digest.of([], .md5)) == "d41d8cd98f00b204e9800998ecf8427e")
    #expect(hex(Digest.of(Array("message digest".utf8), .md5)) == "f96b697d7cb7938d525a2f31aaf161d0")
  }

  @Test func piecesAreHashedLikeTheWholeAndMoreMayCome() {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for algorithm in [Digest.Algorithm.sha256, .md5] {
      var digest = Digest(algorithm)
      var taken = 0
      for length in [0, 1, 63, 64, 65, 500, 307] {
        bytes[taken..<(taken + length)].withUnsafeBytes { digest.update($0) }
        taken += length
        #expect(digest.value == Digest.of(Array(bytes[..<taken]), algorithm))
      }
      #expect(taken == 1000 && digest.value == Digest.of(bytes, algorithm))
    }
  }

  /// RFC 4231, test cases 1, 2, 6 (a key longer than a block), and an empty key and message.
  @Test func codesAreThoseOfTheSpecification() {
    let cases: [(key: [UInt8], text: String, code: String)] = [
      (
        [UInt8](repeating: 0x0b, count: 20), "Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), "what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ]
    for (key, text, code) in cases {
      let made = HMAC.sha256(Array(text.utf8), key: key)
      #expect(hex(made) == code)
      #expect(HMAC.isSHA256(made, of: Array(text.utf8), key: key))
      for index in made.indices {
        var other = made
        other[index] ^= 1
        #expect(!HMAC.isSHA256(other, of: Array(text.utf8), key: key))
      }
      #expect(!HMAC.isSHA256(Array(made.dropLast()), of: Array(text.utf8), key: key))
      #expect(!HMAC.isSHA256(made + [0], of: Array(text.utf8), key: key))
      #expect(!HMAC.isSHA256([], of: Array(text.utf8), key: key))
    }
  }
}
