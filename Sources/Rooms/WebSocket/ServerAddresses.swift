import Transport

/// The numeric addresses of one server for attempts to come back. A name server that cannot be reached must not hold
/// them up: the addresses that are known are tried at once, and the name is looked up beside that. Confined to its loop.
final class ServerAddresses {
  private let host: String
  private let loop: MediaLoop
  private var known: [String] = []
  private var attempts = 0
  private var isLookingUp = false

  /// The most addresses that are kept.
  private static let most = 8

  init(host: String, loop: MediaLoop) {
    self.host = host
    self.loop = loop
  }

  /// A connection was made to this address: it is the best one.
  func reached(_ address: String) {
    known.removeAll { $0 == address }
    known.insert(address, at: 0)
    attempts = 0
  }

  /// The address for the next attempt: the best, then the others in turn. Nil when the name must be looked up by the
  /// attempt itself.
  func next() -> String? {
    lookUp()
    guard !known.isEmpty else { return nil }
    defer { attempts += 1 }
    return known[attempts % known.count]
  }

  private func lookUp() {
    guard !isLookingUp, !NameResolver.isNumeric(host) else { return }
    isLookingUp = true
    NameResolver.resolve(host, on: loop) { [weak self] found in
      guard let self else { return }
      isLookingUp = false
      guard !found.isEmpty else { return }
      // Addresses that the name has no more are dropped, except the one that worked last.
      let rest = found.filter { $0 != self.known.first }
      known = Array((known.prefix(1) + rest).prefix(Self.most))
    }
  }
}
