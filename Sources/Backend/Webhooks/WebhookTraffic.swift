import Foundation
import Jobs
import Synchronization

/// Which messages are on their way: so many at once, and so many to one host, that a slow receiver holds up nobody else.
/// Any thread.
final class WebhookTraffic: Sendable {
  /// Messages at once, in all and to one host.
  static let (most, mostPerHost) = (64, 4)

  private struct State {
    var count = 0
    var hosts: [String: Int] = [:]
    /// Receivers that were told something lately, by their host.
    var targets: [String: Set<WebhookTarget>] = [:]
  }

  private let state = Mutex(State())

  /// How many more may leave.
  var free: Int { state.withLock { max(0, Self.most - $0.count) } }

  /// Receivers whose hosts can't be told more at the moment.
  var busy: Set<WebhookTarget> {
    state.withLock { state in
      var busy: Set<WebhookTarget> = []
      for (host, count) in state.hosts where count >= Self.mostPerHost { busy.formUnion(state.targets[host] ?? []) }
      return busy
    }
  }

  /// A message leaves; gives its host, or nil when that is busy.
  func depart(_ target: WebhookTarget) -> String? {
    let host = Self.host(target.url)
    return state.withLock { state in
      state.targets[host, default: []].insert(target)
      guard state.hosts[host, default: 0] < Self.mostPerHost else { return nil }
      state.count += 1
      state.hosts[host, default: 0] += 1
      return host
    }
  }

  /// It has arrived, or come back.
  func arrive(_ target: WebhookTarget, at host: String) {
    state.withLock { state in
      state.count -= 1
      let rest = (state.hosts[host] ?? 1) - 1
      state.hosts[host] = rest > 0 ? rest : nil
      if rest <= 0 { state.targets[host] = nil }
    }
  }

  private static func host(_ url: String) -> String {
    guard let parts = URLComponents(string: url), let host = parts.host else { return url }
    return "\(host.lowercased()):\(parts.port ?? 0)"
  }
}
