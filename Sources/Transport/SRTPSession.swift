import CSRTP
import MediaCore

/// Owner of two `srtp_t`, one for each direction (RFC 3711, RFC 7714). Confined to its loop.
final class SRTPSession {
  enum Verdict {
    case good
    case authenticationFailed
    case replayed
    case malformed
  }

  private let inbound: srtp_t
  private let outbound: srtp_t
  private let gcmBits: Int32
  private var inboundKey: [UInt8]
  // Made by libsrtp2 when their first packet is accepted, not before.
  private var streams = StreamTable()
  private var failedTries = 0
  private var scratch = MediaBuffer(capacity: SRTPSession.capacity)

  private static let capacity = 4096
  /// Bytes that protecting can add.
  static let trailer = Int(SRTP_MAX_TRAILER_LEN) + 4
  // A stream whose first packets were lost around the wrap of its sequence number begins for us with a small number.
  private static let newlyWrapped: UInt16 = 4096
  // Each try costs the derivation of keys. Where many fail, packets are forged: then one in so many is tried, and a
  // genuine stream begins so many packets later.
  private static let freeTries = 64
  private static let triedShare = 16

  /// Streams for which libsrtp2 keeps state on the way in.
  var streamCount: Int { streams.count }

  init(keys: SRTPKeys, isClient: Bool) throws(TransportError) {
    guard SRTPSession.initialized == srtp_err_status_ok else {
      throw .srtp(Int32(bitPattern: SRTPSession.initialized.rawValue))
    }
    gcmBits = keys.profile.gcmBits
    inboundKey = isClient ? keys.server : keys.client
    var outboundKey = isClient ? keys.client : keys.server
    var session: srtp_t?
    var status = csrtp_create(&session, gcmBits, &inboundKey, 0)
    guard status == srtp_err_status_ok, let first = session else {
      throw .srtp(Int32(bitPattern: status.rawValue))
    }
    session = nil
    status = csrtp_create(&session, gcmBits, &outboundKey, 1)
    guard status == srtp_err_status_ok, let second = session else {
      srtp_dealloc(first)
      throw .srtp(Int32(bitPattern: status.rawValue))
    }
    inbound = first
    outbound = second
  }

  deinit {
    srtp_dealloc(inbound)
    srtp_dealloc(outbound)
  }

  /// Checks and decrypts an SRTP packet (at least 12 bytes) in place. The content is undefined unless `.good`.
  func unprotectRTP(_ buffer: MediaBuffer) -> Verdict {
    let bytes = buffer.bytes
    guard bytes.count >= 12 else { return .malformed }
    let ssrc = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    let isKnown = streams.hasMedia(ssrc)
    let sequence = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    let mayHaveWrapped = !isKnown && sequence < SRTPSession.newlyWrapped && bytes.count <= SRTPSession.capacity
    if mayHaveWrapped {
      scratch.setCount(0)
      scratch.append(bytes)
    }
    var length = Int32(truncatingIfNeeded: bytes.count)
    let status = srtp_unprotect(inbound, buffer.base, &length)
    if status == srtp_err_status_ok {
      accepted(ssrc, isMedia: true)
      buffer.setCount(Int(length))
      return .good
    }
    if mayHaveWrapped, status == srtp_err_status_auth_fail {
      failedTries &+= 1
      if failedTries <= SRTPSession.freeTries || failedTries.isMultiple(of: SRTPSession.triedShare) {
        return unprotectWrapped(buffer, ssrc: ssrc)
      }
    }
    return SRTPSession.verdict(status)
  }

  /// Checks and decrypts an SRTCP packet in place. The content is undefined unless `.good`.
  func unprotectRTCP(_ buffer: MediaBuffer) -> Verdict {
    var length = Int32(truncatingIfNeeded: buffer.count)
    let status = srtp_unprotect_rtcp(inbound, buffer.base, &length)
    guard status == srtp_err_status_ok else { return SRTPSession.verdict(status) }
    let bytes = buffer.bytes
    if bytes.count >= 8 {
      accepted(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)), isMedia: false)
    }
    buffer.setCount(Int(length))
    return .good
  }

  /// Protects a copy of an RTP packet. The result is valid until the next call of any method; nil when the packet is
  /// malformed or too large.
  func protectRTP(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard bytes.count >= 12, bytes.count + SRTPSession.trailer <= SRTPSession.capacity else { return nil }
    scratch.setCount(0)
    scratch.append(bytes)
    var length = Int32(truncatingIfNeeded: bytes.count)
    guard srtp_protect(outbound, scratch.base, &length) == srtp_err_status_ok else { return nil }
    return UnsafeRawBufferPointer(start: scratch.base, count: Int(length))
  }

  /// As `protectRTP`, for a compound RTCP packet.
  func protectRTCP(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard bytes.count >= 8, bytes.count + SRTPSession.trailer <= SRTPSession.capacity else { return nil }
    scratch.setCount(0)
    scratch.append(bytes)
    var length = Int32(truncatingIfNeeded: bytes.count)
    guard srtp_protect_rtcp(outbound, scratch.base, &length) == srtp_err_status_ok else { return nil }
    return UnsafeRawBufferPointer(start: scratch.base, count: Int(length))
  }

  /// Forgets a stream in both directions; look-up in libsrtp2 is linear, so that dead streams cost time too.
  func remove(ssrc: UInt32) {
    streams.remove(ssrc)
    _ = csrtp_remove(inbound, ssrc)
    _ = csrtp_remove(outbound, ssrc)
  }

  /// The sender's counter rolled over before its first packet came through: try the next one (RFC 3711 section 3.3.1
  /// leaves a late joiner to be told by other means).
  private func unprotectWrapped(_ buffer: MediaBuffer, ssrc: UInt32) -> Verdict {
    guard csrtp_add(inbound, gcmBits, &inboundKey, ssrc, 1) == srtp_err_status_ok else {
      return .authenticationFailed
    }
    buffer.setCount(0)
    buffer.append(scratch.bytes)
    var length = Int32(truncatingIfNeeded: buffer.count)
    let status = srtp_unprotect(inbound, buffer.base, &length)
    guard status == srtp_err_status_ok else {
      _ = csrtp_remove(inbound, ssrc)
      return SRTPSession.verdict(status)
    }
    failedTries = 0
    accepted(ssrc, isMedia: true)
    buffer.setCount(Int(length))
    return .good
  }

  private func accepted(_ ssrc: UInt32, isMedia: Bool) {
    if let gone = streams.accepted(ssrc, isMedia: isMedia) { _ = csrtp_remove(inbound, gone) }
  }

  private static func verdict(_ status: srtp_err_status_t) -> Verdict {
    switch status {
    case srtp_err_status_auth_fail: .authenticationFailed
    case srtp_err_status_replay_fail, srtp_err_status_replay_old: .replayed
    default: .malformed
    }
  }

  private static let initialized: srtp_err_status_t = srtp_init()
}
