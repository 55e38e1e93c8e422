public import Logging
import MediaCore
import Platform

/// Brings finished files to where they belong, and compares them there with the original before it says so.
///
/// Safe to use from any task. Files are read, and names looked up, on threads of their own.
public struct StoreDelivery: Sendable {
  /// Where files go.
  public let target: DeliveryTarget
  let options: DeliveryOptions
  let logger: Logger

  /// Makes a delivery. Nothing is asked yet.
  public init(_ target: DeliveryTarget, options: DeliveryOptions = DeliveryOptions(), logger: Logger) {
    self.target = target
    self.options = options
    self.logger = logger
  }

  /// Brings a finished file to the target. The file stays where it is, too.
  ///
  /// Safe to call again after a crash: an upload that was under way goes on with the parts that the store has, and a
  /// file that is there already is only compared. What an upload needs for that is kept beside the file, under its name
  /// with `.upload` behind it. When the task is cancelled, the upload is taken back.
  ///
  /// - Parameters:
  ///   - file: path of the file; nobody may write it any more.
  ///   - name: its name below the target's root or prefix; see `KeyTemplate`. Nothing is ever overwritten.
  ///   - progress: is told how far it is, from any thread, a few times a second at most.
  /// - Throws: `DeliveryError`; see its codes.
  public func deliver(
    file: String, name: String, progress: @escaping @Sendable (DeliveryProgress) -> Void = { _ in }
  ) async throws(DeliveryError) -> DeliveredFile {
    try KeyTemplate.checkForDelivery(name)
    switch target {
    case .local(let root):
      let local = LocalDelivery(root: root, file: file, name: name, progress: progress)
      return try await BlockingWork.run { () throws(DeliveryError) in try local.run() }
    case .s3(let target):
      return try await S3Delivery(
        client: S3Client(target, options: options, logger: logger), file: file, key: Self.key(name, target),
        options: options, logger: logger, progress: progress
      ).run()
    }
  }

  /// Begins to upload a file that is still being written; nil when the target is a local folder. Nothing is sent before
  /// the first `advance()`. Throws `.configuration`, `.refusedAddress`.
  public func live(file: String, name: String) throws(DeliveryError) -> LiveUpload? {
    guard case .s3(let target) = target else { return nil }
    try KeyTemplate.checkForDelivery(name)
    return LiveUpload(
      client: try S3Client(target, options: options, logger: logger), file: file, key: Self.key(name, target),
      options: options, logger: logger)
  }

  /// Where a file of that name is, or will be.
  public func location(of name: String) -> String {
    switch target {
    case .local(let root): "\(root)/\(name)"
    case .s3(let target): "s3://\(target.bucket)/\(Self.key(name, target))"
    }
  }

  /// Looks whether the target can be used: its settings, and for a store whether it answers and lets these credentials
  /// look into the bucket. Throws what a delivery would.
  public func check() async throws(DeliveryError) {
    switch target {
    case .local(let root):
      try await BlockingWork.run { () throws(DeliveryError) in try LocalDelivery.check(root) }
    case .s3(let target):
      let client = try S3Client(target, options: options, logger: logger)
      let answer = try await client.send(S3Client.Request(method: .HEAD))
      // A key may be good for writing objects and nothing else: 403 is then the answer, and no fault.
      if answer.status == 404 {
        throw DeliveryError(.noBucket, "there is no bucket \(target.bucket); create it, or correct its name")
      }
      guard answer.isSuccess || answer.status == 403 else { throw client.failure(answer, "s3://\(target.bucket)") }
    }
  }

  static func key(_ name: String, _ target: S3Target) -> String {
    target.prefix.isEmpty ? name : "\(target.prefix)/\(name)"
  }
}
