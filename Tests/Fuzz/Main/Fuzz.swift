import FuzzTargets
import Glibc

/// What is done with one input. It must not trap, hang, or claim memory without bounds.
private typealias Body = @Sendable (UnsafeRawBufferPointer) -> Void

/// The fuzz targets by name; each has its first inputs in a folder of `Corpus`.
private let bodies: [String: Body] = [
  "control": fuzzControl,
  "data": fuzzData,
  "decoder-audio": fuzzAudioDecoders,
  "decoder-av1": fuzzDecoder(.av1),
  "decoder-h264": fuzzDecoder(.h264),
  "decoder-h265": fuzzDecoder(.h265),
  "decoder-vp8": fuzzDecoder(.vp8),
  "decoder-vp9": fuzzDecoder(.vp9),
  "depacketizer-audio": fuzzAudioDepacketizers,
  "depacketizer-av1": fuzzDepacketizer(.av1),
  "depacketizer-h264": fuzzDepacketizer(.h264),
  "depacketizer-h265": fuzzDepacketizer(.h265),
  "depacketizer-vp8": fuzzDepacketizer(.vp8),
  "depacketizer-vp9": fuzzDepacketizer(.vp9),
  "dtls": fuzzDTLS,
  "encryption": fuzzEncryption,
  "http-client": fuzzHTTPClient,
  "http-server": fuzzHTTPServer,
  "images": fuzzImages,
  "json": fuzzJSON,
  "log": fuzzLog,
  "messages": fuzzMessages,
  "negotiation": fuzzNegotiation,
  "repair": fuzzRepair,
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
