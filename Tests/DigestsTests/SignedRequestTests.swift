import Digests
import Testing

@Suite struct SignedRequestTests {
  @Test func fieldsCannotBeShifted() {
    let key: [UInt8] = [1, 2, 3]
    let one = SignedRequest(purpose: "p", fields: ["ab", "c"], until: 5)
    let other = SignedRequest(purpose: "p", fields: ["a", "bc"], until: 5)
    #expect(one.signature(key: key) != other.signature(key: key))
    #expect(one.isSigned(one.signature(key: key), key: key) && !one.isSigned("", key: key))
    #expect(SignedRequest.key(from: "s", purpose: "a") != SignedRequest.key(from: "s", purpose: "b"))
  }
}
