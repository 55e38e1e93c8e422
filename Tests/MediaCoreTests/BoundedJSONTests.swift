import Foundation
import MediaCore
import Testing

/// `Decodable` types over the door: as with Foundation's decoder where that does not trap.
@Suite struct BoundedJSONTests {
  struct Person: Codable, Hashable {
    enum Kind: String, Codable { case host, guest }
    var name: String
    var kind: Kind?
    var ages: [Int8]?
    var more: [String: Double]?
    var best: [Person]?
  }

  enum Order: Codable, Hashable {
    case stop
    case go(to: String, times: UInt32)
    case pick(Int)
  }

  static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try BoundedJSON.decode(type, from: Array(text.utf8), limits: JSONLimits(bytes: 1 << 20))
  }

  /// Kind of the error and the path that it names.
  static func fault<Value: Decodable>(_ type: Value.Type, _ text: String) -> String {
    func path(_ context: DecodingError.Context) -> String {
      context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
    }
    do {
      return "\(try decode(type, text))"
    } catch DecodingError.keyNotFound(let key, let context) {
      return "missing \(path(context)).\(key.stringValue)"
    } catch DecodingError.valueNotFound(_, let context) {
      return "null \(path(context))"
    } catch DecodingError.typeMismatch(_, let context) {
      return "type \(path(context))"
    } catch DecodingError.dataCorrupted(let context) {
      return "corrupted \(path(context))" + (context.underlyingError is JSONError ? " no JSON" : "")
    } catch {
      return "\(error)"
    }
  }

  @Test func strictReadingRefusesMembersThatNobodyAsksFor() throws {
    struct Outer: Decodable {
      struct Inner: Decodable {
        var path: String?
        enum CodingKeys: String, CodingKey, CaseIterable { case path }
      }
      var list: [Inner]
      var free: [String: String]
    }
    func read(_ text: String, isStrict: Bool) throws -> Outer {
      try BoundedJSON.decode(
        Outer.self, from: Array(text.utf8), limits: JSONLimits(bytes: 1000), isStrict: isStrict)
    }
    let good = #"{"list":[{"path":"a"}],"free":{"anything":"b"}}"#
    #expect(try read(good, isStrict: true).list.first?.path == "a")
    let bad = #"{"list":[{"pth":"a"}],"free":{}}"#
    #expect(try read(bad, isStrict: false).list.count == 1)
    #expect { try read(bad, isStrict: true) } throws: { error in
      guard case DecodingError.dataCorrupted(let context) = error else { return false }
      return context.debugDescription.contains("did you mean 'path'?") && context.codingPath.last?.stringValue == "pth"
    }
    #expect(throws: DecodingError.self) { try read(#"{"list":[],"free":{},"more":1}"#, isStrict: true) }
  }

  @Test func valuesComeBack() throws {
    let person = Person(
      name: "Ann \"é😀\u{1}", kind: .guest, ages: [-128, 127], more: ["a.b": 0.1, "": -1e300],
      best: [Person(name: ""), Person(name: "Bo", best: [])])
    let text = String(decoding: try JSONEncoder().encode(person), as: UTF8.self)
    #expect(try Self.decode(Person.self, text) == person)
    for order in [Order.stop, .go(to: "x", times: .max), .pick(-1)] {
      #expect(try Self.decode([Order].self, String(decoding: JSONEncoder().encode([order]), as: UTF8.self)) == [order])
    }
    #expect(try Self.decode([Int: String].self, #"{"1":"a"}"#) == [1: "a"])
    #expect(try Self.decode([String?].self, #"["a",null]"#) == ["a", nil])
    #expect(try Self.decode(Int?.self, "null") == nil && Self.decode(Double.self, "2") == 2)
    #expect(try Self.decode(Bool.self, "true") && Self.decode(Int.self, "1.0") == 1)
    #expect(try Self.decode([Person].self, #"[{"name":"a","unknown":{"x":[1e999]}}]"#) == [Person(name: "a")])
  }

  @Test(arguments: [
    ("[]", "type "), ("null", "null "), ("{}", "missing .name"), (#"{"name":null}"#, "null name"),
    (#"{"name":1}"#, "type name"), (#"{"name":"a","kind":"x"}"#, "corrupted kind"),
    (#"{"name":"a","ages":[1,128]}"#, "corrupted ages.1"), (#"{"name":"a","ages":[1e19]}"#, "corrupted ages.0"),
    (#"{"name":"a","ages":[1.5]}"#, "corrupted ages.0"), (#"{"name":"a","ages":["1"]}"#, "type ages.0"),
    (#"{"name":"a","ages":[null]}"#, "null ages.0"), (#"{"name":"a","ages":{}}"#, "type ages"),
    (#"{"name":"a","more":{"x":1e400}}"#, "corrupted more.x"), (#"{"name":"a","more":[]}"#, "type more"),
    (#"{"name":"a","best":[{}]}"#, "missing best.0.name"), (#"{"name":"a","name":"b"}"#, "corrupted "),
    (#"{"name":"a","best":[{"name":"a","name":"a"}]}"#, "corrupted best.0"), ("{", "corrupted  no JSON"),
    ("", "corrupted  no JSON"), (String(repeating: "[", count: 513), "corrupted  no JSON"),
  ]) func faultsAreToldWithTheirPath(text: String, fault: String) {
    #expect(Self.fault(Person.self, text) == fault)
  }

  @Test func aContainerThatIsAtItsEndSaysSo() throws {
    struct Greedy: Decodable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        for _ in 0..<3 { _ = try list.decode(Int.self) }
      }
    }
    #expect(Self.fault(Greedy.self, "[1,2]") == "null 2")
  }

  /// Any JSON at all.
  indirect enum Tree: Decodable, Hashable {
    case null, bool(Bool), number(Double), text(String), list([Tree]), map([String: Tree])

    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      if let map = try? decoder.container(keyedBy: Key.self) {
        self = .map(
          Dictionary(
            uniqueKeysWithValues: try map.allKeys.map { ($0.stringValue, try map.decode(Tree.self, forKey: $0)) }))
      } else if var list = try? decoder.unkeyedContainer() {
        var values: [Tree] = []
        while !list.isAtEnd { values.append(try list.decode(Tree.self)) }
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

  static let texts = [
    #"{"a":1,"b":[true,false,null,-0.5e+3,"x\u00e9\n\ud83d\ude00é😀"],"c":{"d":{}, "e" : [ ] }}"#,
    #"[1,2,3,{"x":"y"}]"#, #""é""#, "-1.0", "12e5", #"{"z":[[[[1]]]]}"#,
  ]

  /// What is accepted here means the same to Foundation. (That takes more: commas behind the last value, NULs, UTF-16,
  /// names given twice; and less: a zero with an exponent.)
  @Test(arguments: 0..<4 as Range<UInt64>) func damagedTextsMeanTheSameAsToFoundation(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let signs = Array("{}[]\",:.-+0123456789eEtrufalsn\\ \n\t".utf8)
    for _ in 0..<3000 {
      var bytes = Array((Self.texts.randomElement(using: &random) ?? "").utf8)
      for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[at] = signs.randomElement(using: &random) ?? 0
        case 2: bytes.remove(at: at)
        default: bytes.insert(signs.randomElement(using: &random) ?? 0, at: at)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard !text.lowercased().contains("0e"),
        let ours = try? BoundedJSON.decode(Tree.self, from: bytes, limits: JSONLimits(bytes: 4096))
      else { continue }
      #expect((try? JSONDecoder().decode(Tree.self, from: Data(bytes))) == ours, "seed \(seed): \(text)")
    }
  }
}
