import NIOHTTP1

/// What a request's head must be besides well-formed, which the parser looks at: one meaning for everybody that reads
/// it (RFC 9112). Pure.
public enum HeadRules {
  /// What is wrong with a head. The connection is closed after the answer, since what follows can't be told from it.
  public struct Fault: Error, Hashable, Sendable {
    /// 400, 501 or 505.
    public var status: Int
    /// One line for the client.
    public var text: String
  }

  /// The first fault of a head; nil: it is good.
  public static func fault(of head: HTTPRequestHead) -> Fault? {
    guard head.version.major == 1 else { return Fault(status: 505, text: "HTTP/1.1 is spoken here") }
    let hosts = head.headers["host"]
    // RFC 9112 section 3.2.
    guard hosts.count <= 1 else { return Fault(status: 400, text: "the request has more than one Host") }
    guard let host = hosts.first else {
      return head.version.minor == 0 ? bodyFault(head) : Fault(status: 400, text: "the request has no Host")
    }
    guard isHost(host) else { return Fault(status: 400, text: "Host is not a host and port") }
    return bodyFault(head)
  }

  /// A body has one length (RFC 9112 sections 6.1 to 6.3).
  private static func bodyFault(_ head: HTTPRequestHead) -> Fault? {
    let (codings, lengths) = (head.headers["transfer-encoding"], head.headers["content-length"])
    guard lengths.count <= 1 else { return Fault(status: 400, text: "the request has more than one Content-Length") }
    guard !codings.isEmpty else { return nil }
    guard lengths.isEmpty else {
      return Fault(status: 400, text: "the request has both Content-Length and Transfer-Encoding")
    }
    guard head.version.minor > 0 else { return Fault(status: 400, text: "HTTP/1.0 has no Transfer-Encoding") }
    guard codings.count == 1, codings[0].lowercased() == "chunked" else {
      return Fault(status: 501, text: "of the transfer codings only chunked is spoken here")
    }
    return nil
  }

  /// `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2); empty is allowed.
  static func isHost(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count <= 260 else { return false }
    var name = bytes[...]
    if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), !bytes[colon...].contains(UInt8(ascii: "]")) {
      guard bytes[(colon + 1)...].allSatisfy(isDigit) else { return false }
      name = bytes[..<colon]
    }
    if name.first == UInt8(ascii: "[") {
      guard name.count > 2, name.last == UInt8(ascii: "]") else { return false }
      let address = name.dropFirst().dropLast()
      return address.allSatisfy { isName($0) || $0 == UInt8(ascii: ":") }
    }
    return name.allSatisfy(isName)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// unreserved, sub-delims, and what begins an encoded byte.
  private static func isName(_ byte: UInt8) -> Bool {
    let letter = byte | 0x20
    return isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter)
      || "-._~!$&'()*+,;=%".utf8.contains(byte)
  }
}
