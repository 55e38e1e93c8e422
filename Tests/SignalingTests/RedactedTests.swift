import Foundation
import MediaCore
import Signaling
import Testing

@Suite struct RedactedTests {
  private static let secret = "geheim-1234"

  private struct Holder: Codable, Hashable {
    var name = "n"
    @Redacted var key: String
    @Redacted var other: String? = nil
  }

  private enum Choice: Undisclosed { case one(String) }

  /// Everything that Swift has to make text of a value.
  static func texts(_ value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return [
      "\(value)", String(reflecting: value), dumped, "\([value])", "\(["k": value])", "\(Optional(value) as Any)",
    ]
  }

  @Test func noTextShowsIt() {
    let values: [Any] = [
      Redacted(Self.secret), Holder(key: Self.secret, other: Self.secret), [Holder(key: Self.secret)],
      Choice.one(Self.secret), (Holder(key: Self.secret), 1),
    ]
    for value in values {
      for text in Self.texts(value) { #expect(!text.contains(Self.secret), "\(text)") }
    }
    #expect("\(Holder(key: Self.secret))" == "Holder(name: \"n\", _key: [hidden], _other: [hidden])")
    #expect(Holder(key: Self.secret).key == Self.secret)
  }

  @Test func itIsCodedAsItsValueIs() throws {
    let holder = Holder(key: Self.secret)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(holder), as: UTF8.self) == #"{"key":"geheim-1234","name":"n"}"#)
    for (json, other) in [
      (#"{"key":"k","name":"n"}"#, nil), (#"{"key":"k","name":"n","other":null}"#, nil),
      (#"{"key":"k","name":"n","other":"o"}"#, "o"),
    ] {
      #expect(try JSONDecoder().decode(Holder.self, from: Data(json.utf8)) == Holder(key: "k", other: other))
    }
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Holder.self, from: Data(#"{"name":"n"}"#.utf8)) }
  }

  @Test func aQueryHidesItsToken() {
    var query = SignalQuery()
    query.accessToken = Self.secret
    for text in Self.texts(query) { #expect(!text.contains(Self.secret)) }
    #expect(query.text.contains(Self.secret))
  }
}
