import Foundation
import Jobs
import JobsAPI
import Synchronization

/// Which messages are on their way: so many at once, and so many to one host, that a slow receiver holds up nobody else.
/// A few more of each host wait here, so that a quick receiver gets the next one as soon as it took the one before. Any
/// thread.
final class WebhooksInFlight: Sendable {
  /// Messages at once, in all and to one host.
  static let (most, mostPerHost) = (64, 4)
  /// How many more of one host wait.
  static let mostWaiting = 28
  /// How many are taken from the outbox at once: what comes all at once for one host finds its place.
  static let batch = mostPerHost + mostWaiting

  /// What becomes of a message.
  enum Admission: Hashable {
    /// It is sent now. Whoever sends it says `finished` afterwards, and sends what comes out of that.
    case sent
    /// It is sent when others of its host are finished.
    case waits
    /// Its host has too many.
    case refused
  }

  private struct Host {
    var sending: [WebhookDelivery] = []
    var waiting: [WebhookDelivery] = []
    /// Receivers there that were told something lately.
    var targets: Set<WebhookTarget> = []
  }

  private struct State {
    var count = 0
    var hosts: [String: Host] = [:]
  }

  private let state = Mutex(State())

  /// How many more may be sent.
  var free: Int { state.withLock { max(0, Self.most - $0.count) } }

  /// Receivers for whose hosts messages wait here already.
  var busy: Set<WebhookTarget> {
    state.withLock { state in
      state.hosts.values.reduce(into: []) { busy, host in
        if !host.waiting.isEmpty { busy.formUnion(host.targets) }
      }
    }
  }

  /// A message is to be sent.
  func admit(_ delivery: WebhookDelivery) -> Admission {
    let name = Self.host(delivery.target.url)
    return state.withLock { state in
      var host = state.hosts[name] ?? Host()
      defer { state.hosts[name] = host }
      host.targets.insert(delivery.target)
      if host.sending.count < Self.mostPerHost {
        host.sending.append(delivery)
        state.count += 1
        return .sent
      }
      guard host.waiting.count < Self.mostWaiting else { return .refused }
      host.waiting.append(delivery)
      return .waits
    }
  }

  /// A message has arrived, or come back. Gives the one that is sent in its place, and whether others wait behind that.
  func finished(_ delivery: WebhookDelivery) -> (next: WebhookDelivery?, hasMore: Bool) {
    let name = Self.host(delivery.target.url)
    return state.withLock { state in
      guard var host = state.hosts[name] else { return (nil, false) }
      defer { state.hosts[name] = host.sending.isEmpty ? nil : host }
      guard let index = host.sending.firstIndex(where: { Self.isSame($0, delivery) }) else { return (nil, false) }
      host.sending.remove(at: index)
      guard host.waiting.isEmpty else {
        let next = host.waiting.removeFirst()
        host.sending.append(next)
        return (next, !host.waiting.isEmpty)
      }
      state.count -= 1
      return (nil, false)
    }
  }

  /// Everything that is on its way or waits here.
  var held: [WebhookDelivery] { state.withLock { $0.hosts.values.flatMap { $0.sending + $0.waiting } } }

  /// Others have these by now: what of them waits here does not leave.
  func drop(_ lost: [WebhookDelivery]) {
    state.withLock { state in
      for delivery in lost {
        state.hosts[Self.host(delivery.target.url)]?.waiting.removeAll { Self.isSame($0, delivery) }
      }
    }
  }

  private static func isSame(_ one: WebhookDelivery, _ other: WebhookDelivery) -> Bool {
    one.event.id == other.event.id && one.attempts == other.attempts && one.target == other.target
  }

  private static func host(_ url: String) -> String {
    guard let parts = URLComponents(string: url), let host = parts.host else { return url }
    return "\(host.lowercased()):\(parts.port ?? 0)"
  }
}
