import Glibc
import MediaCore
import TestKit

/// Tells what happens, on standard output: a line each, as text or as JSON.
struct Report {
  let isJSON: Bool

  func ready(_ ends: Ends, seed: UInt64) {
    tell(
      "ready", at: Clock.monotonic,
      [
        ("seed", "\(seed)"), ("near", quoted(ends.near.address)), ("far", quoted(ends.far.address)),
        ("outside", quoted(ends.outside(0))), ("carrier", quoted(ends.carrier)),
      ])
  }

  func happened(_ event: SeededNetwork<IPv4Packet>.Event, outside: String) {
    var fields = [("scope", quoted(event.scope.description)), ("text", quoted(event.text))]
    if event.kind == .rebind { fields.append(("outside", quoted(outside))) }
    tell(event.kind.rawValue, at: event.at, fields)
  }

  func mistake(_ text: String) { tell("mistake", at: Clock.monotonic, [("text", quoted(text))]) }

  func statistics(_ network: SeededNetwork<IPv4Packet>, untranslated: Int) {
    for direction in Direction.allCases {
      for kind in PacketClass.allCases {
        let counts = network.statistics(direction, kind)
        guard counts.sent > 0 else { continue }
        let fields: [(String, Int)] = [
          ("sent", counts.sent), ("bytes", counts.bytes), ("delivered", counts.delivered), ("lost", counts.lost),
          ("lostInBursts", counts.lostInBursts), ("cut", counts.cut), ("queueDrops", counts.queueDrops),
          ("reordered", counts.reordered), ("duplicated", counts.duplicated), ("corrupted", counts.corrupted),
        ]
        tell(
          "statistics", at: Clock.monotonic,
          [("packets", quoted("\(direction) \(kind)"))] + fields.map { ($0.0, "\($0.1)") })
      }
    }
    if untranslated > 0 { tell("untranslated", at: Clock.monotonic, [("packets", "\(untranslated)")]) }
  }

  func failed(_ error: WireError) { Self.write("wire: \(error.text)\n", to: 2) }
  func note(_ text: String) { Self.write("wire: \(text)\n", to: 2) }

  /// Both clocks, in seconds: other programs of a test have one of them.
  private func tell(_ event: String, at moment: Instant, _ fields: [(String, String)]) {
    let wall = moment.nanoseconds &+ Clock.wallOffset
    if isJSON {
      let all =
        [("event", quoted(event)), ("wall", Self.seconds(wall)), ("monotonic", Self.seconds(moment.nanoseconds))]
        + fields
      Self.write("{" + all.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}\n", to: 1)
    } else {
      Self.write(
        "\(Self.seconds(wall)) \(event): " + fields.map { "\($0.0) \($0.1)" }.joined(separator: ", ") + "\n", to: 1)
    }
  }

  private static func seconds(_ nanoseconds: Int64) -> String {
    let micros = nanoseconds / 1000
    return "\(micros / 1_000_000)." + String(String(1_000_000 + micros % 1_000_000).dropFirst())
  }

  private func quoted(_ text: String) -> String {
    guard isJSON else { return text }
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.value < 32: result += " "
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }
}

/// The machine's clocks.
enum Clock {
  static var monotonic: Instant { Instant(nanoseconds: read(CLOCK_MONOTONIC)) }
  /// Nanoseconds since 1970 minus monotonic ones.
  static var wallOffset: Int64 { read(CLOCK_REALTIME) &- read(CLOCK_MONOTONIC) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
