/// Who reads what is written as JSON. The store and workers have everything, and spans in the units in which they are
/// kept; callers have what is theirs to know, with one unit, the second, that stands in each name. Both forms are read.
public enum Audience: Hashable, Sendable {
  /// The store and workers; also when nothing is said.
  case workers
  /// Callers of the API, and receivers of webhooks.
  case callers

  /// Where an encoder has it.
  public static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "recbot.audience") else { preconditionFailure("a key of a text") }
    return key
  }()
}

extension Encoder {
  /// True when callers read it.
  var isForCallers: Bool { userInfo[Audience.key] as? Audience == .callers }
}

/// Spans in seconds, to the microsecond.
enum Seconds {
  /// Microseconds as seconds.
  static func of(microseconds: Int64) -> Double { Double(microseconds) / 1_000_000 }

  /// Seconds as microseconds; nil for what is none.
  static func microseconds(_ seconds: Double) -> Int64? { Int64(exactly: (seconds * 1_000_000).rounded()) }
}

extension KeyedDecodingContainer {
  /// A span in microseconds, from seconds under one name or microseconds under another.
  func microseconds(seconds: Key, microseconds: Key) throws -> Int64 {
    guard let value = try decodeIfPresent(Double.self, forKey: seconds) else {
      return try decode(Int64.self, forKey: microseconds)
    }
    guard let span = Seconds.microseconds(value) else {
      throw DecodingError.dataCorruptedError(forKey: seconds, in: self, debugDescription: "is too long")
    }
    return span
  }

  /// The value under the first of some names that is there.
  func decodeFirst<Value: Decodable>(_ type: Value.Type, _ keys: Key...) throws -> Value? {
    for key in keys {
      if let value = try decodeIfPresent(type, forKey: key) { return value }
    }
    return nil
  }
}
