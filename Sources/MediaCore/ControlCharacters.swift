extension StringProtocol {
  /// True with a control character in it: C0, DEL or C1 (Unicode's general category Cc). No name of a room or
  /// participant has one.
  public var hasControlCharacters: Bool {
    unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
  }
}
