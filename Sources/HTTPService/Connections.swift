public import NIOCore
import Synchronization

/// The open connections: a request that is held for a while must know whether somebody still waits for its answer.
/// Any thread.
public final class Connections: Sendable {
  private let open = Mutex<Set<ObjectIdentifier>>([])

  /// None yet.
  public init() {}

  /// True until the other side has gone, or has said that it sends nothing more.
  public func isOpen(_ channel: any Channel) -> Bool { open.withLock { $0.contains(ObjectIdentifier(channel)) } }

  /// How many there are.
  public var count: Int { open.withLock { $0.count } }

  func opened(_ channel: any Channel) { open.withLock { _ = $0.insert(ObjectIdentifier(channel)) } }

  func closed(_ channel: any Channel) { open.withLock { _ = $0.remove(ObjectIdentifier(channel)) } }
}
