import NIOHTTP1
import Signaling

/// The web page for the other side of a two-party room. Everything that it needs comes from this server.
enum PeerPage {
  private static let parts: [Substring: (type: String, bytes: [UInt8])] = [
    "/peer.css": ("text/css; charset=utf-8", PackageResources.peer_css),
    "/peer.js": ("text/javascript; charset=utf-8", PackageResources.peer_js),
    "/flow.js": ("text/javascript; charset=utf-8", PackageResources.flow_js),
  ]

  /// True for `/peer/<room>` and what the page loads.
  static func isPart(_ path: Substring) -> Bool { path.hasPrefix("/peer/") || parts[path] != nil }

  /// The answer; nil for other paths.
  static func answer(_ method: HTTPMethod, _ path: Substring) -> MailboxHandler.Answer? {
    guard isPart(path) else { return nil }
    guard method == .GET || method == .HEAD else { return .refusal(405, "method not allowed\n") }
    if let part = parts[path] { return MailboxHandler.Answer(status: 200, type: part.type, body: part.bytes) }
    let room = PercentCoding.decode(path.dropFirst("/peer/".count)) ?? ""
    guard !room.isEmpty, !room.contains("/") else { return .refusal(404, "404 page not found\n") }
    return MailboxHandler.Answer(
      status: 200, type: "text/html; charset=utf-8", body: PackageResources.peer_html,
      headers: [
        (
          "Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; "
            + "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("Permissions-Policy", "camera=(self), microphone=(self)"),
        // The token stands in the fragment, which is never sent; the room's name needs not go elsewhere either.
        ("Referrer-Policy", "no-referrer"),
      ])
  }
}
