import RecbotKit
import Synchronization

/// Keeps what a room connection tells of itself until it is shown. May be used on any thread.
final class StatusBoard: Sendable {
  private struct State {
    var news: [RoomStatus] = []
    var latest = RoomStatus()
    var isOver = false
    var error: RoomError?
  }

  private let state = Mutex(State())
  /// Nobody needs more of what wasn't shown.
  private static let limit = 256

  /// The connection stands like this now.
  func put(_ status: RoomStatus) {
    state.withLock { state in
      state.latest = status
      if state.news.count < Self.limit { state.news.append(status) }
    }
  }

  /// An error that is only told: afterwards the connection stands as before. One that is waiting to be told is not
  /// told again: who insists must not crowd out what comes next.
  func tell(_ error: RoomError) {
    state.withLock { state in
      guard state.news.count < Self.limit - 1, !state.news.contains(where: { $0.error?.kind == error.kind }) else {
        return
      }
      var status = state.latest
      (status.error, status.action) = (error, .none)
      state.news += [status, state.latest]
    }
  }

  /// The connection has said its last word.
  func finish(_ error: RoomError?) {
    state.withLock { state in
      state.isOver = true
      state.error = error
    }
  }

  /// What came since the last call, the oldest first.
  func drain() -> [RoomStatus] {
    state.withLock { state in
      defer { state.news = [] }
      return state.news
    }
  }

  /// How the connection stands.
  var latest: RoomStatus { state.withLock { $0.latest } }
  /// Whether it has said its last word.
  var isOver: Bool { state.withLock { $0.isOver } }
  /// What ended it, when that was a fault.
  var error: RoomError? { state.withLock { $0.error } }
}
