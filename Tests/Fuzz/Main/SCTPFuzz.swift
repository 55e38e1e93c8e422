import Synchronization

@testable import Transport

/// Feeds chunks to an SCTP association that is up, as a peer that has the keys can: with the right ports, tag and sum.
/// When they end it, the next input gets a new one. The first byte says whether the header is right.
func fuzzSCTP(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let pair = SCTPPair.current()
  let chunks = Array(bytes.dropFirst())
  pair.give(choice & 1 == 0 ? pair.packet(chunks) : chunks)
  SCTPStack.shared.loop.sync {}
}

// Sendable: what the SCTP thread writes is behind the lock.
/// Two associations, each with what the other sends.
private final class SCTPPair: @unchecked Sendable {
  private struct State {
    var tag: [UInt8] = [0, 0, 0, 0]
    var isOpen = false
    var isOver = false
  }

  // The fuzzer runs one thread.
  nonisolated(unsafe) private static var present: SCTPPair?
  private let state = Mutex(State())
  private var one: SCTPAssociation?
  private var other: SCTPAssociation?

  static func current() -> SCTPPair {
    if let present, !present.state.withLock({ $0.isOver }) { return present }
    present?.one?.close()
    present?.other?.close()
    let made = SCTPPair()
    present = made
    return made
  }

  init() {
    let one = SCTPAssociation(isDTLSClient: true) { [weak self] event in
      switch event {
      case .packet(let packet):
        self?.state.withLock { if packet.count >= 8 { $0.tag = Array(packet[4..<8]) } }
        self?.other?.receive(packet: packet)
      case .closed: self?.state.withLock { $0.isOver = true }
      case .opened, .message, .dropped: break
      }
    }
    let other = SCTPAssociation(isDTLSClient: false) { [weak self] event in
      switch event {
      case .packet(let packet): self?.one?.receive(packet: packet)
      case .opened: self?.state.withLock { $0.isOpen = true }
      case .closed: self?.state.withLock { $0.isOver = true }
      case .message, .dropped: break
      }
    }
    (self.one, self.other) = (one, other)
    one.start(remotePort: 5000, mtu: 1160)
    other.start(remotePort: 5000, mtu: 1160)
    one.open(0, label: "fuzz", ordered: true, maxRetransmits: nil)
    for _ in 0..<2000 where !state.withLock({ $0.isOpen }) { SCTPStack.shared.loop.sync {} }
  }

  func give(_ packet: [UInt8]) { other?.receive(packet: packet) }

  /// Chunks behind the header that the first one would put before them (RFC 9260 section 3.1, appendix A).
  func packet(_ chunks: [UInt8]) -> [UInt8] {
    var packet: [UInt8] = [0x13, 0x88, 0x13, 0x88] + state.withLock { $0.tag } + [0, 0, 0, 0] + chunks
    var sum: UInt32 = .max
    for byte in packet {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82f6_3b78 : sum >> 1 }
    }
    for index in 0..<4 { packet[8 + index] = UInt8(truncatingIfNeeded: ~sum >> (8 * index)) }
    return packet
  }
}
