/// What a request for a file is answered with (RFC 9110, sections 13 and 14). Pure.
enum FileAnswer: Hashable, Sendable {
  /// The whole file: 200.
  case whole
  /// A part of it: 206.
  case part(Range<Int64>)
  /// The sender has this file already: 304.
  case notModified
  /// The sender wants another file than this: 412.
  case preconditionFailed
  /// No byte of the file is in the range: 416.
  case unsatisfiable

  /// The headers of a request that count; nil: it has none of that name.
  struct Headers: Hashable, Sendable {
    var range: String?
    var ifRange: String?
    var ifMatch: String?
    var ifNoneMatch: String?
  }

  /// Ranges that are longer are no ranges: the file is sent whole.
  private static let longest = 256

  /// Judges a request for a file of a size and with an entity tag, in the order of RFC 9110, section 13.2.2.
  init(_ headers: Headers, size: Int64, etag: String, isHead: Bool) {
    if let wanted = headers.ifMatch, !Self.lists(wanted, etag, isWeak: false) {
      self = .preconditionFailed
      return
    }
    if let known = headers.ifNoneMatch, Self.lists(known, etag, isWeak: true) {
      self = .notModified
      return
    }
    // A date is never compared: the entity tag is what was given.
    guard !isHead, let range = headers.range, headers.ifRange.map({ $0 == etag }) ?? true else {
      self = .whole
      return
    }
    self = Self.part(range, of: size)
  }

  /// The bytes of the file that are sent.
  func bytes(of size: Int64) -> Range<Int64> {
    switch self {
    case .whole: 0..<size
    case .part(let range): range
    case .notModified, .preconditionFailed, .unsatisfiable: 0..<0
    }
  }

  /// One range of bytes. Several ranges, other units and what can't be read are passed over (RFC 9110, section 14.2): the
  /// whole file is sent.
  private static func part(_ text: String, of size: Int64) -> FileAnswer {
    guard text.utf8.count <= longest, let equals = text.firstIndex(of: "="), text[..<equals].lowercased() == "bytes"
    else { return .whole }
    let range = text[text.index(after: equals)...].filter { $0 != " " && $0 != "\t" }
    guard let dash = range.firstIndex(of: "-") else { return .whole }
    let (first, last) = (range[..<dash], range[range.index(after: dash)...])
    if first.isEmpty {
      guard let count = number(last) else { return .whole }
      return count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
    }
    guard let start = number(first), let end = last.isEmpty ? .max : number(last), start <= end else { return .whole }
    return start < size ? .part(start..<min(size, end == .max ? end : end + 1)) : .unsatisfiable
  }

  /// Digits as a number; very many are a very large one.
  private static func number(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(text) ?? .max
  }

  /// True when a list of entity tags has this one, or is `*` (RFC 9110, section 13.1).
  private static func lists(_ list: String, _ etag: String, isWeak: Bool) -> Bool {
    list.split(separator: ",").contains { entry in
      let tag = entry.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
      let text = String(tag)
      return text == "*" || text == etag || isWeak && text == "W/" + etag
    }
  }
}
