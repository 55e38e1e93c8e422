import Delivery
import JobsAPI
import MediaCore
import Settings
import WebClient

/// Where finished files go, as the settings say.
struct DeliverySettings {
  /// When files are sent to the store.
  enum Upload: String, CaseIterable {
    /// Never: they stay on this machine.
    case off
    /// When they are finished.
    case after
    /// While they are being made.
    case live
  }

  let upload: Upload
  let target: DeliveryTarget
  let template: KeyTemplate
  /// The folder for files that cannot be delivered; nil: none was set.
  let backupFolder: String?

  /// Reads the settings; `root` is where files go that stay on this machine.
  init(_ configuration: Configuration, flag: String? = nil, root: String) throws {
    upload = try configuration.value(.upload, flag: flag)
    template = try configuration.value(.keyTemplate)
    backupFolder = configuration.text(.backupDirectory)
    target = upload == .off ? .local(root: root) : .s3(try Self.store(configuration))
  }

  /// The store that the settings name. A bucket, endpoint and so on that are given go before.
  static func store(
    _ configuration: Configuration, bucket: String? = nil, endpoint: String? = nil, region: String? = nil,
    isPathStyle: Bool? = nil, prefix: String? = nil
  ) throws -> S3Target {
    guard let bucket = bucket ?? configuration.text(.s3Bucket) else {
      throw Failure(.usage, "no bucket is set; set RECBOT_S3_BUCKET, or delivery.s3-bucket in the configuration")
    }
    let addressing: S3Target.Addressing =
      switch try isPathStyle ?? configuration.value(.s3PathStyle) {
      case true?: .path
      case false?: .host
      case nil: .automatic
      }
    var prefix = Substring(prefix ?? configuration.text(.s3Prefix) ?? "")
    while prefix.last == "/" { prefix.removeLast() }
    return S3Target(
      bucket: bucket, endpoint: endpoint ?? configuration.text(.s3Endpoint),
      region: configuration.text(.s3Region, flag: region), addressing: addressing,
      prefix: String(prefix), credentials: try credentials(configuration),
      privateAddresses: try configuration.value(.privateAddresses))
  }

  private static func credentials(_ configuration: Configuration) throws -> S3Credentials.Source {
    switch (configuration.text(.s3AccessKey), configuration.text(.s3SecretKey)) {
    case (let id?, let key?):
      return .fixed(
        S3Credentials(accessKeyID: id, secretAccessKey: key, sessionToken: configuration.text(.s3SessionToken)))
    case (nil, nil):
      let environment = Environment.all
      guard
        let path = environment["AWS_SHARED_CREDENTIALS_FILE"] ?? environment["HOME"].map({ "\($0)/.aws/credentials" })
      else {
        throw Failure(.usage, "no credentials for the store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
      }
      return .file(path: path, profile: environment["AWS_PROFILE"] ?? "default")
    default:
      throw Failure(.usage, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together; one of them is not set")
    }
  }
}
