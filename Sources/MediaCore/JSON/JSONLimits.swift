/// How much JSON is looked at. What has more is refused before a value of it is made.
public struct JSONLimits: Hashable, Sendable {
  /// Bytes of the whole text.
  public var bytes: Int
  /// Arrays and objects inside each other.
  public var depth: Int
  /// Values in all, names of members among them.
  public var values: Int

  /// Arrays and objects inside each other, unless said otherwise.
  public static let usualDepth = 64

  /// Makes limits. Each value takes 20 bytes of memory beside the text.
  public init(bytes: Int, depth: Int = usualDepth, values: Int = 100_000) {
    self.bytes = bytes
    self.depth = depth
    self.values = values
  }
}

/// Why bytes are no JSON (RFC 8259), or more of it than is looked at, and where. Nothing of the bytes is in it.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public enum Reason: String, Hashable, Sendable {
    // What is more than the limits allow.
    case tooLong = "there are more bytes than are read"
    case tooDeep = "there are more lists and objects inside each other than are read"
    case tooMany = "there are more values than are read"
    case longNumber = "a number has more than 512 characters"
    // What is no JSON.
    case noValue = "a value is expected"
    case end = "the text ends where a value is expected"
    case more = "nothing may follow the value"
    case noName = "a name in double quotes is expected"
    case noColon = "':' is expected"
    case noCommaInObject = "',' or '}' is expected"
    case noCommaInArray = "',' or ']' is expected"
    case noWord = "neither a number nor true, false or null"
    case control = "a control character in a string"
    case open = "the string is not closed"
    case escape = "an unknown escape in a string"
    case digits = "four hexadecimal digits are expected"
    case surrogate = "half a character"
    case noUTF8 = "bytes that are no UTF-8"
  }

  /// What is wrong.
  public let reason: Reason
  /// Where, in bytes from the beginning.
  public let offset: Int

  /// Makes an error; see the properties.
  public init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// One line.
  public var description: String { "byte \(offset): \(reason.rawValue)" }
}
