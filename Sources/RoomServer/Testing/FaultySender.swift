import MediaCore
import Platform
import Signaling
import Transport

/// A client's signal connection with faults: it keeps back news and descriptions. Confined to the directory's loop.
final class FaultySender: SignalSender {
  private let base: any SignalSender
  private let loop: MediaLoop
  private var condition = Faults.Condition()
  /// Descriptions that are held back until their time.
  private var delayed: [(message: Livekit_SignalResponse, due: Instant)] = []

  init(_ base: any SignalSender, loop: MediaLoop) {
    self.base = base
    self.loop = loop
  }

  /// Faults begin or end.
  func setCondition(_ new: Faults.Condition) {
    if new.isSilent != condition.isSilent { (base as? SignalConnection)?.setSilent(new.isSilent) }
    condition = new
    if new.delay == .zero { sendDelayed(all: true) }
  }

  private func sendDelayed(all: Bool = false) {
    let now = MonotonicClock.now
    while let first = delayed.first, all || first.due <= now {
      delayed.removeFirst()
      base.send(first.message)
    }
  }

  // MARK: SignalSender

  var link: SignalID { base.link }
  var isHeard: Bool { !condition.isSilent }

  func send(_ message: Livekit_SignalResponse) { base.send(message) }

  func tell(_ news: Livekit_SignalResponse) {
    if !condition.isDeaf { base.tell(news) }
  }

  func describe(_ message: Livekit_SignalResponse) {
    guard condition.delay > .zero || !delayed.isEmpty else { return base.describe(message) }
    let now = MonotonicClock.now
    let due = max(now + condition.delay, delayed.last?.due ?? .distantPast)
    delayed.append((message, due))
    loop.timer(after: due - now) { [weak self] in self?.sendDelayed() }
  }

  func close() { base.close() }
  func abort() { base.abort() }
}
