import Glibc
import Signaling
import SwiftProtobuf

/// A blocking TCP client for HTTP and WebSocket against the server under test, on loopback. Every read has a time
/// limit, so that a fault is a failed test and not a test that never ends.
final class WireClient {
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  /// Connects; `source` is the address that the server sees.
  init?(port: Int, source: String = "127.0.0.1") {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var local = sockaddr_in()
    local.sin_family = sa_family_t(AF_INET)
    local.sin_addr.s_addr = inet_addr(source)
    let bound = withUnsafePointer(to: &local) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard bound == 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port)).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { return nil }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// A process that was stopped and goes on finds its wait interrupted (signal(7)): it waits again.
  private func receive(_ bytes: inout [UInt8]) -> Int {
    while true {
      let count = recv(descriptor, &bytes, bytes.count, 0)
      if count >= 0 || errno != EINTR { return count }
    }
  }

  /// Reads until the condition holds or nothing more comes; what has been read.
  private func fill(until isEnough: ([UInt8]) -> Bool) -> Bool {
    while !isEnough(buffer) {
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = receive(&chunk)
      guard count > 0 else { return false }
      buffer += chunk[..<count]
    }
    return true
  }

  /// True when the server closes the connection within the time limit.
  func waitForEnd() -> Bool {
    var byte = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = receive(&byte)
      if count == 0 { return true }
      if count < 0 { return errno == ECONNRESET }
    }
  }

  /// One HTTP request; status and body.
  func request(
    _ target: String, method: String = "GET", headers: [String] = [], body: [UInt8] = []
  ) -> (status: Int, body: String)? {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1"] + headers
    if !body.isEmpty { lines.append("Content-Length: \(body.count)") }
    send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    return response()
  }

  /// Reads a response with its body.
  func response() -> (status: Int, body: String)? {
    let end = Array("\r\n\r\n".utf8)
    guard fill(until: { Self.find(end, in: $0) != nil }), let head = Self.find(end, in: buffer) else { return nil }
    let text = String(decoding: buffer[..<head], as: UTF8.self)
    buffer.removeFirst(head + 4)
    guard let status = Int(text.split(separator: " ").dropFirst().first ?? "") else { return nil }
    var length = 0
    for line in text.split(separator: "\r\n") where line.lowercased().hasPrefix("content-length:") {
      length = Int(line.dropFirst(15).drop { $0 == " " }) ?? 0
    }
    guard fill(until: { $0.count >= length }) else { return nil }
    defer { buffer.removeFirst(length) }
    return (status, String(decoding: buffer[..<length], as: UTF8.self))
  }

  private static func find(_ needle: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= needle.count else { return nil }
    return (0...(bytes.count - needle.count)).first { bytes[$0..<($0 + needle.count)].elementsEqual(needle) }
  }

  /// Upgrades to a WebSocket; the status of the answer.
  func upgrade(_ target: String, headers: [String] = []) -> Int? {
    request(
      target,
      headers: headers + [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      ])?.status
  }

  /// Sends a frame, masked as clients must.
  func sendFrame(_ payload: [UInt8], opcode: UInt8 = 2, isMasked: Bool = true) {
    var frame: [UInt8] = [0x80 | opcode]
    let mark: UInt8 = isMasked ? 0x80 : 0
    if payload.count < 126 {
      frame.append(mark | UInt8(payload.count))
    } else if payload.count < 65_536 {
      frame += [mark | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    } else {
      frame.append(mark | 127)
      for shift in stride(from: 56, through: 0, by: -8) { frame.append(UInt8((payload.count >> shift) & 255)) }
    }
    let mask: [UInt8] = [1, 2, 3, 4]
    if isMasked { frame += mask }
    frame += isMasked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload
    send(frame)
  }

  func send(_ request: Livekit_SignalRequest) throws {
    sendFrame(try request.serializedBytes())
  }

  /// The next frame; nil when the connection ends.
  func frame() -> (opcode: UInt8, payload: [UInt8])? {
    guard fill(until: { $0.count >= 2 }) else { return nil }
    var length = Int(buffer[1] & 0x7f)
    var offset = 2
    if length == 126 {
      guard fill(until: { $0.count >= 4 }) else { return nil }
      length = Int(buffer[2]) << 8 | Int(buffer[3])
      offset = 4
    } else if length == 127 {
      guard fill(until: { $0.count >= 10 }) else { return nil }
      length = buffer[2..<10].reduce(0) { $0 << 8 | Int($1) }
      offset = 10
    }
    guard fill(until: { $0.count >= offset + length }) else { return nil }
    defer { buffer.removeFirst(offset + length) }
    return (buffer[0] & 15, Array(buffer[offset..<(offset + length)]))
  }

  /// The next message that `pick` takes; others are passed over. Nil when the connection ends before.
  func next<T>(_ pick: (Livekit_SignalResponse.OneOf_Message) -> T?) -> T? {
    while let frame = frame() {
      guard frame.opcode == 2, let response = try? Livekit_SignalResponse(serializedBytes: frame.payload),
        let message = response.message
      else { continue }
      if let value = pick(message) { return value }
    }
    return nil
  }
}
