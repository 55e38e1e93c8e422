import Glibc

/// Writes to the terminal without Foundation. A write that fails is dropped: a closed terminal never stops a recording.
enum Console {
  /// True when standard error is a terminal.
  static let errorIsTerminal = isatty(STDERR_FILENO) == 1

  /// Columns of the terminal on standard error; 80 when unknown.
  static var columns: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// A line on standard output.
  static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

  /// Text on standard output as it is.
  static func printText(_ text: String) { write(text, to: STDOUT_FILENO) }

  /// A line on standard error.
  static func error(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

  /// Text on standard error as it is.
  static func errorText(_ text: String) { write(text, to: STDERR_FILENO) }

  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        return
      }
      rest = rest.dropFirst(count)
    }
  }
}
