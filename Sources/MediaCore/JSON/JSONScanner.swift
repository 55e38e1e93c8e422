/// The one pass over a JSON text (RFC 8259): its grammar, its UTF-8 (RFC 3629) and its limits are checked, and the
/// places of its values noted.
struct JSONScanner {
  private(set) var nodes: [JSONDocument.Node] = []
  private let bytes: [UInt8]
  private let limits: JSONLimits
  private var position = 0
  /// The nodes of the arrays and objects that are open.
  private var open: [Int] = []

  private static let longestNumber = 512
  private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  init(_ bytes: [UInt8], limits: JSONLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  /// Checks the whole text.
  mutating func scan() throws(JSONError) {
    // RFC 8259, section 8.1: a mark may be ignored.
    if bytes.starts(with: Self.byteOrderMark) { position = 3 }
    nodes.reserveCapacity(min(max(0, limits.values), bytes.count / 8 + 1))
    repeat { try value() } while try toNextValue()
    skipSpace()
    if position < bytes.count { throw error(.more) }
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason, at: position) }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func add(_ kind: JSONDocument.Kind, _ start: Int, _ end: Int) throws(JSONError) {
    guard nodes.count < limits.values else { throw JSONError(.tooMany, at: start) }
    nodes.append(
      JSONDocument.Node(
        kind: kind, start: Int32(truncatingIfNeeded: start), end: Int32(truncatingIfNeeded: end),
        next: Int32(truncatingIfNeeded: nodes.count + 1)))
  }

  /// A value; of an array and an object only the beginning.
  private mutating func value() throws(JSONError) {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): try begin(.object)
    case UInt8(ascii: "["): try begin(.array)
    case UInt8(ascii: "\""): try string()
    case nil: throw error(.end)
    default: try word()
    }
  }

  private mutating func begin(_ kind: JSONDocument.Kind) throws(JSONError) {
    guard open.count < limits.depth else { throw error(.tooDeep) }
    try add(kind, position, position)
    open.append(nodes.count - 1)
    position += 1
  }

  /// Goes on behind a value, or behind the beginning of an array or an object, to where the next value must stand;
  /// false when there is none.
  private mutating func toNextValue() throws(JSONError) -> Bool {
    while let container = open.last {
      let isObject = nodes[container].kind == .object
      let isEmpty = container == nodes.count - 1
      skipSpace()
      if take(isObject ? "}" : "]") {
        open.removeLast()
        nodes[container].next = Int32(truncatingIfNeeded: nodes.count)
        continue
      }
      if !isEmpty {
        guard take(",") else { throw error(isObject ? .noCommaInObject : .noCommaInArray) }
        skipSpace()
      }
      if isObject {
        guard next == UInt8(ascii: "\"") else { throw error(.noName) }
        try string()
        skipSpace()
        guard take(":") else { throw error(.noColon) }
      }
      return true
    }
    return false
  }

  // MARK: Words

  /// A number, `true`, `false` or `null`.
  private mutating func word() throws(JSONError) {
    let start = position
    let kind: JSONDocument.Kind?
    switch next {
    case UInt8(ascii: "n"): kind = skip("null") ? .null : nil
    case UInt8(ascii: "t"): kind = skip("true") ? .yes : nil
    case UInt8(ascii: "f"): kind = skip("false") ? .no : nil
    case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte): kind = skipNumber() ? .number : nil
    default: throw error(.noValue)
    }
    guard let kind else { throw JSONError(.noWord, at: start) }
    guard position - start <= Self.longestNumber else { throw JSONError(.longNumber, at: start) }
    try add(kind, start, position)
  }

  private mutating func skip(_ word: StaticString) -> Bool {
    for at in 0..<word.utf8CodeUnitCount {
      guard next == word.utf8Start[at] else { return false }
      position += 1
    }
    return true
  }

  /// RFC 8259, section 6; false when it is no number.
  private mutating func skipNumber() -> Bool {
    _ = take("-")
    let start = position
    guard skipDigits(), bytes[start] != UInt8(ascii: "0") || position == start + 1 else { return false }
    if take("."), !skipDigits() { return false }
    if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
      position += 1
      if !take("+") { _ = take("-") }
      return skipDigits()
    }
    return true
  }

  /// False when there is none.
  private mutating func skipDigits() -> Bool {
    let start = position
    while let byte = next, Self.isDigit(byte) { position += 1 }
    return position > start
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  // MARK: Strings

  private mutating func string() throws(JSONError) {
    position += 1
    let start = position
    var kind = JSONDocument.Kind.text
    while true {
      skipPlain()
      guard let byte = next else { throw error(.open) }
      switch byte {
      case UInt8(ascii: "\""):
        try add(kind, start, position)
        position += 1
        return
      case UInt8(ascii: "\\"):
        kind = .escapedText
        try escape()
      case 0..<0x20: throw error(.control)
      default:
        let count = sequence()
        guard count > 0 else { throw error(.noUTF8) }
        position += count
      }
    }
  }

  /// Goes on to the first byte that isn't a plain character of ASCII: most of most texts.
  private mutating func skipPlain() {
    position = bytes.withUnsafeBufferPointer { bytes in
      var at = position
      while at < bytes.count {
        let byte = bytes[at]
        if byte &- 0x20 >= 0x60 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
        at += 1
      }
      return at
    }
  }

  /// How many bytes the character has that begins here: 2 to 4; 0 when they are none (Unicode, table 3-7).
  private func sequence() -> Int {
    // The bounds of the second byte are narrower behind four of the first ones.
    let (count, low, high): (Int, UInt8, UInt8) =
      switch bytes[position] {
      case 0xc2...0xdf: (2, 0x80, 0xbf)
      case 0xe0: (3, 0xa0, 0xbf)
      case 0xed: (3, 0x80, 0x9f)
      case 0xe1...0xef: (3, 0x80, 0xbf)
      case 0xf0: (4, 0x90, 0xbf)
      case 0xf1...0xf3: (4, 0x80, 0xbf)
      case 0xf4: (4, 0x80, 0x8f)
      default: (0, 0, 0)
      }
    guard count > 0, bytes.count - position >= count else { return 0 }
    let second = bytes[position + 1]
    guard second >= low, second <= high, count < 3 || bytes[position + 2] & 0xc0 == 0x80,
      count < 4 || bytes[position + 3] & 0xc0 == 0x80
    else { return 0 }
    return count
  }

  private mutating func escape() throws(JSONError) {
    position += 1
    guard let byte = next else { throw error(.open) }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      position += 1
      let code = try hexadecimal()
      guard 0xd800..<0xe000 ~= code else { return }
      // A pair of surrogates stands for one character beyond the first plane.
      guard code < 0xdc00, take("\\"), take("u"), 0xdc00..<0xe000 ~= (try hexadecimal()) else {
        throw error(.surrogate)
      }
    default: throw error(.escape)
    }
  }

  private mutating func hexadecimal() throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = next.flatMap(Self.digit) else { throw error(.digits) }
      code = code << 4 | digit
      position += 1
    }
    return code
  }

  /// The value of a hexadecimal digit.
  static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 48
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte) - 55
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte) - 87
    default: nil
    }
  }
}
