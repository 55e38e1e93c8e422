import MediaCore
import Signaling

/// `/peer/<room>`: the web page for the other side of a two-party room, and what it loads. Everything that it needs
/// comes from this server.
struct PeerPage: HTTPService {
  let prefix = "/peer"
  let longestBody = 0

  func answer(_ request: HTTPRequest, _ reply: @escaping @Sendable (HTTPReply) -> Void) {
    guard request.method == "GET" || request.method == "HEAD" else {
      return reply(HTTPReply(405, "method not allowed\n"))
    }
    switch request.path {
    case "/peer.css": reply(Self.part("text/css", PackageResources.peer_css))
    case "/peer.js": reply(Self.part("text/javascript", PackageResources.peer_js))
    case "/peer-flow.js": reply(Self.part("text/javascript", PackageResources.peer_flow_js))
    default:
      let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 3, parts[1] == "peer", let room = PercentCoding.decode(parts[2]), !room.isEmpty else {
        return reply(HTTPReply(404, "404 page not found\n"))
      }
      reply(Self.part("text/html", PackageResources.peer_html))
    }
  }

  private static func part(_ type: String, _ bytes: [UInt8]) -> HTTPReply {
    var reply = HTTPReply(200, "\(type); charset=utf-8", bytes)
    reply.headers = [
      (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; "
          + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      ),
      ("Permissions-Policy", "camera=(self), microphone=(self)"),
      // The token stands in the fragment, which is never sent; the room's name needs not go elsewhere either.
      ("Referrer-Policy", "no-referrer"),
      ("Cache-Control", "no-store"),
    ]
    return reply
  }
}
