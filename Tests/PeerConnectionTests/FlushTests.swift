import Testing

@testable import PeerConnection

@Suite struct FlushTests {
  /// What was received behind a gap belongs to the recording, also when the gap is never filled.
  @Test func whatWaitsForMissingPacketsIsHandedOut() throws {
    let pair = try EnginePair("down outage", seed: 1)
    var microphone = MadeMicrophone(pair.near.add(.opus))
    try pair.connect()
    for number in 1...6 {
      // The third one never comes: it is lost, and nobody hears that it is missing.
      if number == 3 { try pair.schedule("up outage 15ms") }
      pair.run(for: .milliseconds(20)) { microphone.step(pair.near) }
    }
    let before = pair.far.frames.map { $0.rtpTime / 960 }
    pair.far.engine.releaseFrames(at: pair.now)
    pair.far.engine.releaseFrames(at: pair.now)
    let after = pair.far.frames.filter { $0.payload.count > 0 }.map { $0.rtpTime / 960 }
    #expect(before == [0, 1])
    #expect(after == [0, 1, 3, 4, 5])
  }
}
