import Glibc
import MediaCore
import Platform

/// Writes to the terminal without Foundation. A write that fails is dropped: a closed terminal never stops a recording.
/// Lines are written without what would act on the terminal, wherever their texts come from.
enum Console {
  /// True when standard error is a terminal.
  static let errorIsTerminal = isatty(STDERR_FILENO) == 1

  /// Columns of the terminal on standard error; 80 when unknown.
  static var columns: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Columns that a text takes: Chinese, Japanese, Korean and emoji have two (the blocks of Unicode's TR 11).
  static func columns(of text: String) -> Int {
    text.reduce(0) { sum, character in
      guard let value = character.unicodeScalars.first?.value, value >= 0x1100 else { return sum + 1 }
      let isWide =
        value <= 0x115f || (0x2e80...0xa4cf).contains(value) || (0xac00...0xd7a3).contains(value)
        || (0xf900...0xfaff).contains(value) || (0xfe30...0xfe6f).contains(value) || (0xff00...0xff60).contains(value)
        || (0xffe0...0xffe6).contains(value) || (0x1f300...0x1faff).contains(value)
        || (0x20000...0x3fffd).contains(value)
      return sum + (isWide ? 2 : 1)
    }
  }

  /// A line on standard output.
  static func print(_ line: String) { write(visible(line) + "\n", to: STDOUT_FILENO) }

  /// Text on standard output as it is.
  static func printText(_ text: String) { write(text, to: STDOUT_FILENO) }

  /// A line on standard error.
  static func error(_ line: String) { write(visible(line) + "\n", to: STDERR_FILENO) }

  /// Text on standard error as it is: of our own making only.
  static func errorText(_ text: String) { write(text, to: STDERR_FILENO) }

  /// A line on standard error in place of the status line, which stands on the terminal's current line.
  static func errorOverStatus(_ line: String) {
    write((errorIsTerminal ? clearLine : "") + visible(line) + "\n", to: STDERR_FILENO)
  }

  /// The status line: replaces the one before, and stays on the current line.
  static func status(_ line: String) { write(clearLine + PeerText.shown(line, limit: 2000), to: STDERR_FILENO) }

  /// Back to the line's beginning, and nothing on it (ECMA-48, EL).
  private static let clearLine = "\r\u{1b}[K"

  /// The text without what acts; tabs and the ends of lines stay.
  private static func visible(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: PeerText.isActive) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      result.append(scalar == "\n" || scalar == "\t" ? scalar : PeerText.visible(scalar))
    }
    return String(result)
  }

  private static func write(_ text: String, to descriptor: Int32) {
    _ = Array(text.utf8).withUnsafeBytes { FileWriting.append($0, to: descriptor) }
  }
}
