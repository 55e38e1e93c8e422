/// Unpacks data that was compressed with DEFLATE (RFC 1951), for text streams whose sender packs them. Total: damaged
/// input gives nil, and no more than `limit` bytes are ever made.
struct Inflate {
  /// A canonical Huffman code (RFC 1951 section 3.2.2): how many codes there are of each length, and their symbols in
  /// the order of the codes.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    /// Nil when more codes are there than fit (section 3.2.7 allows fewer).
    init?(lengths: some Collection<UInt8>) {
      for length in lengths { counts[Int(length & 15)] += 1 }
      counts[0] = 0
      var left = 1
      for length in 1...15 {
        left = left * 2 - counts[length]
        if left < 0 { return nil }
      }
      var offsets = [Int](repeating: 0, count: 17)
      for length in 1...15 { offsets[length + 1] = offsets[length] + counts[length] }
      symbols = [Int](repeating: 0, count: lengths.count)
      for (symbol, length) in lengths.enumerated() where length != 0 {
        symbols[offsets[Int(length & 15)]] = symbol
        offsets[Int(length & 15)] += 1
      }
    }
  }

  // RFC 1951 section 3.2.5: lengths and distances by their codes.
  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
  ]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12_289, 16_385, 24_577,
  ]
  private static let distanceBits = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
  ]
  /// The order in which the lengths of the length code stand (section 3.2.7).
  private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private let input: [UInt8]
  private let limit: Int
  private var position = 0
  private var bits: UInt32 = 0
  private var bitCount = 0
  private var output: [UInt8] = []

  private init(_ input: [UInt8], limit: Int) {
    self.input = input
    self.limit = limit
  }

  /// The unpacked bytes; when there are more than `limit`, the first ones and `isCut`.
  static func unpack(_ input: [UInt8], limit: Int) -> (bytes: [UInt8], isCut: Bool)? {
    var inflate = Inflate(input, limit: limit)
    guard inflate.run() || inflate.output.count >= limit else { return nil }
    let isCut = inflate.output.count > limit
    return (isCut ? Array(inflate.output.prefix(limit)) : inflate.output, isCut)
  }

  /// True when the last block ended as it should.
  private mutating func run() -> Bool {
    while true {
      guard let isLast = take(1), let kind = take(2) else { return false }
      let isWhole: Bool
      switch kind {
      case 0: isWhole = stored()
      case 1: isWhole = fixed()
      case 2: isWhole = dynamic()
      default: isWhole = false
      }
      guard isWhole else { return false }
      if isLast == 1 { return true }
    }
  }

  /// The next bits, the lowest first; at most 13 are asked for.
  private mutating func take(_ count: Int) -> Int? {
    while bitCount < count {
      guard position < input.count else { return nil }
      bits |= UInt32(input[position]) << UInt32(bitCount)
      position += 1
      bitCount += 8
    }
    let value = bits & ((1 << UInt32(count)) - 1)
    bits >>= UInt32(count)
    bitCount -= count
    return Int(value)
  }

  private mutating func symbol(_ code: Code) -> Int? {
    var value = 0
    var first = 0
    var index = 0
    for length in 1...15 {
      guard let bit = take(1) else { return nil }
      value |= bit
      let count = code.counts[length]
      if value - count < first { return code.symbols[index + value - first] }
      index += count
      first = (first + count) * 2
      value *= 2
    }
    return nil
  }

  private mutating func stored() -> Bool {
    bits = 0
    bitCount = 0
    guard input.count - position >= 4 else { return false }
    let length = Int(input[position]) | Int(input[position + 1]) << 8
    let check = Int(input[position + 2]) | Int(input[position + 3]) << 8
    position += 4
    guard length == ~check & 0xffff, input.count - position >= length else { return false }
    output += input[position..<(position + length)]
    position += length
    return output.count <= limit
  }

  private mutating func fixed() -> Bool {
    var lengths = [UInt8](repeating: 8, count: 288)
    for symbol in 144..<256 { lengths[symbol] = 9 }
    for symbol in 256..<280 { lengths[symbol] = 7 }
    guard let literals = Code(lengths: lengths), let distances = Code(lengths: [UInt8](repeating: 5, count: 30)) else {
      return false
    }
    return compressed(literals, distances)
  }

  private mutating func dynamic() -> Bool {
    guard let literalCount = take(5), let distanceCount = take(5), let codeCount = take(4) else { return false }
    let total = literalCount + 257 + distanceCount + 1
    guard literalCount <= 29, distanceCount <= 29 else { return false }
    var codeLengths = [UInt8](repeating: 0, count: 19)
    for index in 0..<(codeCount + 4) {
      guard let length = take(3) else { return false }
      codeLengths[Self.lengthOrder[index]] = UInt8(length)
    }
    guard let code = Code(lengths: codeLengths) else { return false }
    var lengths: [UInt8] = []
    while lengths.count < total {
      guard let symbol = symbol(code) else { return false }
      var repeated: UInt8 = 0
      var count = 1
      switch symbol {
      case 0...15: repeated = UInt8(symbol)
      case 16:
        guard let last = lengths.last, let extra = take(2) else { return false }
        (repeated, count) = (last, 3 + extra)
      case 17:
        guard let extra = take(3) else { return false }
        count = 3 + extra
      default:
        guard let extra = take(7) else { return false }
        count = 11 + extra
      }
      guard lengths.count + count <= total else { return false }
      lengths += repeatElement(repeated, count: count)
    }
    guard let literals = Code(lengths: lengths[..<(literalCount + 257)]),
      let distances = Code(lengths: lengths[(literalCount + 257)...])
    else { return false }
    return compressed(literals, distances)
  }

  private mutating func compressed(_ literals: Code, _ distances: Code) -> Bool {
    while output.count <= limit {
      guard let symbol = symbol(literals) else { return false }
      if symbol < 256 {
        output.append(UInt8(symbol))
        continue
      }
      if symbol == 256 { return true }
      let length = symbol - 257
      guard length < Self.lengthBases.count, let extra = take(Self.lengthBits[length]),
        let code = self.symbol(distances), code < Self.distanceBases.count, let more = take(Self.distanceBits[code])
      else { return false }
      let distance = Self.distanceBases[code] + more
      guard distance <= output.count else { return false }
      for _ in 0..<(Self.lengthBases[length] + extra) { output.append(output[output.count - distance]) }
    }
    return false
  }
}
