import Logging
import NIOHTTP1

/// The finished files in a store: what becomes of them later. Safe to use from any task.
public struct StoredFiles: Sendable {
  private let target: S3Target
  private let options: DeliveryOptions
  private let logger: Logger

  /// Names a store. Nothing is asked yet.
  public init(_ target: S3Target, options: DeliveryOptions = DeliveryOptions(), logger: Logger) {
    self.target = target
    self.options = options
    self.logger = logger
  }

  /// True when a location (`s3://bucket/key`) is one below the store's prefix.
  public func has(_ location: String) -> Bool { key(of: location) != nil }

  /// An address from which anybody can fetch the file for so many seconds (a presigned URL). The store is not asked.
  ///
  /// - Parameters:
  ///   - isHead: the address is for HEAD instead of GET.
  ///   - disposition: the header `Content-Disposition` of the store's answer.
  /// - Throws: `.configuration`, `.file` when there are no credentials.
  public func address(
    of location: String, isHead: Bool, disposition: String, seconds: Int64
  ) async throws(DeliveryError) -> String {
    let key = try known(location)
    return try await S3Client(target, options: options, logger: logger).address(
      isHead ? .HEAD : .GET, key,
      query: [
        ("response-content-disposition", disposition), ("response-content-type", S3Client.mediaType(of: key)),
      ],
      seconds: seconds)
  }

  /// Removes a file. One that is not there is no error.
  public func remove(_ location: String) async throws(DeliveryError) {
    try await S3Client(target, options: options, logger: logger).delete(try known(location))
  }

  private func known(_ location: String) throws(DeliveryError) -> String {
    guard let key = key(of: location) else {
      throw DeliveryError(.configuration, "\(location): is not in the bucket \(target.bucket) that is set")
    }
    return key
  }

  private func key(of location: String) -> String? {
    let start = "s3://\(target.bucket)/"
    let below = target.prefix.isEmpty ? "" : target.prefix + "/"
    guard location.hasPrefix(start + below), location.count > start.count + below.count else { return nil }
    return String(location.dropFirst(start.count))
  }
}
