public import WebClient

/// Where finished files go.
public enum DeliveryTarget: Hashable, Sendable {
  /// A folder of this machine.
  case local(root: String)
  /// An S3-compatible store.
  case s3(S3Target)
}

/// A bucket of an S3-compatible store, and a place in it.
public struct S3Target: Hashable, Sendable {
  /// How requests name the bucket.
  public enum Addressing: String, Hashable, Sendable {
    /// In the path with an endpoint of one's own, or when the bucket's name has dots; else in the host name.
    case automatic
    /// `https://endpoint/bucket/key`.
    case path
    /// `https://bucket.endpoint/key`.
    case host
  }

  /// The store's address, such as `https://minio.example.com`; nil: Amazon's for the region.
  public var endpoint: String?
  /// The region that requests are signed for.
  public var region: String
  /// Name of the bucket.
  public var bucket: String
  /// How requests name the bucket.
  public var addressing: Addressing
  /// Before every key, without a slash at its end; may be empty.
  public var prefix: String
  /// Where the credentials come from.
  public var credentials: S3Credentials.Source
  /// Whether the endpoint may be in a private network or without TLS.
  public var privateAddresses: PrivateAddresses

  /// Makes a target; see the properties.
  public init(
    bucket: String, endpoint: String? = nil, region: String = "us-east-1", addressing: Addressing = .automatic,
    prefix: String = "", credentials: S3Credentials.Source, privateAddresses: PrivateAddresses = .refuse
  ) {
    self.bucket = bucket
    self.endpoint = endpoint
    self.region = region
    self.addressing = addressing
    self.prefix = prefix
    self.credentials = credentials
    self.privateAddresses = privateAddresses
  }
}
