import Glibc

/// Where backend and workers keep their data when nobody says.
enum DataFolder {
  /// What systemd gives a service, else `/var/lib/recbot` when it can be written, else `recbot-data` here.
  static var standard: String {
    if let state = Environment.all["STATE_DIRECTORY"]?.split(separator: ":").first { return String(state) }
    let service = "/var/lib/recbot"
    return access(service, W_OK | X_OK) == 0 ? service : "recbot-data"
  }
}
