/// A NAT in front of the near side: everything from there bears one outside address, until that is changed for another
/// as when a NAT forgets, or a machine moves to another network. Ports stay as they are.
public struct AddressTranslation: Sendable {
  /// The present outside address.
  public private(set) var address: UInt32
  private let first: UInt32
  private let count: UInt32
  // The near side's address that last used a port; 0 for none.
  private var owners = [UInt32](repeating: 0, count: PacketClass.allCases.count << 16)

  /// A NAT with `count` outside addresses from `first` on, of which it uses one at a time.
  public init(first: UInt32, count: UInt32) {
    self.first = first
    self.count = max(1, count)
    address = first
  }

  /// From now on the next outside address is used, and what comes to the old one leads nowhere.
  public mutating func rebind() {
    address = first &+ (address &- first &+ 1) % count
    for index in owners.indices { owners[index] = 0 }
  }

  /// Translates a packet from the near side. False for what can't be translated.
  public mutating func outgoing(_ packet: inout IPv4Packet) -> Bool {
    guard let port = packet.sourcePort else { return false }
    owners[packet.kind.rawValue << 16 | Int(port)] = packet.source
    packet.source = address
    packet.updateChecksums()
    return true
  }

  /// Translates a packet from the far side. False when nobody has sent anything from where it goes to.
  public func incoming(_ packet: inout IPv4Packet) -> Bool {
    guard packet.destination == address, let port = packet.destinationPort else { return false }
    let owner = owners[packet.kind.rawValue << 16 | Int(port)]
    guard owner != 0 else { return false }
    packet.destination = owner
    packet.updateChecksums()
    return true
  }
}
