import MediaCore
import Testing

@Suite struct PercentCodingTests {
  @Test func everyByteOutsideTheUnreservedOnesIsEncoded() {
    #expect(PercentCoding.encode("a b/ü~+*'", keepsSlashes: true) == "a%20b/%C3%BC~%2B%2A%27")
    #expect(PercentCoding.encode("a/b") == "a%2Fb")
    #expect(PercentCoding.encode("a b/ü?.webm") == "a%20b%2F%C3%BC%3F.webm")
  }

  @Test func whatIsNotWellFormedIsNotDecoded() {
    #expect(PercentCoding.decode("a%20b%2f%C3%BC+") == "a b/ü+")
    for text in ["%", "%2", "%zz", "%C3", "a%"] { #expect(PercentCoding.decode(text) == nil) }
  }
}
