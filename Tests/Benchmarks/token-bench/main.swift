import Digests
import Glibc
import MediaCore
import Signaling

/// Measures what a token costs the server that reads it: usual ones, and refused ones that are made to cost much. Prints
/// a line for each; the exit code is 1 when a refused token costs more than 0.2 ms.
///
///   swift run -c release token-bench

/// A token of any header and claims.
func forge(_ header: String, _ claims: String, secret: String = "wrong") -> String {
  func encode(_ bytes: [UInt8]) -> String { String(decoding: Base64URL.encode(bytes, padding: false), as: UTF8.self) }
  let input = encode(Array(header.utf8)) + "." + encode(Array(claims.utf8))
  return input + "." + encode(HMAC.sha256(Array(input.utf8), key: Array(secret.utf8)))
}

func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

let now: Int64 = 1_800_000_000
let header = #"{"alg":"HS256","typ":"JWT"}"#
let good = #"{"iss":"devkey","sub":"a","exp":1800000100,"video":{"room":"r","roomJoin":true}}"#
let tokens: [(name: String, token: String, isGood: Bool)] = [
  ("good", forge(header, good, secret: "secret"), true),
  (
    "good, metadata of 21 KiB",
    forge(
      header, #"{"iss":"devkey","exp":1800000100,"metadata":"\#(many("a", 22_000))"}"#, secret: "secret"), true
  ),
  ("wrong signature", forge(header, good), false),
  ("header with 1e19", forge(#"{"alg":"HS256","z":1e19}"#, good), false),
  ("header 500 deep", forge(#"{"alg":"HS256","z":\#(many("[", 500) + many("]", 500))}"#, good), false),
  ("header 500 open", forge(many("[", 500), good), false),
  ("claims 513 open", forge(header, many("[", 513)), false),
  ("claims 60 deep, often", forge(header, "[" + many(many("[", 60) + many("]", 60) + ",", 185) + "0]"), false),
  ("garbage of 8 KiB", many("Zm9vYmFy", 1024), false), ("garbage of 32 KiB", many("Zm9vYmFy", 4096), false),
  ("garbage of 64 KiB", many("Zm9vYmFy", 8192), false),
  ("garbage claims of 22 KiB", forge(header, many("x", 23_000)), false),
  ("64 KiB of dots", many(".", 65_536), false), ("1 MiB", many("A", 1 << 20), false),
  ("text of 22 KiB, no key", forge(header, #"{"x":"\#(many("a", 23_000))"}"#), false),
  ("text of 22 KiB, wrong signature", forge(header, #"{"iss":"devkey","x":"\#(many("a", 23_000))"}"#), false),
  ("UTF-8 of 22 KiB", forge(header, #"{"iss":"devkey","x":"\#(many("é", 11_500))"}"#), false),
  ("escapes of 22 KiB", forge(header, #"{"iss":"devkey","x":"\#(many("\\u00e9", 3800))"}"#), false),
  ("numbers", forge(header, #"{"iss":"devkey","x":[\#(many("1,", 11_500))0]}"#), false),
  ("names", forge(header, #"{"iss":"devkey"\#(many(",\"a\":0", 3800))}"#), false),
  ("1000 values", forge(header, #"{"iss":"devkey"\#(many(",\"a\":0", 500))}"#), false),
  ("escaped names", forge(header, #"{"iss":"devkey"\#(many(",\"\\u0061\":0", 500))}"#), false),
  ("digits", forge(header, #"{"iss":"devkey","x":\#(many("1", 23_000))}"#), false),
  ("blanks", forge(header, #"{"iss":"devkey",\#(many(" ", 23_000))"x":1}"#), false),
]

var isSlow = false
for (name, token, isGood) in tokens {
  var best = Duration.seconds(1)
  for _ in 0..<200 {
    let began = ContinuousClock.now
    let claims = try? AccessToken(verifying: token, now: now) { $0 == "devkey" ? "secret" : nil }
    best = min(best, ContinuousClock.now - began)
    precondition((claims != nil) == isGood, "\(name) is judged wrongly")
  }
  let microseconds = best / .microseconds(1)
  let tenths = (microseconds * 10).rounded() / 10
  print("\(name): \(token.utf8.count) bytes, \(tenths) µs")
  if !isGood, best > .microseconds(200) { isSlow = true }
}
if isSlow { exit(1) }
