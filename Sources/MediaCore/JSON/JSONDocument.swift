/// JSON from outside (RFC 8259): the one door. The whole text is checked in one pass, bounded in bytes, depth and number
/// of values, before a value of it is looked at; texts and numbers are converted only when they are asked for. Total:
/// any bytes give a document or an error. No recursion, and memory for what `JSONLimits` allows at most.
///
/// As RFC 8259 leaves it open: a byte order mark is passed over, halves of surrogate pairs are refused, any value may
/// be the whole text.
public final class JSONDocument: Sendable {
  /// What a value is.
  enum Kind: UInt8 {
    case null, no, yes, number, text, escapedText, array, object
  }

  /// A value, in the order of the text; what it contains follows it. An object's names and values take turns.
  struct Node {
    var kind: Kind
    /// Where it stands, in bytes; texts without their quotes.
    var start: Int32
    /// Where it ends; of arrays and objects, where they begin.
    var end: Int32
    /// The index of the first node that is no part of it.
    var next: Int32
  }

  let bytes: [UInt8]
  let nodes: [Node]

  /// Checks a text.
  public init(_ bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
    guard bytes.count <= min(limits.bytes, Int(Int32.max)) else { throw JSONError(.tooLong, at: limits.bytes) }
    var scanner = JSONScanner(bytes, limits: limits)
    try scanner.scan()
    self.bytes = bytes
    nodes = scanner.nodes
  }

  /// The value that the text is.
  public var root: JSONValue { JSONValue(document: self, index: 0) }
}

/// A value of a `JSONDocument`.
public struct JSONValue: Sendable {
  let document: JSONDocument
  let index: Int

  var node: JSONDocument.Node { document.nodes[index] }

  /// Where it stands in the text, in bytes; a text with its quote.
  public var offset: Int {
    switch node.kind {
    case .text, .escapedText: Int(node.start) - 1
    default: Int(node.start)
    }
  }

  /// True for `null`.
  public var isNull: Bool { node.kind == .null }

  /// The value of `true` and `false`; nil for what is neither.
  public var bool: Bool? {
    switch node.kind {
    case .yes: true
    case .no: false
    default: nil
    }
  }

  /// The text of a string, without escapes; nil for what is none.
  public var text: String? {
    let range = Int(node.start)..<Int(node.end)
    switch node.kind {
    case .text: return String(decoding: document.bytes[range], as: UTF8.self)
    case .escapedText: return Self.unescaped(document.bytes[range])
    default: return nil
    }
  }

  /// A number, `true`, `false` or `null` as it is written; nil for everything else.
  public var word: String? {
    switch node.kind {
    case .null, .no, .yes, .number: String(decoding: document.bytes[Int(node.start)..<Int(node.end)], as: UTF8.self)
    default: nil
    }
  }

  /// A number as it is written; nil for what is none.
  public var number: String? { node.kind == .number ? word : nil }

  /// A number that this type can hold; nil for what is none, and for any other number. Numbers with a fraction or an
  /// exponent are whole when their value is, up to 2^53.
  public func integer<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
    guard let number else { return nil }
    if let value = Value(number) { return value }
    guard number.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }),
      let value = Double(number), value.magnitude <= 0x1p53
    else { return nil }
    return Value(exactly: value)
  }

  /// The nearest number of this type; nil for what is no number, and for one that is too large.
  public func float<Value: BinaryFloatingPoint & LosslessStringConvertible>(_: Value.Type) -> Value? {
    guard let number, let value = Value(number), value.isFinite else { return nil }
    return value
  }

  /// The values of an array, in order; nil for what is none.
  public var elements: [JSONValue]? {
    node.kind == .array ? children() : nil
  }

  /// The members of an object in order, names that occur twice among them; nil for what is none.
  public var members: [(name: JSONValue, value: JSONValue)]? {
    guard node.kind == .object else { return nil }
    let children = children()
    return stride(from: 0, to: children.count - 1, by: 2).map { (children[$0], children[$0 + 1]) }
  }

  /// The members of an object by name; nil for what is none, and when a name occurs twice: two readers must not see two
  /// different values.
  public var fields: [String: JSONValue]? {
    guard let members else { return nil }
    var fields: [String: JSONValue] = [:]
    fields.reserveCapacity(members.count)
    for (name, value) in members {
      guard fields.updateValue(value, forKey: name.text ?? "") == nil else { return nil }
    }
    return fields
  }

  /// The only member of an object that has this name (ASCII); nil for what is none, when there is no such member, and
  /// when there are several. Makes no text of the other names.
  public func member(_ name: String) -> JSONValue? {
    guard node.kind == .object else { return nil }
    var found: JSONValue?
    var at = index + 1
    while at < node.next {
      let key = JSONValue(document: document, index: at)
      if key.isText(name) {
        guard found == nil else { return nil }
        found = JSONValue(document: document, index: at + 1)
      }
      at = Int(document.nodes[at + 1].next)
    }
    return found
  }

  private func isText(_ text: String) -> Bool {
    let count = Int(node.end - node.start)
    switch node.kind {
    case .text:
      return count == text.utf8.count && document.bytes[Int(node.start)..<Int(node.end)].elementsEqual(text.utf8)
    // An escape has at most six bytes for one.
    case .escapedText: return count <= 6 * text.utf8.count && self.text == text
    default: return false
    }
  }

  private func children() -> [JSONValue] {
    var result: [JSONValue] = []
    var at = index + 1
    while at < node.next {
      result.append(JSONValue(document: document, index: at))
      at = Int(document.nodes[at].next)
    }
    return result
  }

  /// A string's text; its escapes are known to be right.
  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        result.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0c)
      case UInt8(ascii: "n"): result.append(0x0a)
      case UInt8(ascii: "r"): result.append(0x0d)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"):
        var code = hexadecimal(&rest)
        if 0xd800..<0xdc00 ~= code {
          rest = rest.dropFirst(2)
          code = 0x10000 &+ (code &- 0xd800) << 10 &+ (hexadecimal(&rest) &- 0xdc00)
        }
        result.append(contentsOf: String(Character(Unicode.Scalar(code) ?? "\u{fffd}")).utf8)
      case let byte?: result.append(byte)
      case nil: break
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func hexadecimal(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
    let code = rest.prefix(4).reduce(0 as UInt32) { $0 << 4 | (JSONScanner.digit($1) ?? 0) }
    rest = rest.dropFirst(4)
    return code
  }
}
