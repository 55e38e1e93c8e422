/// A value that no text shows: a token, a key, a password. Printed, interpolated, reflected or dumped, alone or as a part
/// of something, it reads `[hidden]`; only who asks for the value itself gets it.
///
/// Written as a property wrapper, so that a type that holds a secret stays as it is for those who use it:
/// `@Redacted var apiSecret: String`. It is stored as the value is, and encoded as the value is.
@propertyWrapper public struct Redacted<Value> {
  /// The value itself.
  public var wrappedValue: Value

  /// Hides a value.
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  /// Hides a value that is no property.
  public init(_ value: Value) { wrappedValue = value }
}

extension Redacted: Sendable where Value: Sendable {}
extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}
extension Redacted: Undisclosed {}

extension Redacted: Encodable where Value: Encodable {
  /// Writes the value in the open: for what is sent to somebody who is to know it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}

extension Redacted: Decodable where Value: Decodable {
  /// Reads the value.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(Value.self))
  }
}

extension KeyedDecodingContainer {
  /// What the compiler's own decoding asks for a hidden optional: a key that is missing is nil, as it is without hiding.
  public func decode<Value: Decodable>(_: Redacted<Value?>.Type, forKey key: Key) throws -> Redacted<Value?> {
    Redacted(try decodeIfPresent(Value.self, forKey: key))
  }
}

extension KeyedEncodingContainer {
  /// The counterpart: nil is left out.
  public mutating func encode<Value: Encodable>(_ value: Redacted<Value?>, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue, forKey: key)
  }
}

/// A type of which no text shows more than that it is there, since something in it is secret: for enumerations, whose
/// cases cannot have a hidden property.
public protocol Undisclosed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Undisclosed {
  /// `[hidden]`.
  public var description: String { PeerText.hidden }
  /// `[hidden]`.
  public var debugDescription: String { PeerText.hidden }
  /// Without children, so that `dump` finds nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
