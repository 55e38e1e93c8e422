/// How callers name the key of a room that is encrypted end to end: a file of the workers' operator, without its folder.
public enum KeyName {
  /// What a name must be, in one line.
  public static let rule = "1 to 128 of A-Z a-z 0-9 . _ -, not a dot first"

  /// True for a name that can be a file's, and leads nowhere else.
  public static func isValid(_ name: String) -> Bool {
    guard (1...128).contains(name.utf8.count), name.utf8.first != UInt8(ascii: ".") else { return false }
    return name.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
  }
}
