/// Text that somebody else wrote (a server's answer, a person's name, a file's title), made fit to be shown.
///
/// Two things are done to it, by two functions:
/// - `shown`: nothing in it can act on who reads it. Control characters (escape sequences for terminals, NUL), line and
///   paragraph separators and what turns the direction of text around (UAX #9, UTR #36 section 3) are replaced by a sign
///   that can be seen, and the length is bounded. This is for what is kept: chapters, titles, subtitles.
/// - `line`: besides, what looks like a secret is replaced by `[hidden]` (see `masked`). This is for messages and logs.
///
/// Pure; the time is linear in the text, of which at most `longest` bytes are looked at.
public enum PeerText {
  /// Stands for what must not be shown.
  public static let hidden = "[hidden]"
  /// So many bytes of UTF-8 of a text are looked at; the rest is left out.
  public static let longest = 65_536

  /// One line of at most `limit` Unicode scalars, without anything that acts and without secrets.
  public static func line(_ text: some StringProtocol, limit: Int = 300) -> String { shown(masked(text), limit: limit) }

  /// One line of at most `limit` Unicode scalars, without anything that acts. A text that is cut ends in `…`.
  public static func shown(_ text: some StringProtocol, limit: Int = 300) -> String {
    var result = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < limit else {
        if limit > 0 {
          result.removeLast()
          result.append("…")
        }
        break
      }
      result.append(visible(scalar))
      count += 1
    }
    return String(result)
  }

  /// The sign to show for a scalar: itself, unless it acts. White space that ends a line or moves the cursor is a space,
  /// the other control characters of ASCII are their pictures (U+2400 …), everything else is U+FFFD.
  public static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.value {
    case 0x20..<0x7f: scalar
    case 0x09, 0x0a, 0x0d: " "
    case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? "\u{fffd}"
    case 0x7f: "\u{2421}"
    default: isActive(scalar) ? "\u{fffd}" : scalar
    }
  }

  /// True for a scalar that acts instead of being seen. The joiners (U+200C, U+200D) are not: Persian, Hindi and the
  /// pictures of families are written with them.
  public static func isActive(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x7f else { return scalar.value < 0x20 }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate: return true
    case .format: return scalar.value != 0x200c && scalar.value != 0x200d
    default: return false
    }
  }

  /// The text with `[hidden]` in place of what looks like a secret:
  /// - signed tokens (RFC 7515, compact form), also such as were cut, and anything in base64url that begins as JSON does;
  /// - keys of recbot (`rbk_…`), keys of webhooks (`whsec_…`), private keys in PEM (RFC 7468);
  /// - credentials after `Bearer` and `Basic`, and whatever follows `Authorization:`;
  /// - values with a name that says so, after `=` or a colon: `access_token=…`, `"secret": "…"`;
  /// - the part of a URL before the host (`user:password@`).
  ///
  /// What is done is a guess, and errs on the side of hiding. With `tokensOnly` nothing but tokens and keys is hidden,
  /// which have a form of their own: so that what is said around them can be read for its meaning.
  public static func masked(_ text: some StringProtocol, tokensOnly: Bool = false) -> String {
    let bytes = Array(text.utf8.prefix(longest))
    var scan = SecretScan(bytes, tokensOnly: tokensOnly)
    let ranges = scan.secrets()
    guard !ranges.isEmpty || bytes.count == longest else { return String(text) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var position = 0
    for range in ranges {
      result += bytes[position..<range.lowerBound]
      result += hidden.utf8
      position = range.upperBound
    }
    result += bytes[position...]
    return String(decoding: result, as: UTF8.self)
  }
}
