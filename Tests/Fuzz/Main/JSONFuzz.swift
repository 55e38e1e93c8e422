import Foundation
import MediaCore

/// The door for JSON and the decoder over it. What it accepts, Foundation accepts too and means the same by it; there are
/// three things that Foundation reads otherwise, and inputs with those are only read here. The first byte chooses limits.
func fuzzJSON(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let text = Array(bytes.dropFirst())
  let depth = choice & 1 != 0 ? 64 : Int(choice >> 4)
  let limits = JSONLimits(bytes: choice & 2 != 0 ? 1 << 20 : 100, depth: depth, values: choice & 4 != 0 ? 100_000 : 50)
  let ours = try? BoundedJSON.decode(JSONTree.self, from: text, limits: limits)
  do throws(JSONError) {
    let document = try JSONDocument(text, limits: limits)
    walk(document.root, depth: depth, text.count)
  } catch {
    precondition(ours == nil, "what is refused has a value")
    precondition((0...max(text.count, limits.bytes)).contains(error.offset), "an error outside of the text")
    return
  }
  // Names given twice are refused by the decoder, not by the door; a zero with an exponent, and numbers at the ends of
  // what a Double can hold, are no numbers to Foundation.
  guard let ours, !hasOddNumbers(text) else { return }
  guard let theirs = try? JSONDecoder().decode(JSONTree.self, from: Data(text)) else {
    preconditionFailure("Foundation refuses what is accepted here")
  }
  precondition(theirs == ours, "Foundation reads something else")
}

/// Asks a value for everything.
private func walk(_ value: JSONValue, depth: Int, _ count: Int) {
  precondition(depth >= 0 && (0..<max(1, count)).contains(value.offset), "a value outside of the text, or too deep")
  _ = (value.integer(Int8.self), value.integer(UInt64.self), value.float(Float.self), value.float(Double.self))
  let kinds = [value.isNull, value.bool != nil, value.number != nil, value.text != nil, value.elements != nil]
  precondition((kinds + [value.members != nil]).count { $0 } == 1, "a value of two kinds, or of none")
  for element in value.elements ?? [] { walk(element, depth: depth - 1, count) }
  for (name, member) in value.members ?? [] {
    precondition(name.text != nil, "a member without a name")
    walk(member, depth: depth - 1, count)
  }
}

private func hasOddNumbers(_ text: [UInt8]) -> Bool {
  text.contains(UInt8(ascii: "e")) || text.contains(UInt8(ascii: "E")) || text.count > 300 || text.contains(0)
}

/// Any JSON at all, as a type decodes it.
indirect enum JSONTree: Decodable, Equatable {
  case null, bool(Bool), number(Double), text(String), list([JSONTree]), map([String: JSONTree])

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    if let map = try? decoder.container(keyedBy: Key.self) {
      var values: [String: JSONTree] = [:]
      for key in map.allKeys { values[key.stringValue] = try map.decode(JSONTree.self, forKey: key) }
      self = .map(values)
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [JSONTree] = []
      while !list.isAtEnd { values.append(try list.decode(JSONTree.self)) }
      self = .list(values)
    } else {
      let value = try decoder.singleValueContainer()
      if value.decodeNil() {
        self = .null
      } else if let bool = try? value.decode(Bool.self) {
        self = .bool(bool)
      } else if let text = try? value.decode(String.self) {
        self = .text(text)
      } else {
        self = .number(try value.decode(Double.self))
      }
    }
  }
}
