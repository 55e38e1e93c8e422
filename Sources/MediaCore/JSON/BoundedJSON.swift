/// Values of `Decodable` types from JSON that comes from outside, through the door that `JSONDocument` is.
public enum BoundedJSON {
  /// The value that bytes are. Throws `DecodingError` only: what is no JSON, or more than the limits allow, is
  /// `dataCorrupted` at the root with a `JSONError` beneath; a number that its type can't hold is `dataCorrupted` where
  /// it stands, and so is an object with a name twice. Members that the type doesn't know are no error, unless
  /// `isStrict`: then they are `dataCorrupted`, with the nearest name if the type's keys are `CaseIterable`.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], limits: JSONLimits, isStrict: Bool = false
  ) throws -> Value {
    let document: JSONDocument
    do {
      document = try JSONDocument(bytes, limits: limits)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: error.description, underlyingError: error))
    }
    return try document.root.decode(type, isStrict: isStrict)
  }
}

extension JSONValue {
  /// The value as another type; errors as of `BoundedJSON`.
  public func decode<Value: Decodable>(_ type: Value.Type, isStrict: Bool = false) throws -> Value {
    try Value(from: JSONValueDecoder(value: self, path: .root, isStrict: isStrict))
  }
}

/// The way from the root to a value; made into an array only for errors.
indirect enum JSONPath {
  case root
  case member(any CodingKey, of: JSONPath)

  var keys: [any CodingKey] {
    var keys: [any CodingKey] = []
    var path = self
    while case .member(let key, let parent) = path {
      keys.append(key)
      path = parent
    }
    return keys.reversed()
  }
}

/// A key that no type gives: the place in an array, or `super`.
private struct JSONKey: CodingKey {
  var stringValue: String
  var intValue: Int?

  init(stringValue: String) { self.stringValue = stringValue }
  init(intValue: Int) {
    stringValue = "Index \(intValue)"
    self.intValue = intValue
  }
}

/// A value on its way into a type. Nothing in it traps: every fault is a `DecodingError`.
private struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: JSONValue
  let path: JSONPath
  /// Members that nobody asks for are errors.
  let isStrict: Bool

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func member(_ key: any CodingKey, _ value: JSONValue) -> JSONValueDecoder {
    JSONValueDecoder(value: value, path: .member(key, of: path), isStrict: isStrict)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard value.members != nil else { throw mismatch([String: Any].self) }
    guard let fields = value.fields else { throw corrupted("A name is given twice.") }
    if isStrict, let stranger = fields.keys.sorted().first(where: { Key(stringValue: $0) == nil }) {
      let keys = type as? any CaseIterable.Type
      throw unknown(stranger, among: keys.map { Self.names($0) } ?? [])
    }
    return KeyedDecodingContainer(JSONFields<Key>(decoder: self, fields: fields))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.elements else { throw mismatch([Any].self) }
    return JSONElements(decoder: self, elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  // MARK: Single values

  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try given(value.bool, type) }
  func decode(_ type: String.Type) throws -> String { try given(value.text, type) }
  func decode(_ type: Double.Type) throws -> Double { try number(value.float(type), type) }
  func decode(_ type: Float.Type) throws -> Float { try number(value.float(type), type) }
  func decode(_ type: Int.Type) throws -> Int { try number(value.integer(type), type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try number(value.integer(type), type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try number(value.integer(type), type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try number(value.integer(type), type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try number(value.integer(type), type) }
  func decode(_ type: UInt.Type) throws -> UInt { try number(value.integer(type), type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try number(value.integer(type), type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try number(value.integer(type), type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try number(value.integer(type), type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try number(value.integer(type), type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

  private func given<Value>(_ value: Value?, _ type: Value.Type) throws -> Value {
    guard let value else { throw mismatch(type) }
    return value
  }

  private func number<Value>(_ number: Value?, _ type: Value.Type) throws -> Value {
    if number == nil, let text = value.number {
      throw corrupted("The number \(text.prefix(40)) does not fit the field.")
    }
    return try given(number, type)
  }

  // MARK: Errors

  func mismatch(_ type: any Any.Type) -> DecodingError {
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: "The value has another type.")
    return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private func unknown(_ name: String, among known: [String]) -> DecodingError {
    let hint = known.isEmpty ? "" : Spelling.hint(for: name, among: known)
    let shown = JSONKey(stringValue: PeerText.line(name, limit: 64))
    return .dataCorrupted(
      .init(codingPath: codingPath + [shown], debugDescription: "is no field of this\(hint)"))
  }

  /// The names that a type of keys has.
  private static func names<Keys: CaseIterable>(_: Keys.Type) -> [String] {
    Keys.allCases.compactMap { ($0 as? any CodingKey)?.stringValue }
  }

  func corrupted(_ text: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: text))
  }
}

/// The members of an object.
private struct JSONFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: JSONValueDecoder
  let fields: [String: JSONValue]

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { fields.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try member(key).value.isNull }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try Value(from: member(key))
  }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try member(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { try superDecoder(JSONKey(stringValue: "super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key) }

  private func member(_ key: Key) throws -> JSONValueDecoder {
    guard let value = fields[key.stringValue] else { throw missing(key) }
    return decoder.member(key, value)
  }

  private func superDecoder(_ key: any CodingKey) throws -> any Decoder {
    guard let value = fields[key.stringValue] else { throw missing(key) }
    return decoder.member(key, value)
  }

  private func missing(_ key: any CodingKey) -> DecodingError {
    .keyNotFound(key, .init(codingPath: codingPath, debugDescription: "The member is missing."))
  }
}

/// The values of an array.
private struct JSONElements: UnkeyedDecodingContainer {
  let decoder: JSONValueDecoder
  let elements: [JSONValue]
  var currentIndex = 0

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  init(decoder: JSONValueDecoder, elements: [JSONValue]) {
    self.decoder = decoder
    self.elements = elements
  }

  mutating func decodeNil() throws -> Bool {
    guard try next(Any.self).value.isNull else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try Value(from: next(type))
    currentIndex += 1
    return value
  }
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let container = try next([String: Any].self).container(keyedBy: type)
    currentIndex += 1
    return container
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try next([Any].self).unkeyedContainer()
    currentIndex += 1
    return container
  }
  mutating func superDecoder() throws -> any Decoder {
    let element = try next(Any.self)
    currentIndex += 1
    return element
  }

  private func next(_ type: any Any.Type) throws -> JSONValueDecoder {
    let key = JSONKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(codingPath: codingPath + [key], debugDescription: "The list has \(elements.count) values."))
    }
    return decoder.member(key, elements[currentIndex])
  }
}
