import Glibc
import MediaCore
import Testing

/// The door for JSON: its limits, its grammar, its UTF-8.
@Suite struct JSONDocumentTests {
  static func read(_ text: String, bytes: Int = 1 << 20, depth: Int = 64, values: Int = 100_000) -> JSONValue? {
    try? JSONDocument(Array(text.utf8), limits: JSONLimits(bytes: bytes, depth: depth, values: values)).root
  }

  static func reason(_ bytes: [UInt8], depth: Int = 64, values: Int = 1000) -> JSONError.Reason? {
    do throws(JSONError) {
      _ = try JSONDocument(bytes, limits: JSONLimits(bytes: 1 << 24, depth: depth, values: values))
      return nil
    } catch {
      return error.reason
    }
  }

  @Test(arguments: ["[", "{\"a\":"]) func depthIsBounded(opening: String) {
    let closing = opening == "[" ? "]" : "}"
    func nested(_ depth: Int) -> String {
      String(repeating: opening, count: depth) + "0" + String(repeating: closing, count: depth)
    }
    #expect(Self.read(nested(64)) != nil)
    #expect(Self.reason(Array(nested(65).utf8)) == .tooDeep)
    // The 513th ended the program where Foundation read it, and so might a million in any reader that calls itself.
    for depth in [511, 512, 513, 514, 600, 5000, 1_000_000] {
      #expect(Self.reason(Array(String(repeating: opening, count: depth).utf8)) == .tooDeep, "\(depth)")
    }
    #expect(Self.reason(Array("[]".utf8), depth: 0) == .tooDeep)
  }

  @Test func bytesAndValuesAreBounded() {
    #expect(Self.read("[1,2]", bytes: 5) != nil && Self.read("[1,2]", bytes: 4) == nil)
    #expect(Self.read("[1,2]", values: 3) != nil && Self.read("[1,2]", values: 2) == nil)
    #expect(Self.read("{\"a\":1}", values: 3) != nil && Self.read("{\"a\":1}", values: 2) == nil)
    #expect(Self.reason(Array(String(repeating: "[],", count: 1 << 20).utf8)) == .more)
    #expect(Self.reason(Array(("[" + String(repeating: "1,", count: 1 << 20)).utf8)) == .tooMany)
    #expect(Self.reason(Array(String(repeating: "1", count: 513).utf8)) == .longNumber)
    #expect(Self.reason(Array(String(repeating: "1", count: 512).utf8)) == nil)
  }

  @Test(arguments: [
    "0", "-0", "-0.5e+3", "1E5", "1e-2", "\"\"", "\"a\\u0000\\ud83d\\ude00\\/\"", "null", "true", "false", "[]", "{}",
    " [ 1 , { \"a\" : [ ] } , null ]\r\n\t", "\u{feff}[1]", "\"\u{7f}\u{80}\u{7ff}\u{800}\u{ffff}\u{10ffff}\"",
  ]) func jsonIsAccepted(text: String) {
    #expect(Self.read(text) != nil)
  }

  @Test(arguments: [
    ("", JSONError.Reason.end), ("  ", .end), ("01", .noWord), ("-", .noWord), ("+1", .noValue), (".5", .noValue),
    ("1.", .noWord), ("1e", .noWord), ("1e+", .noWord), ("nul", .noWord), ("truE", .noWord), ("nullx", .more),
    ("1 2", .more), ("[1,]", .noValue), ("[1 2]", .noCommaInArray), ("[", .end), ("[1", .noCommaInArray),
    ("{\"a\":1,}", .noName), ("{a:1}", .noName), ("{\"a\" 1}", .noColon), ("{\"a\":1 \"b\":2}", .noCommaInObject),
    ("{\"a\":}", .noValue), ("[}", .noValue), ("]", .noValue), ("\"", .open), ("\"\\", .open), ("\"a\nb\"", .control),
    ("\"\\x\"", .escape), ("\"\\u12g4\"", .digits), ("\"\\u12", .digits), ("\"\\ud800\"", .surrogate),
    ("\"\\ud800\\n\"", .surrogate), ("\"\\udc00\"", .surrogate), ("\"\\ud800\\u0041\"", .surrogate), ("NaN", .noValue),
    ("'a'", .noValue), ("/**/1", .noValue), ("\u{0}", .noValue), ("1\u{0}", .more),
  ]) func whatIsNoJSONIsRefused(text: String, reason: JSONError.Reason) {
    #expect(Self.reason(Array(text.utf8)) == reason)
  }

  /// Unicode 16, table 3-7: what is left out there.
  @Test(
    arguments: [
      [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2], [0xc2, 0x22], [0xe0, 0x9f, 0xbf], [0xe1, 0x80],
      [0xed, 0xa0, 0x80],
      [0xef, 0xbf, 0xc0], [0xf0, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff],
      [0xf0, 0x9f, 0x98],
    ] as [[UInt8]]) func malformedUTF8IsRefused(bytes: [UInt8])
  {
    #expect(Self.reason([0x22] + bytes + [0x22]) == .noUTF8)
    #expect(Self.reason([0x22] + bytes) == .noUTF8)
  }

  @Test func errorsSayWhere() {
    do throws(JSONError) {
      _ = try JSONDocument(Array("[1,\n x]".utf8), limits: JSONLimits(bytes: 100))
      Issue.record("it was accepted")
    } catch {
      #expect(error == JSONError(.noValue, at: 5) && error.description == "byte 5: a value is expected")
    }
  }

  @Test func valuesAreWhatTheTextSays() throws {
    let text = #"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é","b":[true,null,-1.50],"c":{"b":{}}}"#
    let root = try #require(Self.read(text))
    let fields = try #require(root.fields)
    #expect(fields["a"]?.text == "\"\\/\u{8}\u{c}\n\r\té😀é")
    let list = try #require(fields["b"]?.elements)
    #expect(list.count == 3 && list[0].bool == true && list[1].isNull && list[2].number == "-1.50")
    #expect(list[2].float(Double.self) == -1.5 && list[2].integer(Int.self) == nil && list[2].text == nil)
    #expect(fields["c"]?.fields?["b"]?.members?.isEmpty == true && fields["c"]?.offset == text.utf8.count - 9)
    #expect(root.members?.map { $0.name.text } == ["a", "b", "c"])
    #expect(Self.read(#"{"a":1,"b":2,"a":3}"#)?.fields == nil && Self.read(#"{"a":1,"a":3}"#)?.members?.count == 2)
  }

  @Test func numbersAreNeverForcedIntoATypeThatCannotHoldThem() throws {
    func number(_ text: String) -> JSONValue? { Self.read(text) }
    #expect(number("1e19")?.integer(Int.self) == nil && number("-1e400")?.integer(Int64.self) == nil)
    #expect(number("9223372036854775807")?.integer(Int.self) == .max)
    #expect(number("9223372036854775808")?.integer(Int.self) == nil)
    #expect(number("18446744073709551615")?.integer(UInt64.self) == .max)
    #expect(number("256")?.integer(UInt8.self) == nil && number("-1")?.integer(UInt.self) == nil)
    #expect(number("1.0")?.integer(Int.self) == 1 && number("12e2")?.integer(Int.self) == 1200)
    #expect(number("9007199254740993.0")?.integer(Int.self) == 9_007_199_254_740_992)
    #expect(number("9007199254740994.0")?.integer(Int.self) == nil && number("1.5")?.integer(Int.self) == nil)
    #expect(number("1e400")?.float(Double.self) == nil && number("1e39")?.float(Float.self) == nil)
    #expect(number("1e-400")?.float(Double.self) == 0)
    #expect(number(String(repeating: "9", count: 512))?.float(Double.self) == nil)
  }

  /// Processor time of this thread that a piece of work takes, nanoseconds: the least of five.
  private func cost(_ work: () -> Void) -> Int64 {
    func now() -> Int64 {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
    return (0..<5).map { _ in
      let began = now()
      work()
      return now() - began
    }.min() ?? 0
  }

  /// One pass, whatever the text: ten times the text, at most thirty times the work.
  @Test func theWorkIsLinear() {
    let bodies: [(String, (Int) -> String)] = [
      ("brackets", { String(repeating: "[", count: $0) }),
      ("lists", { "[" + String(repeating: "[],", count: $0 / 3) + "0]" }),
      ("text", { "\"" + String(repeating: "a", count: $0) + "\"" }),
      ("escapes", { "\"" + String(repeating: "\\u00e9", count: $0 / 6) + "\"" }),
      ("names", { "{" + String(repeating: "\"a\":0,", count: $0 / 6) + "\"b\":0}" }),
      ("digits", { String(repeating: "1", count: $0) }),
    ]
    for (name, body) in bodies {
      func cost(_ size: Int) -> Int64 {
        let bytes = Array(body(size).utf8)
        let limits = JSONLimits(bytes: .max, values: .max)
        return self.cost { _ = (try? JSONDocument(bytes, limits: limits))?.root.member("b") }
      }
      let (small, large) = (cost(50_000), cost(500_000))
      #expect(large < small * 30 + 1_000_000, "\(name): \(small) ns, \(large) ns")
    }
  }
}
