/// Ways that are no datagram's own, kept closed until UDP has led nowhere for a while: where it works, nobody is asked for
/// connections that are not needed. Confined to its loop.
final class Fallbacks {
  private let loop: MediaLoop
  private var waiting: [() -> Void] = []
  private var timer: LoopTimer?
  private var isOpen = false

  // How long UDP is tried alone.
  private static let trial = Duration.seconds(1)
  // And how much longer when something of the peer comes by it: then UDP works and only loses packets. TCP on the same
  // network waits for each of them, and its check, which is sent again and again, would be there first.
  private static let lossyTrial = Duration.seconds(6)

  init(on loop: MediaLoop) { self.loop = loop }

  deinit { timer?.cancel() }

  /// Opens a way when its time has come; at once when it has.
  func add(_ open: @escaping () -> Void) {
    if isOpen { open() } else { waiting.append(open) }
  }

  /// Opens all that wait, and from now on each that comes.
  func open() {
    timer?.cancel()
    guard !isOpen else { return }
    isOpen = true
    let ways = waiting
    waiting = []
    for open in ways { open() }
  }

  /// UDP's trial begins; `isNeeded` says at its end whether it has led nowhere, and `hearsPeer` whether anything of the peer
  /// comes by it.
  func begin(while isNeeded: @escaping () -> Bool, hearsPeer: @escaping () -> Bool) {
    wait(Self.trial) { [weak self] in
      guard let self, isNeeded() else { return }
      guard hearsPeer() else { return open() }
      wait(Self.lossyTrial) { [weak self] in if isNeeded() { self?.open() } }
    }
  }

  /// Nothing is opened any more.
  func close() {
    timer?.cancel()
    isOpen = true
    waiting = []
  }

  private func wait(_ time: Duration, _ then: @escaping () -> Void) {
    timer?.cancel()
    timer = loop.timer(after: time, then)
  }
}
