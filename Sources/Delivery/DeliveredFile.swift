/// A file that is where it belongs, and was compared with the original there.
public struct DeliveredFile: Codable, Hashable, Sendable {
  /// Where: an absolute path, or `s3://bucket/key`.
  public var location: String
  /// Bytes.
  public var size: Int64
  /// SHA-256 of the content, in hexadecimal.
  public var sha256: String

  /// Makes a description; see the properties.
  public init(location: String, size: Int64, sha256: String) {
    self.location = location
    self.size = size
    self.sha256 = sha256
  }
}

/// How far a delivery is.
public struct DeliveryProgress: Hashable, Sendable {
  /// Bytes that are known to be there.
  public var sent: Int64
  /// Bytes of the file.
  public var total: Int64
  /// Requests that had to be repeated so far.
  public var retries: Int

  /// Makes a progress; see the properties.
  public init(sent: Int64, total: Int64, retries: Int = 0) {
    self.sent = sent
    self.total = total
    self.retries = retries
  }
}
