import Glibc

/// The two sides: a namespace each, with one network device whose packets come to this program.
final class Ends {
  let near: End
  let far: End
  let carrier: String
  private let number: Int

  init(near: String, far: String, number: Int, mtu: Int, usesVeth: Bool, report: Report) throws(WireError) {
    self.number = number
    guard geteuid() == 0 else { throw WireError("only root can make network namespaces") }
    let noTun = Tun.reason
    if let noTun, !usesVeth { report.note("\(noTun); using veth and packet sockets") }
    carrier = usesVeth || noTun != nil ? "veth" : "tun"
    self.near = try End(near, address: "10.45.\(number).2", prefix: 32, tag: "n\(number)", carrier: carrier, mtu: mtu)
    do throws(WireError) {
      try run("ip", "-n", near, "route", "add", "default", "dev", self.near.device)
      self.far = try End(far, address: "198.18.\(number).1", prefix: 24, tag: "f\(number)", carrier: carrier, mtu: mtu)
    } catch {
      self.near.close()
      throw error
    }
  }

  /// One of the NAT's addresses.
  func outside(_ index: Int) -> String { "198.18.\(number).\(2 + index)" }
  /// The first of them, as a number.
  var firstOutside: UInt32 { 198 << 24 | 18 << 16 | UInt32(number) << 8 | 2 }
  /// How many there are.
  static let outsideCount: UInt32 = 250

  func close() {
    near.close()
    far.close()
  }
}

/// One side.
final class End {
  let namespace: String
  let address: String
  let device: String
  private let madeNamespace: Bool
  private var port: any PacketPort
  private var isClosed = false

  init(_ namespace: String, address: String, prefix: Int, tag: String, carrier: String, mtu: Int) throws(WireError) {
    self.namespace = namespace
    self.address = address
    // Unique on the machine, and within the 15 letters that a device may have.
    device = "w\(getpid() % 100_000_000)\(tag)"
    madeNamespace = access("/run/netns/\(namespace)", F_OK) != 0
    if madeNamespace { try run("ip", "netns", "add", namespace) }
    do throws(WireError) {
      port =
        carrier == "tun"
        ? try Tun(device, namespace: namespace) : try PacketSocket(device, namespace: namespace, mtu: mtu)
      try run("ip", "-n", namespace, "link", "set", "lo", "up")
      try run("ip", "-n", namespace, "link", "set", device, "mtu", "\(mtu)", "txqueuelen", "2000", "up")
      try run("ip", "-n", namespace, "addr", "add", "\(address)/\(prefix)", "dev", device)
    } catch {
      if madeNamespace { try? run("ip", "netns", "del", namespace) }
      throw error
    }
  }

  var descriptor: Int32 { port.descriptor }
  /// One packet into the buffer; 0 when there is none now.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { port.read(into: buffer) }
  /// Sends a packet; what can't be sent is lost.
  func write(_ packet: [UInt8]) { packet.withUnsafeBytes { port.write($0) } }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    port.close()
    if madeNamespace { try? run("ip", "netns", "del", namespace) }
  }
}

/// A device's packets, as a descriptor that doesn't block.
protocol PacketPort {
  var descriptor: Int32 { get }
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int
  func write(_ packet: UnsafeRawBufferPointer)
  mutating func close()
}

/// Runs a program to its end; what it says goes to standard error.
func run(_ arguments: String...) throws(WireError) {
  var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
  defer { for pointer in pointers { free(pointer) } }
  pointers.append(nil)
  var child: pid_t = 0
  let spawned = posix_spawnp(&child, arguments[0], nil, nil, pointers, environ)
  guard spawned == 0 else { throw WireError("\(arguments[0]): \(String(cString: strerror(spawned)))") }
  var status: Int32 = 0
  while waitpid(child, &status, 0) < 0, errno == EINTR {}
  guard status == 0 else { throw WireError("'\(arguments.joined(separator: " "))' failed") }
}
