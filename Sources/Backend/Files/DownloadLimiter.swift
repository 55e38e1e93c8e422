import Synchronization

/// How many files are sent at once: few enough that readers, slow or many, leave the backend to everybody else. Any
/// thread.
final class DownloadLimiter: Sendable {
  /// The right to send one file; given back when nobody holds it any more.
  final class Permit: Sendable {
    private let limiter: DownloadLimiter
    private let owner: String

    fileprivate init(_ limiter: DownloadLimiter, _ owner: String) {
      self.limiter = limiter
      self.owner = owner
    }

    deinit { limiter.release(owner) }
  }

  private let total: Int
  private let perOwner: Int
  private let taken = Mutex<[String: Int]>([:])

  /// So many for everybody, and for one owner.
  init(total: Int, perOwner: Int) {
    self.total = total
    self.perOwner = perOwner
  }

  /// How many are taken.
  var count: Int { taken.withLock { $0.values.reduce(0, +) } }

  /// A permit; nil when all are taken.
  func acquire(_ owner: String) -> Permit? {
    let isFree = taken.withLock { taken in
      guard taken.values.reduce(0, +) < total, taken[owner, default: 0] < perOwner else { return false }
      taken[owner, default: 0] += 1
      return true
    }
    return isFree ? Permit(self, owner) : nil
  }

  private func release(_ owner: String) {
    taken.withLock { taken in
      let rest = taken[owner, default: 1] - 1
      taken[owner] = rest > 0 ? rest : nil
    }
  }
}
