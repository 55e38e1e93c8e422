/// Decides which records of DTLS 1.2 OpenSSL sees (RFC 6347 section 4.1). Until keys are agreed nothing vouches for a
/// record; afterwards only those of the agreed epoch can be genuine. A value over bytes: total, and without OpenSSL.
///
/// What must not reach the library is what would put it into an error for good, or let it drop what is genuine:
/// alerts in clear text, which anybody can have sent (section 4.1.2.7 lets them be discarded), data in clear text,
/// messages of the other role, lying lengths, and record numbers of epoch 0 far ahead of the sender's.
struct DTLSRecordFilter {
  /// What is to be done with a record.
  enum Verdict: Equatable {
    /// OpenSSL may have it.
    case pass
    /// OpenSSL may have it with this record number: nothing vouches for those of epoch 0, and a forged one near the
    /// end of the window against replays would let all genuine records seem old.
    case renumber(UInt64)
    /// Nobody may have it.
    case drop
    /// Nobody may have it, but it is worth remembering what it said (RFC 5246 section 7.2): a fatal alert or
    /// close_notify that nobody vouches for.
    case alert(UInt8)
  }

  /// Bytes of a record's header.
  static let headerCount = 13
  /// Set when the keys are agreed: from then on only their epoch counts.
  var isConnected = false
  /// Bytes of the shortest body under the agreed keys: what the cipher adds. OpenSSL takes a shorter one for an error
  /// of its own, after which it reads nothing any more (up to 3.0.20). AES-GCM adds most (RFC 5288 section 3).
  var shortestBody = DTLSRecordFilter.overheadGCM

  /// What AES-GCM adds: the explicit nonce and the tag.
  static let overheadGCM = 24
  /// What ChaCha20-Poly1305 adds: the tag (RFC 7905 section 2).
  static let overheadChaCha = 16

  private let isClient: Bool
  private var nextNumber: UInt64 = 0
  // Records of the epoch to come wait inside OpenSSL; some releases take two of the same number for an internal error.
  private var waiting: Set<UInt64> = []

  private static let version12: UInt16 = 0xfefd
  // Of the first ClientHello and of HelloVerifyRequest (RFC 6347 section 4.2.1).
  private static let version10: UInt16 = 0xfeff
  private static let maximumBody = 16_384 + 256
  private static let messageHeader = 12
  // Certificates of WebRTC have less than two kilobytes. OpenSSL claims as much memory as a fragment announces.
  private static let maximumMessage = 16_384
  // No handshake has more messages than this from one side.
  private static let maximumMessages = 16
  // More than OpenSSL keeps (100).
  private static let maximumWaiting = 256
  private static let closeNotify: UInt8 = 0
  private static let fatal: UInt8 = 2

  init(isClient: Bool) { self.isClient = isClient }

  /// The bytes of the next record, header included; nil at the end, and where a length lies. What follows a lying
  /// length can't be told apart.
  static func nextRecord(of datagram: UnsafeRawBufferPointer, from offset: Int) -> UnsafeRawBufferPointer? {
    guard offset >= 0, datagram.count - offset >= headerCount else { return nil }
    let body = Int(number(datagram, at: offset + 11, count: 2))
    guard body <= datagram.count - offset - headerCount else { return nil }
    return UnsafeRawBufferPointer(rebasing: datagram[offset..<(offset + headerCount + body)])
  }

  /// Judges one record as `nextRecord` gives it.
  mutating func judge(_ record: UnsafeRawBufferPointer) -> Verdict {
    guard record.count > DTLSRecordFilter.headerCount,
      record.count <= DTLSRecordFilter.headerCount + DTLSRecordFilter.maximumBody
    else { return .drop }
    let type = record[0]
    let version = UInt16(truncatingIfNeeded: DTLSRecordFilter.number(record, at: 1, count: 2))
    let epoch = DTLSRecordFilter.number(record, at: 3, count: 2)
    let body = UnsafeRawBufferPointer(rebasing: record.dropFirst(DTLSRecordFilter.headerCount))
    // There is no renegotiation: epoch 1 is the last one.
    if epoch == 1 {
      guard version == DTLSRecordFilter.version12, (21...23).contains(type), body.count >= shortestBody else {
        return .drop
      }
      return isConnected || isNew(DTLSRecordFilter.number(record, at: 5, count: 6)) ? .pass : .drop
    }
    guard epoch == 0, !isConnected, version == DTLSRecordFilter.version12 || version == DTLSRecordFilter.version10
    else { return .drop }
    switch type {
    case 20 where body.count == 1 && body[0] == 1: break
    case 21:
      guard body.count == 2, body[0] == DTLSRecordFilter.fatal || body[1] == DTLSRecordFilter.closeNotify else {
        return .drop
      }
      return .alert(body[1])
    case 22 where areGood(messages: body): break
    default: return .drop
    }
    defer { nextNumber += 1 }
    return .renumber(nextNumber)
  }

  /// True for alerts in clear text, of which the peer must hear only when the handshake is given up: they may be our
  /// library's answer to a forged record, and many peers believe them.
  static func isClearAlert(_ record: UnsafeRawBufferPointer) -> Bool {
    record.count >= headerCount && record[0] == 21 && number(record, at: 3, count: 2) == 0
  }

  private mutating func isNew(_ number: UInt64) -> Bool {
    if waiting.contains(number) { return false }
    if waiting.count < DTLSRecordFilter.maximumWaiting { waiting.insert(number) }
    return true
  }

  /// Whether all handshake messages of a record, or fragments of them, keep to their lengths and may come from the
  /// other role before its Finished (RFC 6347 section 4.2.2).
  private func areGood(messages body: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    while offset < body.count {
      guard body.count - offset >= DTLSRecordFilter.messageHeader else { return false }
      let length = DTLSRecordFilter.number(body, at: offset + 1, count: 3)
      let sequence = DTLSRecordFilter.number(body, at: offset + 4, count: 2)
      let begin = DTLSRecordFilter.number(body, at: offset + 6, count: 3)
      let count = DTLSRecordFilter.number(body, at: offset + 9, count: 3)
      guard isExpected(body[offset]), length <= DTLSRecordFilter.maximumMessage,
        sequence < DTLSRecordFilter.maximumMessages, begin + count <= length, count > 0 || length == 0,
        Int(count) <= body.count - offset - DTLSRecordFilter.messageHeader
      else { return false }
      offset += DTLSRecordFilter.messageHeader + Int(count)
    }
    return true
  }

  private func isExpected(_ message: UInt8) -> Bool {
    switch message {
    // ServerHello, HelloVerifyRequest, ServerKeyExchange, CertificateRequest, ServerHelloDone.
    case 2, 3, 12, 13, 14: isClient
    // ClientHello, CertificateVerify, ClientKeyExchange.
    case 1, 15, 16: !isClient
    // Certificate.
    case 11: true
    default: false
    }
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int, count: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in offset..<(offset + count) { value = value << 8 | UInt64(bytes[index]) }
    return value
  }
}
