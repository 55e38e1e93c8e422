// `Jobs` has a `StoreDelivery` of its own (of webhooks): this file doesn't import it.
import Delivery
import MediaCore

/// Where a worker's finished files go.
public struct DeliveryPlan: Sendable {
  /// How much of a file is in the store when its recording ends.
  public enum Upload: String, Sendable, CaseIterable {
    /// Files stay on this machine, unless a job says otherwise.
    case off
    /// They are uploaded when they are finished.
    case after
    /// They are uploaded while they are recorded.
    case live
  }

  /// The folder of finished files on this machine.
  public var local: String
  /// The store; nil: none.
  public var store: S3Target?
  /// What goes to the store.
  public var upload: Upload
  /// The files' names.
  public var template: KeyTemplate
  /// How the store is dealt with.
  public var options: DeliveryOptions
  /// Where a finished file is also kept when it can't be uploaded; nil: it waits in the data folder.
  public var backup: String?

  /// Local files only, with the usual names.
  public init(local: String) {
    self.local = local
    upload = .off
    template = .standard
    options = DeliveryOptions()
  }
}
