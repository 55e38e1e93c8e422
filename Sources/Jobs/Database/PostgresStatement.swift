/// How the stores' statements are written for libpq.
enum PostgresStatement {
  private enum Place {
    case code
    /// In a literal or a quoted identifier, which end with this character. Twice, it stands for itself.
    case quoted(UInt8)
    /// In a comment that ends with its line.
    case line
    /// In comments that end with `*/`, so many one in the other.
    case block(Int)
  }

  /// A statement whose parameters `?1`, `?2` … are written `$1`, `$2` …; what stands in literals, quoted identifiers and
  /// comments stays as it is. The stores use no literals with escapes (`E'…'`) and none between dollars.
  static func numbered(_ sql: String) -> String {
    let bytes = Array(sql.utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    var place = Place.code
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let pair = (byte, index + 1 < bytes.count ? bytes[index + 1] : 0)
      var length = 1
      switch place {
      case .code:
        switch pair {
        case (UInt8(ascii: "'"), _), (UInt8(ascii: "\""), _): place = .quoted(byte)
        case (UInt8(ascii: "-"), UInt8(ascii: "-")): place = .line
        case (UInt8(ascii: "/"), UInt8(ascii: "*")): (place, length) = (.block(1), 2)
        default: break
        }
      case .quoted(let end): if byte == end { place = .code }
      case .line: if byte == UInt8(ascii: "\n") { place = .code }
      case .block(let depth):
        switch pair {
        case (UInt8(ascii: "*"), UInt8(ascii: "/")): (place, length) = (depth == 1 ? .code : .block(depth - 1), 2)
        case (UInt8(ascii: "/"), UInt8(ascii: "*")): (place, length) = (.block(depth + 1), 2)
        default: break
        }
      }
      if case .code = place, byte == UInt8(ascii: "?"), (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(pair.1) {
        text.append(UInt8(ascii: "$"))
      } else {
        text += bytes[index..<index + length]
      }
      index += length
    }
    return String(decoding: text, as: UTF8.self)
  }
}
