import Testing

@testable import WebM

/// The arithmetic below the files.
@Suite struct ElementTests {
  private func bytes(_ body: (inout EBMLBuffer) -> Void) -> [UInt8] {
    var buffer = EBMLBuffer()
    body(&buffer)
    return buffer.bytes
  }

  @Test func sizesAvoidAllOnesWhichMeanUnknown() {
    #expect(bytes { $0.putSize(0) } == [0x80])
    #expect(bytes { $0.putSize(126) } == [0xfe])
    #expect(bytes { $0.putSize(127) } == [0x40, 0x7f])
    #expect(bytes { $0.putSize(16_382) } == [0x7f, 0xfe])
    #expect(bytes { $0.putSize(16_383) } == [0x20, 0x3f, 0xff])
    #expect(bytes { $0.putSize(2_097_151) } == [0x10, 0x1f, 0xff, 0xff])
    #expect(bytes { $0.putSize(1, length: 8) } == [1, 0, 0, 0, 0, 0, 0, 1])
    #expect(bytes { $0.putUnknownSize() } == [1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
  }

  @Test func integersTakeAsFewBytesAsTheyNeed() {
    #expect(bytes { $0.putUnsigned(0xd7, 0) } == [0xd7, 0x81, 0])
    #expect(bytes { $0.putUnsigned(0xd7, 255) } == [0xd7, 0x81, 0xff])
    #expect(bytes { $0.putUnsigned(0xd7, 256) } == [0xd7, 0x82, 1, 0])
    #expect(bytes { $0.putUnsigned(0x2ad7b1, .max) }.count == 3 + 1 + 8)
    #expect(bytes { $0.putSigned(0x4461, -2) } == [0x44, 0x61, 0x88] + Array(repeating: 0xff, count: 7) + [0xfe])
  }

  @Test func aVoidHasExactlyTheLengthAskedFor() {
    for total in 2..<400 {
      let void = bytes { $0.putVoid(total: total) }
      #expect(void.count == total && void.first == 0xec)
    }
    #expect(bytes { $0.putVoid(total: 1) } == [])
  }

  @Test func errorsNameFileCauseAndRemedy() {
    let full = WebMError(code: .write, failed: "write at byte 4096", path: "a.webm", number: 28)
    #expect(full.code == .full)
    #expect(
      full.description
        == "a.webm: no space left (write at byte 4096: No space left on device); what was recorded so far is kept and plays"
    )
  }
}
