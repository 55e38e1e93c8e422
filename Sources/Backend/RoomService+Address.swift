import Foundation

extension RoomService {
  /// True when two addresses lead to the same room service: the same host and port, by WebSocket or HTTP, both with
  /// TLS or both without.
  static func isSame(_ one: String, _ other: String) -> Bool {
    guard let one = parts(one), let other = parts(other) else { return false }
    return one == other
  }

  private static func parts(_ text: String) -> [String]? {
    guard let url = URLComponents(string: text), let host = url.host?.lowercased(), url.user == nil,
      url.password == nil, let scheme = url.scheme?.lowercased()
    else { return nil }
    let isSecure: Bool
    switch scheme {
    case "ws", "http": isSecure = false
    case "wss", "https": isSecure = true
    default: return nil
    }
    let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
    return ["\(isSecure)", host, "\(url.port ?? (isSecure ? 443 : 80))", path]
  }
}
