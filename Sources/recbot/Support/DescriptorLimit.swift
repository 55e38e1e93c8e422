import Glibc

/// How many descriptors this process may have open.
enum DescriptorLimit {
  /// More than any server here needs.
  private static let enough: rlim_t = 65_536

  /// Raises the soft limit as far as the hard one lets it: shells set it to 1,024, of which each client takes some.
  static func raise() {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < enough, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = min(limit.rlim_max, enough)
    _ = setrlimit(resource, &limit)
  }
}
