// How lengths are written in layout files: `12`, `12px`, `25%`, `1/3`, `0.6gu`, and sums such as `100% - 1.2gu`.

extension Length: CustomStringConvertible {
  /// Reads a sum of at most eight parts; nil when the text isn't one, or has more digits than the unit keeps.
  public init?(text: some StringProtocol) {
    var rest = Substring(text).drop { $0 == " " }
    var sum = Length.zero
    var sign = 1
    for part in 0..<8 {
      if rest.first == "-" || rest.first == "+" {
        sign = rest.first == "-" ? -1 : 1
        rest = rest.dropFirst().drop { $0 == " " }
      } else if part > 0 {
        return nil
      }
      let word = rest.prefix { $0 != " " && $0 != "+" && $0 != "-" }
      guard let value = Length(part: word, sign: sign) else { return nil }
      sum = sum + value
      rest = rest.dropFirst(word.count).drop { $0 == " " }
      if rest.isEmpty {
        self = sum
        return
      }
    }
    return nil
  }

  private init?(part: Substring, sign: Int) {
    if let slash = part.firstIndex(of: "/") {
      let (above, below) = (part[..<slash], part[part.index(after: slash)...])
      guard let over = Length.decimal(above, digits: 0), let under = Length.decimal(below, digits: 0),
        under > 0, over <= Length.limit, under <= Length.limit, over <= 100 * under
      else { return nil }
      self.init(millionths: sign * ((2 * over * 1_000_000 + under) / (2 * under)))
      return
    }
    let number = part.prefix { $0 == "." || ("0"..."9").contains($0) }
    switch part.dropFirst(number.count) {
    case "", "px":
      guard let value = Length.decimal(number, digits: 0), value <= Length.limit else { return nil }
      self.init(pixels: sign * value)
    case "%":
      guard let value = Length.decimal(number, digits: 4), value <= Length.limit * 10_000 else { return nil }
      self.init(millionths: sign * value)
    case "gu":
      guard let value = Length.decimal(number, digits: 3), value <= Length.limit * 1_000 else { return nil }
      self.init(milliUnits: sign * value)
    default: return nil
    }
  }

  /// Reads a decimal number without sign, times ten to the power of `digits` (0 to 9), which is also how many digits
  /// may follow the point. Nil for anything else, and for more than nine digits before the point.
  package static func decimal(_ text: some StringProtocol, digits: Int) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    guard let whole = parts.first, !whole.isEmpty, whole.utf8.count <= 9, parts.count <= 2,
      text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      var value = Int(whole)
    else { return nil }
    let fraction = parts.count > 1 ? parts[1] : ""
    guard fraction.utf8.count <= digits, parts.count == 1 || !fraction.isEmpty else { return nil }
    for _ in 0..<digits { value *= 10 }
    var scale = 1
    for _ in fraction.utf8.count..<digits { scale *= 10 }
    return value + (Int(fraction) ?? 0) * scale
  }

  /// As `init(text:)` reads it.
  public var description: String {
    var text = ""
    func add(_ value: Int, digits: Int, unit: String) {
      guard value != 0 else { return }
      text += text.isEmpty ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ")
      text += Length.text(abs(value), digits: digits) + unit
    }
    add(millionths, digits: 4, unit: "%")
    add(milliUnits, digits: 3, unit: "gu")
    add(pixels, digits: 0, unit: "px")
    return text.isEmpty ? "0" : text
  }

  /// A number divided by ten to the power of `digits`, without zeros at the end.
  private static func text(_ value: Int, digits: Int) -> String {
    var scale = 1
    for _ in 0..<digits { scale *= 10 }
    let (whole, rest) = value.quotientAndRemainder(dividingBy: scale)
    guard rest != 0 else { return String(whole) }
    var fraction = String(rest)
    fraction = String(repeating: "0", count: digits - fraction.utf8.count) + fraction
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(whole).\(fraction)"
  }
}
