import Delivery
import JobsAPI
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
    upload = try configuration.value(flag: flag, "--upload", .upload, default: .off) { text throws(ValueError) in
      guard let upload = Upload(rawValue: text) else { throw ValueError("'\(text)': off, after or live") }
      return upload
    }
    template = try configuration.value(.keyTemplate, default: .standard) { text throws(ValueError) in
      if let problem = JobRequest.problem(withName: text) { throw ValueError("'\(text)': \(problem)") }
      do throws(DeliveryError) { return try KeyTemplate(text) } catch { throw ValueError(error.description) }
    }
    backupFolder = configuration[.backupDirectory]?.text
    target = upload == .off ? .local(root: root) : .s3(try Self.store(configuration))
  }

  /// The store that the settings name. A bucket, endpoint and so on that are given go before.
  static func store(
    _ configuration: Configuration, bucket: String? = nil, endpoint: String? = nil, region: String? = nil,
    isPathStyle: Bool? = nil, prefix: String? = nil
  ) throws -> S3Target {
    guard let bucket = bucket ?? configuration[.s3Bucket]?.text else {
      throw Failure(.usage, "no bucket is set; set RECBOT_S3_BUCKET, or delivery.s3-bucket in the configuration")
    }
    let pathStyle = try configuration.value(.s3PathStyle, default: Bool?.none) { text throws(ValueError) in
      guard let value = Bool(text) else { throw ValueError("'\(text)': true or false") }
      return value
    }
    let addresses = try configuration.value(.privateAddresses, default: .refuse) { text throws(ValueError) in
      guard let value = PrivateAddresses(rawValue: text) else { throw ValueError("'\(text)': refuse or allow") }
      return value
    }
    let addressing: S3Target.Addressing =
      switch isPathStyle ?? pathStyle {
      case true?: .path
      case false?: .host
      case nil: .automatic
      }
    var prefix = Substring(prefix ?? configuration[.s3Prefix]?.text ?? "")
    while prefix.last == "/" { prefix.removeLast() }
    return S3Target(
      bucket: bucket, endpoint: endpoint ?? configuration[.s3Endpoint]?.text,
      region: region ?? configuration[.s3Region]?.text ?? "us-east-1", addressing: addressing,
      prefix: String(prefix), credentials: try credentials(configuration), privateAddresses: addresses)
  }

  private static func credentials(_ configuration: Configuration) throws -> S3Credentials.Source {
    switch (configuration[.s3AccessKey]?.text, configuration[.s3SecretKey]?.text) {
    case (let id?, let key?):
      return .fixed(
        S3Credentials(accessKeyID: id, secretAccessKey: key, sessionToken: configuration[.s3SessionToken]?.text))
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
