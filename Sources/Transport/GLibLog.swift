import CNice

/// libnice and GLib write warnings about the network's faults to standard error; a recorder's standard error is its
/// log, and a peer must not be able to fill it.
enum GLibLog {
  private static let silenced: Void = {
    let levels = GLogLevelFlags(rawValue: Int32(G_LOG_LEVEL_MASK.rawValue))
    for domain in ["libnice", "libnice-socket", "libnice-stun"] {
      _ = g_log_set_handler(domain, levels, { _, _, _, _ in }, nil)
    }
  }()

  /// Takes effect once; later calls do nothing.
  static func silence() { silenced }
}
