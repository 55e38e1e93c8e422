import MediaCore

/// DTLS records as an attacker makes them who has no keys.
enum Forgery {
  /// A record of this content.
  static func record(
    _ type: UInt8, _ body: [UInt8], version: UInt16 = 0xfefd, epoch: UInt16 = 0, number: UInt64 = 0, length: Int? = nil
  ) -> [UInt8] {
    let count = length ?? body.count
    return [type, UInt8(version >> 8), UInt8(version & 0xff), UInt8(epoch >> 8), UInt8(epoch & 0xff)]
      + (0..<6).map { UInt8(truncatingIfNeeded: number >> (40 - 8 * $0)) }
      + [UInt8(count >> 8 & 0xff), UInt8(count & 0xff)] + body
  }

  /// A fragment of a handshake message; the lengths may lie.
  static func message(
    _ type: UInt8, _ body: [UInt8], sequence: UInt16 = 0, length: Int? = nil, begin: Int = 0, count: Int? = nil
  ) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [UInt8(value >> 16 & 0xff), UInt8(value >> 8 & 0xff), UInt8(value & 0xff)] }
    return [type] + number(length ?? body.count) + [UInt8(sequence >> 8), UInt8(sequence & 0xff)] + number(begin)
      + number(count ?? body.count) + body
  }

  /// Records that no handshake and no connection may suffer from, whoever takes them and whenever they come.
  static func harmless(seed: UInt64) -> [[UInt8]] {
    var random = SeededRandom(seed: seed)
    func junk(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }
    let last: UInt64 = (1 << 48) - 1
    var records: [[UInt8]] = []
    for version in [UInt16(0xfefd), 0xfeff, 0x0100, 0x0303] {
      // handshake_failure, bad_record_mac, decode_error, close_notify as fatal alerts, as warnings, and torn.
      for description in [UInt8(40), 20, 50, 0] {
        records.append(record(21, [2, description], version: version, number: last))
        records.append(record(21, [1, description], version: version))
      }
      records.append(record(21, [2], version: version))
      records.append(record(21, [2, 40, 2, 40], version: version))
      records.append(record(21, [7, 40], version: version))
    }
    // ChangeCipherSpec too early, too long, of another value, empty.
    for body in [[1], [1, 1], [2], [], [0]] as [[UInt8]] { records.append(record(20, body, number: last)) }
    // Data in clear text, unknown types.
    for type in [UInt8(23), 24, 19, 63] { records.append(record(type, junk(40))) }
    // Lying lengths: of records, messages, fragments.
    records.append(record(22, junk(10), length: 60_000))
    records.append(record(22, message(1, junk(8))) + [22, 254])
    for type in [UInt8(1), 2, 3, 11, 12, 14, 16, 20] {
      records.append(record(22, message(type, junk(8), length: 0xff_ffff)))
      records.append(record(22, message(type, junk(8), length: 4)))
      records.append(record(22, message(type, junk(8), begin: 0xff_fff0)))
      records.append(record(22, message(type, junk(8), length: 20, begin: 14)))
      records.append(record(22, message(type, junk(8), count: 900)))
      records.append(record(22, message(type, [], length: 100)))
      records.append(record(22, Array(message(type, []).prefix(11))))
      records.append(record(22, message(type, junk(30), sequence: 0xffff), number: last))
    }
    // Undecryptable records of the epoch to come or present, of epochs that never come, too short ones.
    for type in [UInt8(20), 21, 22, 23, 25] {
      for count in [1, 4, 15, 16, 24, 25, 64, 1100] {
        records.append(record(type, junk(count), epoch: 1, number: UInt64.random(in: 50...last, using: &random)))
      }
      records.append(record(type, junk(40), epoch: 2))
      records.append(record(type, junk(40), epoch: 0xffff, number: last))
    }
    return records.shuffled(using: &random)
  }

  /// Messages for the other role: a client gets what only servers take, and the other way round.
  static func strange(toServer: Bool) -> [[UInt8]] {
    let types: [UInt8] = toServer ? [0, 2, 3, 4, 12, 13, 14] : [0, 1, 15, 16]
    return types.flatMap { type in
      (0..<6).map { record(22, message(type, [UInt8](repeating: 0, count: type == 14 ? 0 : 60), sequence: $0)) }
    }
  }
}
