import COpenSSL

/// OpenSSL's queue of errors.
package enum OpenSSLError {
  /// The oldest error's reason alone, `wrong version number`; the queue is empty afterwards.
  package static func takeReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    return ERR_reason_error_string(code).map { String(cString: $0) } ?? "the connection broke"
  }

  /// The oldest error in words; the queue is empty afterwards.
  package static func take() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "unknown error" }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress else { return "" }
      ERR_error_string_n(code, base, buffer.count)
      return String(cString: base)
    }
  }
}
