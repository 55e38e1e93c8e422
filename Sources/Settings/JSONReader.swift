/// Reads JSON (RFC 8259) with the places of its values. Total: any text gives a value or an error. Members keep their
/// order; a name that occurs twice is an error.
struct JSONReader {
  private let bytes: [UInt8]
  private let file: String
  private var position = 0
  private var line = 1
  private var lineStart = 0
  private var count = 0

  private init(_ text: String, file: String) {
    bytes = Array(text.utf8)
    self.file = file
  }

  /// The value of a whole file.
  static func read(_ text: String, file: String) throws(LayoutError) -> DataNode {
    var reader = JSONReader(text, file: file)
    // A byte order mark may be ignored (RFC 8259, section 8.1).
    if reader.bytes.starts(with: [0xef, 0xbb, 0xbf]) { reader.position = 3 }
    let node = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.position == reader.bytes.count else { throw reader.error("nothing may follow the value") }
    return node
  }

  private var column: Int { position - lineStart + 1 }
  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func error(_ text: String) -> LayoutError { LayoutError("\(file):\(line):\(column): \(text)") }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) {
      position += 1
      if byte == 0x0a {
        line += 1
        lineStart = position
      }
    }
  }

  private mutating func take(_ byte: Character) -> Bool {
    guard let next, next == byte.asciiValue else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(LayoutError) -> DataNode {
    skipSpace()
    let (line, column) = (line, column)
    count += 1
    guard count <= DataNode.maximumNodes, depth <= DataNode.maximumDepth else {
      throw error("too many values for a layout")
    }
    let value: DataNode.Value
    switch next {
    case UInt8(ascii: "{"): value = try object(depth: depth)
    case UInt8(ascii: "["): value = try array(depth: depth)
    case UInt8(ascii: "\""): value = .scalar(try string(), isString: true)
    case nil: throw error("the file ends where a value is expected")
    default: value = try word()
    }
    return DataNode(value, line: line, column: column)
  }

  private mutating func object(depth: Int) throws(LayoutError) -> DataNode.Value {
    position += 1
    var members: [(key: DataNode, value: DataNode)] = []
    var names = Set<String>()
    skipSpace()
    if take("}") { return .map(members) }
    while true {
      skipSpace()
      let (line, column) = (line, column)
      guard next == UInt8(ascii: "\"") else { throw error("a name in double quotes is expected") }
      let name = try string()
      guard names.insert(name).inserted else { throw LayoutError("\(file):\(line):\(column): given twice: '\(name)'") }
      skipSpace()
      guard take(":") else { throw error("':' is expected") }
      let key = DataNode(.scalar(name, isString: true), line: line, column: column)
      members.append((key, try value(depth: depth + 1)))
      skipSpace()
      if take("}") { return .map(members) }
      guard take(",") else { throw error("',' or '}' is expected") }
    }
  }

  private mutating func array(depth: Int) throws(LayoutError) -> DataNode.Value {
    position += 1
    var items: [DataNode] = []
    skipSpace()
    if take("]") { return .list(items) }
    while true {
      items.append(try value(depth: depth + 1))
      skipSpace()
      if take("]") { return .list(items) }
      guard take(",") else { throw error("',' or ']' is expected") }
    }
  }

  /// A number, `true`, `false` or `null`.
  private mutating func word() throws(LayoutError) -> DataNode.Value {
    let start = position
    while let byte = next, isWordByte(byte) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if text == "null" { return .null }
    guard text == "true" || text == "false" || isNumber(text) else {
      position = start
      throw error(text.isEmpty ? "a value is expected" : "'\(text.prefix(40))' is no JSON value")
    }
    return .scalar(text, isString: false)
  }

  private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private func isNumber(_ text: String) -> Bool {
    var rest = Substring(text)
    func digits() -> Int {
      let run = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest.dropFirst(run.count)
      return run.count
    }
    if rest.first == "-" { rest.removeFirst() }
    let startsWithZero = rest.first == "0"
    let whole = digits()
    guard whole > 0, !(startsWithZero && whole > 1) else { return false }
    if rest.first == "." {
      rest.removeFirst()
      guard digits() > 0 else { return false }
    }
    if rest.first == "e" || rest.first == "E" {
      rest.removeFirst()
      if rest.first == "+" || rest.first == "-" { rest.removeFirst() }
      guard digits() > 0 else { return false }
    }
    return rest.isEmpty
  }

  private mutating func string() throws(LayoutError) -> String {
    position += 1
    var result: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: result, as: UTF8.self)
      case UInt8(ascii: "\\"): try escape(into: &result)
      case 0..<0x20: throw error("a control character in a string")
      default: result.append(byte)
      }
    }
    throw error("the string is not closed")
  }

  private mutating func escape(into result: inout [UInt8]) throws(LayoutError) {
    guard let byte = next else { throw error("the string is not closed") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(byte)
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(0x0c)
    case UInt8(ascii: "n"): result.append(0x0a)
    case UInt8(ascii: "r"): result.append(0x0d)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      // A pair of surrogates stands for one character beyond the first plane.
      if (0xd800..<0xdc00).contains(code), take("\\") {
        guard take("u") else { throw error("half a character") }
        let low = try hexadecimal()
        guard (0xdc00..<0xe000).contains(low) else { throw error("half a character") }
        code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw error("half a character") }
      result.append(contentsOf: String(Character(scalar)).utf8)
    default: throw error("an unknown escape in a string")
    }
  }

  private mutating func hexadecimal() throws(LayoutError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw error("four hexadecimal digits are expected")
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }
}
