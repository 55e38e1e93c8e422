import Glibc
import Logging
import MediaCore
import NIOCore
import Platform
import Synchronization

/// The door of an HTTP server: holds the connections that `ConnectionAdmission` lets be held, and closes the others.
/// Any thread.
public final class ConnectionDoor: Sendable {
  private struct State {
    var admission: ConnectionAdmission<ObjectIdentifier>
    var channels: [ObjectIdentifier: any Channel] = [:]
    /// When it was last told of refusals, and how many it was by then.
    var told: (at: Instant, count: UInt64)?

    /// How many refusals there were since they were last told of; nil: it is too soon to say.
    mutating func news(_ now: Instant) -> UInt64? {
      if let told, now - told.at < ConnectionDoor.silence { return nil }
      let count = admission.refusedCount &- (told?.count ?? 0)
      told = (now, admission.refusedCount)
      return count
    }
  }

  private let state: Mutex<State>
  private let logger: Logger
  /// Refusals are told of at most once in this time.
  private static let silence = Duration.seconds(10)

  /// A door with these limits, as far as the process may have descriptors open (`RLIMIT_NOFILE`).
  public init(_ limits: AdmissionLimits, logger: Logger) {
    var descriptors = rlimit()
    let count = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0 ? descriptors.rlim_cur : 1024
    state = Mutex(State(admission: ConnectionAdmission(limits.fitting(descriptors: Int(clamping: count)))))
    self.logger = logger
  }

  /// A connection was accepted and has no handlers yet. False: it is closed, nothing is to be made for it.
  public func arrive(_ channel: any Channel) -> Bool {
    let (id, now) = (ObjectIdentifier(channel), MonotonicClock.now)
    let address = ClientAddress(channel.remoteAddress)
    let (isHeld, evicted, news) = state.withLock { state -> (Bool, (any Channel)?, UInt64?) in
      switch state.admission.arrive(id, from: address, now: now) {
      case .refused: return (false, nil, state.news(now))
      case .admitted:
        state.channels[id] = channel
        return (true, nil, nil)
      case .admittedInPlaceOf(let other):
        state.channels[id] = channel
        return (true, state.channels.removeValue(forKey: other), state.news(now))
      }
    }
    evicted?.close(promise: nil)
    if isHeld {
      channel.closeFuture.whenComplete { [self] _ in
        state.withLock { state in
          state.channels[id] = nil
          state.admission.gone(id)
        }
      }
    } else {
      channel.close(promise: nil)
    }
    if let news {
      logger.warning(
        "connections that showed no credential were closed, there are too many",
        metadata: ["count": "\(news)", "last from": "\(channel.remoteAddress?.ipAddress ?? "nowhere")"])
    }
    return isHeld
  }

  /// The client of a connection has shown a good credential. False: there is no place for it, and it is told so.
  public func enter(_ channel: any Channel) -> Bool {
    state.withLock { $0.admission.enter(ObjectIdentifier(channel)) }
  }

  /// What the client asked for is answered, and the connection stays open.
  public func leave(_ channel: any Channel) {
    let now = MonotonicClock.now
    let evicted = state.withLock { state in
      state.admission.leave(ObjectIdentifier(channel), now: now).flatMap { state.channels.removeValue(forKey: $0) }
    }
    evicted?.close(promise: nil)
  }

  /// How many connections wait and have entered, and how many were refused or closed for others so far.
  public var counts: (waiting: Int, entered: Int, refused: UInt64) {
    state.withLock { ($0.admission.waitingCount, $0.admission.enteredCount, $0.admission.refusedCount) }
  }
}

/// A connection was refused; it is closed already.
public struct ConnectionRefused: Error {
  /// Makes one.
  public init() {}
}

extension ClientAddress {
  /// The address of the other side.
  init(_ address: SocketAddress?) {
    switch address {
    case .v4(let address): self = .v4(UInt32(bigEndian: address.address.sin_addr.s_addr))
    case .v6(let address): self = withUnsafeBytes(of: address.address.sin6_addr) { ClientAddress(v6: Array($0)) }
    case .unixDomainSocket, nil: self = .unknown
    }
  }
}
