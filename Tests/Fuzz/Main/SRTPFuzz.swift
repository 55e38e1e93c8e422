import MediaCore

@testable import Transport

/// Feeds packets to SRTP: as they are, as somebody without keys can send them, and protected, as a peer that has the
/// keys can. The first byte chooses the profile.
func fuzzSRTP(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first, bytes.count > 1 else { return }
  let packet = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
  let ends = SRTPEnds.all[Int(choice) % SRTPEnds.all.count]
  precondition(ends.receiver.unprotectRTP(MediaBuffer(copying: packet)) != .good, "a forged packet is taken")
  if packet.count >= 8 {
    precondition(ends.receiver.unprotectRTCP(MediaBuffer(copying: packet)) != .good, "a forged report is taken")
    if let sealed = ends.sender.protectRTCP(packet) { _ = ends.receiver.unprotectRTCP(MediaBuffer(copying: sealed)) }
  }
  if packet.count >= 12 {
    if let sealed = ends.sender.protectRTP(packet) {
      let buffer = MediaBuffer(copying: sealed)
      if ends.receiver.unprotectRTP(buffer) == .good {
        precondition(buffer.bytes.elementsEqual(packet), "a packet does not come back")
      }
    }
    // The sender's sources are its own and few; only the receiver bounds them.
    ends.sender.remove(ssrc: UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    ends.sender.remove(ssrc: UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
  }
  precondition(ends.receiver.streamCount <= StreamTable.capacity)
}

private final class SRTPEnds {
  // The fuzzer runs one thread.
  nonisolated(unsafe) static let all = SRTPProfile.allCases.map { SRTPEnds($0) }
  let sender: SRTPSession
  let receiver: SRTPSession

  init(_ profile: SRTPProfile) {
    let count = profile.keyLength + profile.saltLength
    let keys = SRTPKeys(
      profile: profile, client: (0..<count).map { UInt8($0) }, server: (0..<count).map { UInt8($0 + 100) })
    guard let sender = try? SRTPSession(keys: keys, isClient: true),
      let receiver = try? SRTPSession(keys: keys, isClient: false)
    else { preconditionFailure("no session") }
    (self.sender, self.receiver) = (sender, receiver)
  }
}
