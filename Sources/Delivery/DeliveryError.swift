import MediaCore

/// Why a file could not be delivered: one line that says what is wrong, where, and what to do. The file itself is
/// untouched.
public struct DeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure; stable, for programs.
  public enum Code: String, Codable, Hashable, Sendable, CaseIterable {
    /// A setting cannot be used: an address, a bucket's name, a key template.
    case configuration
    /// The store's address leads into a private network, or is not encrypted.
    case refusedAddress
    /// There are no credentials, or their file cannot be read.
    case credentials
    /// The store knows the credentials, or not, and says no.
    case denied
    /// The bucket does not exist, or is elsewhere.
    case noBucket
    /// There is another object or file of that name; it is not overwritten.
    case exists
    /// The store cannot be reached, or does not answer, for longer than it was waited for.
    case unreachable
    /// The store refuses for another reason.
    case refused
    /// What the store has is not what was sent.
    case checksum
    /// The local file cannot be read, or a local folder cannot be written.
    case file
    /// The upload was cancelled; nothing is left of it in the store.
    case cancelled
  }

  /// The kind of failure.
  public var code: Code
  /// One line: what is wrong, where, what to do. Never a secret.
  public var description: String

  /// Makes an error; see the properties.
  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  /// True when the same delivery can succeed later without anybody changing anything.
  public var isPassing: Bool {
    switch code {
    case .unreachable, .checksum, .cancelled: true
    // Rights and buckets are mended by somebody else, without recbot being told.
    case .denied, .noBucket, .credentials: true
    case .configuration, .refusedAddress, .exists, .refused, .file: false
    }
  }
}

extension KeyTemplate {
  /// `check`, with its error as a delivery's: `.configuration`.
  static func checkForDelivery(_ name: String) throws(DeliveryError) {
    do { try check(name) } catch { throw DeliveryError(.configuration, error.description) }
  }
}
