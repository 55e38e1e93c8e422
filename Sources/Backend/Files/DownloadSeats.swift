import Synchronization

/// How many files are sent at once: few enough that readers, slow or many, leave the backend to everybody else. Any
/// thread.
final class DownloadSeats: Sendable {
  /// A place for one file that is sent; given back when nobody holds it any more.
  final class Seat: Sendable {
    private let seats: DownloadSeats
    private let owner: String

    fileprivate init(_ seats: DownloadSeats, _ owner: String) {
      self.seats = seats
      self.owner = owner
    }

    deinit { seats.leave(owner) }
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

  /// A place; nil when all are taken.
  func take(_ owner: String) -> Seat? {
    let isFree = taken.withLock { taken in
      guard taken.values.reduce(0, +) < total, taken[owner, default: 0] < perOwner else { return false }
      taken[owner, default: 0] += 1
      return true
    }
    return isFree ? Seat(self, owner) : nil
  }

  private func leave(_ owner: String) {
    taken.withLock { taken in
      let rest = taken[owner, default: 1] - 1
      taken[owner] = rest > 0 ? rest : nil
    }
  }
}
