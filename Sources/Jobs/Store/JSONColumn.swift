import Foundation
import MediaCore

/// Values as JSON text for the database: sorted keys, so that equal values are equal texts.
enum JSONColumn {
  /// What a job grows to, and much more.
  private static let limits = JSONLimits(bytes: 16 << 20, values: 1_000_000)

  static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  static func decode<Value: Decodable>(_ type: Value.Type, _ text: String?) throws -> Value {
    try BoundedJSON.decode(type, from: Array((text ?? "").utf8), limits: limits)
  }
}
