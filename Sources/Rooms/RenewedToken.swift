import Synchronization

/// A token that somebody else makes, and replaces before it ends. May be used on any thread.
public final class RenewedToken: Sendable {
  private let state: Mutex<String>

  /// Starts with a token.
  public init(_ token: String) { state = Mutex(token) }

  /// The newest; the next join uses it.
  public var current: String {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
