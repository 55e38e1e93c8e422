import FuzzTargets
import Glibc

/// What is done with one input. It must not trap, hang, or claim memory without bounds.
private typealias Body = @Sendable (UnsafeRawBufferPointer) -> Void

/// The fuzz targets by name; each has its first inputs in a folder of `Corpus`.
private let bodies: [String: Body] = [
  "codecs": fuzzCodecs,
  "control": fuzzControl,
  "data": fuzzData,
  "depacketizers": fuzzDepacketizers,
  "dtls": fuzzDTLS,
  "encryption": fuzzEncryption,
  "images": fuzzImages,
  "json": fuzzJSON,
  "messages": fuzzMessages,
  "negotiation": fuzzNegotiation,
  "rtcp": fuzzRTCP,
  "rtp": fuzzRTP,
  "sctp": fuzzSCTP,
  "sdp": fuzzSDP,
  "signaling": fuzzSignaling,
  "srtp": fuzzSRTP,
  "stun": fuzzSTUN,
  "tokens": fuzzTokens,
  "transport": fuzzTransport,
  "webm": fuzzWebM,
  "yaml": fuzzYAML,
]

/// The target that the environment names.
private let body: Body = {
  let name = getenv("RECBOT_FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let body = bodies[name] else {
    print("RECBOT_FUZZ_TARGET must be one of", bodies.keys.sorted().joined(separator: ", "))
    exit(2)
  }
  return body
}()

/// libFuzzer's entry, called once for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  body(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}
