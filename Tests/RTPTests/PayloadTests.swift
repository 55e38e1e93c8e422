import MediaCore
import Testing

@testable import RTP

@Suite struct VP8PayloadTests {
  func parse(_ bytes: [UInt8]) -> VideoPayload? { bytes.withUnsafeBytes { VP8Depacketizer.parse($0) } }

  @Test func readsTheFullDescriptorOfRFC7741() throws {
    // X N S PID 0; I L T K; M 0x1234; TL0PICIDX 0x56; TID 2 Y KEYIDX 7; a delta frame's first byte.
    let payload = try #require(parse(hex("b0 f0 9234 56 a7 11 00")))
    #expect(payload.headerCount == 6)
    #expect(payload.isNonReference)
    #expect(payload.startsFrame)
    #expect(payload.pictureID == 0x1234)
    #expect(payload.hasLongPictureID)
    #expect(payload.baseLayerIndex == 0x56)
    #expect(payload.temporalLayer == 2)
    #expect(payload.isLayerSync)
    #expect(payload.keyIndex == 7)
    #expect(!payload.isKeyframe)
  }

  @Test func readsTheShortForms() throws {
    let plain = try #require(parse(hex("10 11")))
    #expect(plain.headerCount == 1)
    #expect(plain.pictureID == nil)
    let short = try #require(parse(hex("80 80 7f 00")))
    #expect(short.pictureID == 0x7f)
    #expect(!short.hasLongPictureID)
    #expect(!short.startsFrame)
    #expect(try #require(parse(hex("11 11"))).startsFrame == false)
    let keyOnly = try #require(parse(hex("90 10 05 11")))
    #expect(keyOnly.keyIndex == 5)
    #expect(keyOnly.temporalLayer == nil)
  }

  @Test(arguments: ["", "10", "90", "90 80", "90 80 92", "90 80 9234", "90 f0 9234 56", "90 f0 9234 56 a7"])
  func refusesWhatIsCutShort(text: String) {
    #expect(parse(hex(text)) == nil)
  }

  @Test func readsSizeOfAKeyframe() throws {
    // 640x360 with scaling hints in the upper bits (RFC 6386 section 9.1).
    let payload = try #require(parse(hex("10 10 02 00 9d 01 2a 80 42 68 81")))
    #expect(payload.isKeyframe)
    #expect(payload.width == 640)
    #expect(payload.height == 360)
    #expect(parse(hex("10 10 02 00 9d 01 2b 80 42 68 81")) == nil)
  }

  @Test(arguments: [1, 10, 1156, 1157, 5000, 100_000]) func packetizedFrameComesBack(count: Int) throws {
    let frame = vp8Frame(keyframe: true, count: count, fill: 3)
    var packetizer = VP8Packetizer(pictureID: 0x7fff)
    for (expected, layer) in [
      (UInt16(0x7fff), nil), (0, VP8Packetizer.TemporalLayer(layer: 1, baseLayerIndex: 255, isLayerSync: true)),
    ] {
      let plan = packetizer.packetize(frameCount: frame.count, temporalLayer: layer)
      var joined: [UInt8] = []
      var sizes: [Int] = []
      for index in 0..<plan.count {
        let buffer = MediaBuffer(capacity: 1500)
        #expect(frame.withUnsafeBytes { plan.append(index, of: $0, to: buffer) })
        let payload = try #require(VP8Depacketizer.parse(buffer.bytes))
        #expect(payload.startsFrame == (index == 0))
        #expect(payload.pictureID == expected)
        #expect(payload.temporalLayer == layer?.layer)
        #expect(payload.baseLayerIndex == layer?.baseLayerIndex)
        #expect(buffer.count <= 1160)
        sizes.append(buffer.count)
        joined += buffer.bytes.dropFirst(payload.headerCount)
      }
      #expect(joined == frame)
      #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1)
      let wrong = frame.withUnsafeBytes { plan.append(plan.count, of: $0, to: MediaBuffer(capacity: 1500)) }
      #expect(!wrong)
    }
  }

  @Test func emptyFrameMakesNoPackets() {
    var packetizer = VP8Packetizer()
    #expect(packetizer.packetize(frameCount: 0).count == 0)
    #expect(packetizer.packetize(frameCount: -1).count == 0)
  }
}

@Suite struct VP9PacketizerTests {
  @Test(arguments: [true, false], [12, 1152, 1153, 5000, 100_000])
  func packetizedFrameComesBack(isKeyframe: Bool, count: Int) throws {
    // 640x360 (VP9 specification, section 6.2), or a frame that is predicted.
    let head = hex(isKeyframe ? "82 498342 20 27f0 1670" : "86 00")
    let frame = head + [UInt8](repeating: 3, count: count - head.count)
    var packetizer = VP9Packetizer(pictureID: 0x7fff)
    for expected in [UInt16(0x7fff), 0] {
      let plan = frame.withUnsafeBytes { packetizer.packetize($0) }
      var joined: [UInt8] = []
      for index in 0..<plan.count {
        let buffer = MediaBuffer(capacity: 1500)
        #expect(frame.withUnsafeBytes { plan.append(index, of: $0, to: buffer) })
        let payload = try #require(VP9Depacketizer.parse(buffer.bytes))
        #expect((payload.start == .always) == (index == 0))
        #expect(payload.pictureID == expected)
        #expect(payload.isKeyframe == (isKeyframe && index == 0))
        #expect((buffer.bytes[0] & 0x04 != 0) == (index == plan.count - 1))
        #expect(buffer.count <= 1160)
        if isKeyframe, index == 0 { #expect(Array(buffer.bytes[3..<8]) == hex("10 0280 0168")) }
        joined += buffer.bytes.dropFirst(payload.headerCount)
      }
      #expect(joined == frame)
    }
    let other = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(packetizer.packetize(other).count == 0)
  }
}

@Suite struct OpusPacketizerTests {
  @Test func markerBeginsEveryTalkspurt() {
    var packetizer = OpusPacketizer()
    let markers = [UInt32(4_294_966_816), 480, 96_000, 96_960].map { time in
      hex("f8ffff").withUnsafeBytes { packetizer.marker(for: $0, timestamp: time) }
    }
    #expect(markers == [true, false, true, false])
  }
}

@Suite struct REDTests {
  @Test func readsTheBlocksOfRFC2198() throws {
    // Two redundant blocks of type 5 and 111, then the primary of type 111.
    let bytes = hex("85 0f0002 ef 078003 6f aabb c1c2c3 d1d2")
    try bytes.withUnsafeBytes { raw in
      let red = try #require(REDDepacketizer(raw))
      #expect(red.redundantCount == 2)
      let first = try #require(red.redundant(0))
      #expect(first.payloadType == PayloadType(5))
      #expect(first.timestampOffset == 960)
      #expect(Array(red.bytes(of: first)) == hex("aabb"))
      let second = try #require(red.redundant(1))
      #expect(second.timestampOffset == 480)
      #expect(Array(red.bytes(of: second)) == hex("c1c2c3"))
      #expect(Array(red.bytes(of: red.primary)) == hex("d1d2"))
      #expect(red.redundant(2) == nil)
      #expect(red.redundant(-1) == nil)
    }
  }

  @Test(arguments: ["", "85", "85 0f00", "85 0f0002", "85 0f0002 6f aa"]) func refusesWhatIsCutShort(text: String) {
    hex(text).withUnsafeBytes { #expect(REDDepacketizer($0) == nil) }
  }

  @Test func headersAreGivenAnotherPayloadType() throws {
    hex("ef 1e0003 ef 0f0003 6f aabbcc ddeeff 11").withUnsafeBytes { bytes in
      let red = REDDepacketizer(bytes)
      #expect(red?.withHeaders(payloadType: PayloadType(96)) { Array($0) } == hex("e0 1e0003 e0 0f0003 60"))
      #expect(red?.headerCount == 9)
    }
  }

  @Test func moreBlocksThanAnybodyRepeatsAreRefused() {
    for (count, isRead) in [(REDDepacketizer.maximumRedundantCount, true), (33, false), (300, false)] {
      let payload = [UInt8](Array(repeating: [0xef, 0, 0, 0], count: count).joined()) + [0x6f]
      payload.withUnsafeBytes { #expect((REDDepacketizer($0) != nil) == isRead) }
    }
  }

  @Test func packetizerRepeatsThePacketsBefore() throws {
    var packetizer = REDPacketizer(distance: 2)
    var found: [[UInt8]] = []
    for (time, payload) in [(UInt32.max - 479, "aa"), (480, "bbbb"), (1440, "cc"), (60_000, "dd")] {
      let buffer = MediaBuffer(capacity: 100)
      #expect(
        hex(payload).withUnsafeBytes { bytes in
          packetizer.append(bytes, payloadType: PayloadType(111), timestamp: time, to: buffer)
        })
      found.append(buffer.array)
    }
    #expect(found[0] == hex("6f aa"))
    #expect(found[1] == hex("ef 0f0001 6f aa bbbb"))
    #expect(found[2] == hex("ef 1e0001 ef 0f0002 6f aa bbbb cc"))
    // Too long ago for the 14 bits of the offset.
    #expect(found[3] == hex("6f dd"))
  }
}
