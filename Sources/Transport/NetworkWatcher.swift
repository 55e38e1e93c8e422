import CNice
import Glibc

/// Tells when this machine's addresses or routes change (netlink, rtnetlink(7)): a hint to look at connections at once.
/// Confined to its loop: made, stopped and heard on the loop's thread.
public final class NetworkWatcher {
  private let loop: MediaLoop
  private var onChange: (() -> Void)?
  private var descriptor: Int32
  private var source: DescriptorSource?
  private var addresses: [String]
  private var settling: LoopTimer?

  /// Changes come in bursts: an interface, its addresses, its routes. They are one change, told when it is quiet again
  /// for so long.
  private static let settleTime = Duration.milliseconds(150)

  /// Begins to watch; `onChange` is called on the loop when the addresses of interfaces that are up are others than
  /// before. Where the system doesn't allow a netlink socket nothing is ever told.
  public init(loop: MediaLoop, onChange: @escaping () -> Void) {
    self.loop = loop
    self.onChange = onChange
    addresses = NetworkInterfaces.addresses().sorted()
    descriptor = cnice_netlink_open()
    guard descriptor >= 0 else { return }
    source = DescriptorSource(descriptor, .input, on: loop) { [weak self] in self?.readable() }
  }

  deinit { stop() }

  /// Ends it. Harmless when called again.
  public func stop() {
    onChange = nil
    settling?.cancel()
    settling = nil
    source?.cancel()
    source = nil
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// The messages themselves don't matter: the addresses are read anew. So nothing of them is parsed, and ones that
  /// were lost (ENOBUFS) harm nothing.
  private func readable() {
    withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 16) { buffer in
      while recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 || errno == ENOBUFS {
        errno = 0
      }
    }
    settling?.cancel()
    settling = loop.timer(after: NetworkWatcher.settleTime) { [weak self] in self?.settled() }
  }

  private func settled() {
    settling = nil
    let now = NetworkInterfaces.addresses().sorted()
    guard now != addresses else { return }
    addresses = now
    onChange?()
  }
}
