import MediaCore
import TestKit
import Testing

@testable import Transport

/// Whoever has no keys ends no connection and no handshake, whatever libssl makes of forged records.
@Suite struct ForgedRecordsTests {
  @Test(arguments: 1...8)
  func theHandshakeCompletesAmongForgedRecords(seed: UInt64) throws {
    let handshake = try Handshake()
    handshake.forgeries = { Forgery.harmless(seed: seed) + Forgery.strange(toServer: $0) }
    #expect(handshake.run(), "seed \(seed): \(handshake.ends)")
    #expect(handshake.ends == [])
  }

  @Test(arguments: [40, 20, 0, 255] as [UInt8])
  func aFatalAlertInClearTextEndsNoHandshake(description: UInt8) throws {
    for toServer in [true, false] {
      // Before each datagram that one of them gets.
      for step in 0..<4 {
        let handshake = try Handshake()
        var count = 0
        handshake.forgeries = {
          guard $0 == toServer else { return [] }
          count += 1
          return count == step + 1 ? [Forgery.record(21, [2, description])] : []
        }
        #expect(handshake.run())
        #expect(handshake.ends == [])
        #expect(handshake.client?.doubt == nil && handshake.server?.doubt == nil)
      }
    }
  }

  @Test(arguments: 1...4)
  func aConnectionSurvivesForgedRecords(seed: UInt64) throws {
    let handshake = try Handshake()
    #expect(handshake.run())
    for toServer in [true, false] {
      for record in Forgery.harmless(seed: seed) + Forgery.strange(toServer: toServer) {
        handshake.give(record, toServer: toServer)
      }
      // Of its own, or the other's, handshake, well-formed.
      for type in [UInt8(1), 2, 3, 11, 16] {
        handshake.give(Forgery.record(22, Forgery.message(type, [UInt8](repeating: 1, count: 40))), toServer: toServer)
      }
    }
    #expect(handshake.ends == [])
    #expect(handshake.client?.isConnected == true && handshake.server?.isConnected == true)
    #expect(handshake.send(fromClient: [1, 2, 3]) == [1, 2, 3])
    #expect(handshake.send(fromServer: [4, 5]) == [4, 5])
    #expect((handshake.server?.droppedRecords ?? 0) > 50)
  }

  /// Of every length around what the ciphers add.
  @Test func undecryptableRecordsOfEveryLengthAreDropped() throws {
    for toServer in [true, false] {
      let handshake = try Handshake()
      #expect(handshake.run())
      for count in 0...80 {
        for type in [UInt8(21), 22, 23] {
          let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
          handshake.give(Forgery.record(type, body, epoch: 1, number: UInt64(100 + count)), toServer: toServer)
        }
      }
      #expect(handshake.send(fromClient: [1]) == [1])
      #expect(handshake.send(fromServer: [2]) == [2])
      #expect(handshake.ends == [])
    }
  }

  @Test func aGenuineRecordBehindAForgedOneIsRead() throws {
    let handshake = try Handshake()
    #expect(handshake.run())
    _ = handshake.takeSent(byServer: false)
    let message: [UInt8] = [7, 8]
    _ = message.withUnsafeBytes { handshake.client?.send($0) }
    let genuine = try #require(handshake.takeSent(byServer: false).first)
    let forged = Forgery.record(23, [UInt8](repeating: 9, count: 40), epoch: 1, number: 1000)
    var read: [UInt8] = []
    (forged + genuine).withUnsafeBytes {
      handshake.server?.receive($0) { if case .data(let data) = $0 { read = Array(data) } }
    }
    #expect(read == [7, 8])
  }

  @Test func aServerThatOpenSSLGaveUpBeginsAnew() throws {
    let handshake = try Handshake()
    // A ClientHello that is none: OpenSSL ends its handshake, for good.
    var isSent = false
    handshake.forgeries = { toServer in
      guard toServer, !isSent else { return [] }
      isSent = true
      return [Forgery.record(22, Forgery.message(1, [UInt8](repeating: 0xff, count: 60)))]
    }
    #expect(handshake.run(), "\(handshake.ends)")
    #expect(handshake.ends == [])
  }

  @Test func aClientThatOpenSSLGaveUpGreetsAnew() throws {
    let handshake = try Handshake()
    handshake.client?.start { _ in }
    let hello = handshake.takeSent(byServer: false)
    #expect(hello.count == 1)
    handshake.give(Forgery.record(22, Forgery.message(2, [UInt8](repeating: 0xff, count: 60))), toServer: false)
    #expect(handshake.ends == [])
    #expect(handshake.client?.doubt != nil)
    // Its next greeting reached no server either; nobody heard an alert.
    let sent = handshake.takeSent(byServer: false)
    #expect(sent.allSatisfy { $0.first == 22 } && !sent.isEmpty && sent != hello)
    for greeting in sent { handshake.give(greeting, toServer: true) }
    #expect(handshake.run(), "\(handshake.ends)")
  }

  @Test func forgedGreetingsCostABoundedAmountOfWork() throws {
    let handshake = try Handshake()
    for _ in 0..<1000 {
      handshake.give(Forgery.record(22, Forgery.message(2, [UInt8](repeating: 0xff, count: 60))), toServer: false)
    }
    #expect(handshake.takeSent(byServer: false).count <= 8)
    #expect(handshake.ends == [])
  }

  @Test func whatAnAlertInClearTextSaidIsToldWhenTheHandshakeIsGivenUp() throws {
    let handshake = try Handshake()
    handshake.client?.start { _ in }
    handshake.give(Forgery.record(21, [2, 40]), toServer: false)
    #expect(handshake.ends == [])
    handshake.giveUp(server: false)
    #expect(handshake.ends.count == 1)
    #expect(handshake.ends.first?.contains("handshake failure") == true, "\(handshake.ends)")
    // A connection that is there is not given up.
    let other = try Handshake()
    #expect(other.run())
    other.giveUp(server: true)
    #expect(other.ends == [])
  }

  @Test func thePeerHearsTheLibrarysAlertOnlyWhenTheHandshakeIsGivenUp() throws {
    let handshake = try Handshake()
    handshake.give(Forgery.record(22, Forgery.message(1, [UInt8](repeating: 0xff, count: 60))), toServer: true)
    #expect(handshake.takeSent(byServer: true) == [])
    handshake.giveUp(server: true)
    let sent = handshake.takeSent(byServer: true)
    #expect(sent.count == 1 && sent.first?.first == 21)
    #expect(handshake.ends.count == 1)
  }

  @Test(arguments: [false, true])
  func closeNotifyUnderTheKeysEnds(byServer: Bool) throws {
    let handshake = try Handshake()
    #expect(handshake.run())
    _ = handshake.takeSent(byServer: byServer)
    (byServer ? handshake.server : handshake.client)?.close()
    for datagram in handshake.takeSent(byServer: byServer) { handshake.give(datagram, toServer: !byServer) }
    #expect(handshake.ends == [byServer ? "client closed" : "server closed"])
  }

  @Test func recordsOfTheEpochToComeWaitOnce() {
    var filter = DTLSRecordFilter(isClient: false)
    let finished = Forgery.record(22, [UInt8](repeating: 1, count: 40), epoch: 1, number: 0)
    #expect(finished.withUnsafeBytes { filter.judge($0) } == .pass)
    #expect(finished.withUnsafeBytes { filter.judge($0) } == .drop)
    filter.isConnected = true
    #expect(finished.withUnsafeBytes { filter.judge($0) } == .pass)
  }

  @Test func recordNumbersOfEpochZeroAreOurs() {
    var filter = DTLSRecordFilter(isClient: false)
    for expected in 0..<5 {
      let record = Forgery.record(22, Forgery.message(1, [1, 2, 3]), number: (1 << 48) - 1)
      #expect(record.withUnsafeBytes { filter.judge($0) } == .renumber(UInt64(expected)))
    }
  }

  @Test func theFilterIsTotal() {
    var bytes = SeededRandomBytes(seed: 11)
    for round in 0..<20_000 {
      var filter = DTLSRecordFilter(isClient: round.isMultiple(of: 2))
      filter.isConnected = round.isMultiple(of: 3)
      var datagram = bytes.next(upTo: 120)
      if datagram.count > 4 { datagram[0] = 20 + datagram[0] % 4 }
      datagram.withUnsafeBytes { datagram in
        var offset = 0
        while let record = DTLSRecordFilter.nextRecord(of: datagram, from: offset) {
          offset += record.count
          _ = filter.judge(record)
        }
        #expect(offset <= datagram.count)
        #expect(DTLSRecordFilter.nextRecord(of: datagram, from: -1) == nil)
      }
    }
  }

  @Test func aDoubtedHandshakeIsGivenUpSooner() {
    var deadline = HandshakeDeadline(began: .nanoseconds(5))
    #expect(deadline.due == Instant.nanoseconds(5) + HandshakeDeadline.limit)
    deadline.doubt(at: .seconds(1))
    #expect(deadline.due == Instant.seconds(1) + HandshakeDeadline.doubtLimit)
    // Further signs, which anybody can send, put nothing off.
    deadline.doubt(at: .seconds(9))
    #expect(deadline.due == Instant.seconds(1) + HandshakeDeadline.doubtLimit)
    var late = HandshakeDeadline(began: .zero)
    late.doubt(at: .zero + HandshakeDeadline.limit - .nanoseconds(1))
    #expect(late.due == Instant.zero + HandshakeDeadline.limit)
  }
}
