import CUsrsctp
import MediaCore
import Platform

// Sendable: all state is confined to `loop`; usrsctp is called from that thread only.
/// Owner of usrsctp, which is global to the process: one thread of ours does its input, its timers and its closing,
/// whichever loops the transports live on. It is started with the first data channel and never stopped, for
/// `usrsctp_finish` crashes when the library runs without threads of its own.
final class SCTPStack: @unchecked Sendable {
  static let shared = SCTPStack()

  let loop = MediaLoop(name: "sctp")
  // Associations by handle. The library gets handles and never pointers, because it calls back after closing.
  private var associations: [UInt: SCTPAssociation] = [:]
  private var lastHandle: UInt = 0
  private var ticker: LoopTimer?
  private var lastTick = Instant.distantPast
  private var lingerUntil = Instant.distantPast
  private var stirredAt = Instant.distantPast
  private var isQuiet = false

  /// How often the library's timers are looked at, and how often when nothing was sent or received for some time: then heartbeats
  /// and long retransmissions are due at most, and a process that is idle need not wake a hundred times a second. The first
  /// retransmission, a second after what it repeats (RFC 9260 section 15), still comes in time.
  private static let tick = Duration.milliseconds(10)
  private static let quietTick = Duration.milliseconds(500)
  private static let quietAfter = Duration.milliseconds(1250)
  // Closed sockets are freed by timers, so that these go on for a while.
  private static let linger = Duration.seconds(20)

  private init() {
    loop.post {
      cusrsctp_init { handle, bytes, length, _, _ in
        guard let bytes else { return 0 }
        let packet = UnsafeRawBufferPointer(start: bytes, count: length)
        SCTPStack.shared.associations[UInt(bitPattern: handle)]?.send(packet: packet)
        return 0
      }
    }
  }

  /// Enters an association and gives it its handle. SCTP thread.
  func add(_ association: SCTPAssociation) -> UInt {
    loop.assertIsCurrent()
    lastHandle &+= 1
    if lastHandle == 0 { lastHandle = 1 }
    associations[lastHandle] = association
    if ticker == nil {
      lastTick = MonotonicClock.now
      arm()
    }
    stir()
    return lastHandle
  }

  /// Forgets an association; what the library still sends for it goes nowhere. SCTP thread.
  func remove(_ handle: UInt) {
    loop.assertIsCurrent()
    associations[handle] = nil
    lingerUntil = MonotonicClock.now + SCTPStack.linger
    stir()
  }

  /// Something is about to be sent or received: timers are looked at often again. SCTP thread.
  func stir() {
    stirredAt = MonotonicClock.now
    guard isQuiet, ticker != nil else { return }
    isQuiet = false
    // What starts a timer now counts from now.
    handleTimers(at: stirredAt)
    arm()
  }

  private func arm() {
    ticker?.cancel()
    ticker = loop.timer(after: isQuiet ? SCTPStack.quietTick : SCTPStack.tick, repeats: true) { [unowned self] in
      self.ticked()
    }
  }

  func association(_ handle: UInt) -> SCTPAssociation? { associations[handle] }

  private func ticked() {
    let now = MonotonicClock.now
    handleTimers(at: now)
    for association in associations.values { association.flush() }
    if associations.isEmpty, now > lingerUntil {
      ticker?.cancel()
      ticker = nil
    } else if !isQuiet, now > stirredAt + SCTPStack.quietAfter {
      isQuiet = true
      arm()
    }
  }

  private func handleTimers(at now: Instant) {
    let elapsed = (now - lastTick).milliseconds
    lastTick += .milliseconds(elapsed)
    usrsctp_handle_timers(UInt32(clamping: elapsed))
  }
}
