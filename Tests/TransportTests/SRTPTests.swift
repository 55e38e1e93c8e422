import MediaCore
import Testing

@testable import Transport

@Suite struct SRTPTests {
  /// A sender and a receiver with keys of their own.
  private func sessions(_ profile: SRTPProfile) throws -> (sender: SRTPSession, receiver: SRTPSession) {
    let count = profile.keyLength + profile.saltLength
    let keys = SRTPKeys(
      profile: profile, client: (0..<count).map { UInt8($0) }, server: (0..<count).map { UInt8($0 + 100) })
    return (try SRTPSession(keys: keys, isClient: true), try SRTPSession(keys: keys, isClient: false))
  }

  private func protect(_ session: SRTPSession, _ packet: [UInt8]) -> MediaBuffer? {
    packet.withUnsafeBytes { session.protectRTP($0).map { MediaBuffer(copying: $0) } }
  }

  private func sequences(from first: UInt16, count: Int) -> [UInt16] { (0..<count).map { first &+ UInt16($0) } }

  @Test(arguments: SRTPProfile.allCases)
  func roundTripsRTPAndRTCP(profile: SRTPProfile) throws {
    let (sender, receiver) = try sessions(profile)
    for sequence in sequences(from: 1, count: 100) {
      let packet = rtpPacket(sequence: sequence, payload: Int(sequence) * 10)
      let buffer = try #require(protect(sender, packet))
      #expect(Array(buffer.bytes) != packet)
      #expect(receiver.unprotectRTP(buffer) == .good)
      #expect(Array(buffer.bytes) == packet)
    }
    let report = try #require(
      receiverReport.withUnsafeBytes { sender.protectRTCP($0).map { MediaBuffer(copying: $0) } })
    #expect(receiver.unprotectRTCP(report) == .good)
    #expect(Array(report.bytes) == receiverReport)
  }

  @Test(arguments: SRTPProfile.allCases)
  func survivesTheWrapOfTheSequenceNumberUnderLoss(profile: SRTPProfile) throws {
    let (sender, receiver) = try sessions(profile)
    var random = SeededRandom(seed: 3)
    for sequence in sequences(from: 65_500, count: 2000) {
      let packet = rtpPacket(sequence: sequence)
      let buffer = try #require(protect(sender, packet))
      guard Int.random(in: 0..<10, using: &random) >= 3 else { continue }
      #expect(receiver.unprotectRTP(buffer) == .good)
      #expect(Array(buffer.bytes) == packet)
    }
  }

  @Test(arguments: SRTPProfile.allCases)
  func acceptsAStreamWhoseFirstPacketsWereLostAroundTheWrap(profile: SRTPProfile) throws {
    let (sender, receiver) = try sessions(profile)
    for (index, sequence) in sequences(from: 65_500, count: 200).enumerated() {
      let packet = rtpPacket(sequence: sequence)
      let buffer = try #require(protect(sender, packet))
      guard index >= 60 else { continue }
      #expect(receiver.unprotectRTP(buffer) == .good)
      #expect(Array(buffer.bytes) == packet)
    }
  }

  @Test func acceptsRetransmissionsFromBeforeTheWrap() throws {
    let (sender, receiver) = try sessions(.aes128SHA1)
    var late: [MediaBuffer] = []
    for (index, sequence) in sequences(from: 65_500, count: 200).enumerated() {
      let buffer = try #require(protect(sender, rtpPacket(sequence: sequence)))
      if index % 7 == 3 { late.append(buffer) } else { #expect(receiver.unprotectRTP(buffer) == .good) }
    }
    for buffer in late { #expect(receiver.unprotectRTP(buffer) == .good) }
  }

  @Test func sendsTheSamePacketAgain() throws {
    let (sender, receiver) = try sessions(.aes128GCM)
    let packet = rtpPacket(sequence: 9)
    let first = try #require(protect(sender, packet))
    let second = try #require(protect(sender, packet))
    #expect(Array(first.bytes) == Array(second.bytes))
    #expect(receiver.unprotectRTP(second) == .good)
    #expect(receiver.unprotectRTP(first) == .replayed)
  }

  @Test(arguments: SRTPProfile.allCases)
  func rejectsEveryDamagedByte(profile: SRTPProfile) throws {
    let (sender, receiver) = try sessions(profile)
    let good = try #require(protect(sender, rtpPacket(sequence: 40_000, payload: 20)))
    for position in 0..<good.count {
      let bad = MediaBuffer(copying: good.bytes)
      bad.mutableBytes[position] ^= 0x10
      #expect(receiver.unprotectRTP(bad) != .good)
    }
    for length in 0..<good.count {
      let short = MediaBuffer(copying: good.bytes)
      short.setCount(length)
      #expect(receiver.unprotectRTP(short) != .good)
      #expect(receiver.unprotectRTCP(MediaBuffer(copying: short.bytes)) != .good)
    }
    #expect(receiver.unprotectRTP(good) == .good)
  }

  @Test func junkWithNewNumbersLeavesNoStreamBehind() throws {
    let (sender, receiver) = try sessions(.aes128SHA1)
    for ssrc in 0..<UInt32(5000) {
      #expect(receiver.unprotectRTP(MediaBuffer(rtpPacket(sequence: 5, ssrc: ssrc))) == .authenticationFailed)
    }
    let good = try #require(protect(sender, rtpPacket(sequence: 5, ssrc: 77)))
    #expect(receiver.unprotectRTP(good) == .good)
  }

  /// A peer that has the keys makes numbers up: the memory stays bounded, and those that flow go on over a wrap.
  @Test func madeUpSourcesOfAPeerWithKeysPushNobodyOut() throws {
    let (sender, receiver) = try sessions(.aes128GCM)
    var sequence: UInt16 = 65_000
    for made in 0..<UInt32(6000) {
      let forged = try #require(protect(sender, rtpPacket(sequence: 1, ssrc: 0x4000_0000 + made, payload: 1)))
      #expect(receiver.unprotectRTP(forged) == .good)
      sender.remove(ssrc: 0x4000_0000 + made)
      if made.isMultiple(of: 5) {
        let genuine = try #require(protect(sender, rtpPacket(sequence: sequence, ssrc: 9, payload: 1)))
        #expect(receiver.unprotectRTP(genuine) == .good)
        sequence &+= 1
      }
    }
    #expect(receiver.streamCount <= StreamTable.capacity)
  }

  @Test func forgedPacketsDoNotKeepAStreamFromBeginning() throws {
    let (sender, receiver) = try sessions(.aes128SHA1)
    for ssrc in 0..<UInt32(3000) {
      #expect(receiver.unprotectRTP(MediaBuffer(rtpPacket(sequence: 5, ssrc: ssrc))) == .authenticationFailed)
    }
    // The sender has wrapped before its first packet came through.
    var heard = 0
    for (index, sequence) in sequences(from: 65_500, count: 200).enumerated() {
      let buffer = try #require(protect(sender, rtpPacket(sequence: sequence)))
      if index >= 60, receiver.unprotectRTP(buffer) == .good { heard += 1 }
    }
    #expect(heard >= 140 - 16)
  }

  @Test func refusesPacketsThatAreTooLargeOrTooSmall() throws {
    let (sender, _) = try sessions(.aes128GCM)
    #expect(protect(sender, rtpPacket(sequence: 1, payload: 5000)) == nil)
    #expect(protect(sender, [0x80, 96, 0, 1]) == nil)
    #expect(protect(sender, []) == nil)
  }
}
