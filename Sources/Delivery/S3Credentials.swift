import MediaCore

/// What requests to a store are signed with.
public struct S3Credentials: Hashable, Sendable, CustomStringConvertible {
  /// Where credentials come from. Files are read anew for each upload, so that they may be renewed.
  public enum Source: Hashable, Sendable {
    /// These.
    case fixed(S3Credentials)
    /// An AWS credentials file (`[profile]`, `aws_access_key_id = …`), and the profile in it.
    case file(path: String, profile: String)
  }

  /// The key's name.
  public var accessKeyID: String
  /// The secret that requests are signed with. Never shown.
  @Redacted public var secretAccessKey: String
  /// What comes with keys that were issued for a while.
  @Redacted public var sessionToken: String?

  /// Makes credentials.
  public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
  }

  /// Only the key's name: the rest is secret.
  public var description: String { "S3Credentials(\(accessKeyID))" }
}
