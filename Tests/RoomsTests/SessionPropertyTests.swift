import MediaCore
import Session
import Signaling
import Testing
import Transport

@testable import Rooms

/// Whatever the server, the network and the user do, in whatever order, what the recording hears makes sense.
@Suite struct SessionPropertyTests {
  /// Reads the lines of a script as a recording would, and checks them.
  struct Listener {
    var people: Set<String> = []
    var tracks: [String: String] = [:]
    var subscribed: Set<String> = []
    var bound: Set<String> = []
    var isLost = false
    var hasJoined = false
    var hasEnded = false
    var isSocketOpen = false

    mutating func hear(_ line: String) -> String? {
      let words = line.split(separator: " ").map(String.init)
      if hasEnded { return "\(line) after the end" }
      if words.first == "finished" { hasEnded = true }
      switch words.prefix(2).joined(separator: " ") {
      case "> joined":
        if hasJoined { return "joined twice" }
        hasJoined = true
      case "> participant": people.insert(words[2])
      case "> left":
        if people.remove(words[2]) == nil { return "\(line): unknown" }
        tracks = tracks.filter { $0.value != words[2] }
      case "> track":
        if !people.contains(words[3]) { return "\(line): of nobody" }
        tracks[words[2]] = words[3]
      case "> unpublished":
        if tracks.removeValue(forKey: words[2]) == nil { return "\(line): unknown" }
      case "> subscribed":
        if tracks[words[2]] == nil { return "\(line): unknown" }
        if words[3] == "true" { subscribed.insert(words[2]) } else { subscribed.remove(words[2]) }
      case "> lost":
        if isLost || !hasJoined { return "\(line): is lost already, or never joined" }
        isLost = true
      case "> restored":
        if !isLost { return "\(line): was not lost" }
        isLost = false
      default: break
      }
      if words.first == "bind" {
        for pair in words.dropFirst() {
          guard let track = pair.split(separator: "=").last.map(String.init) else { continue }
          if tracks[track] == nil || !subscribed.contains(track) { return "\(line): not announced" }
        }
      }
      if !hasJoined, line.hasPrefix("> ") { return "\(line): before the join" }
      return nil
    }
  }

  @Test(arguments: 0..<300)
  func anyOrderOfInputsMakesSense(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var script = Script(limit: seed % 3 == 0 ? .seconds(20) : nil)
    var listener = Listener()
    var lines = script.handle(.connect)
    var log: [String] = []
    for _ in 0..<200 {
      for line in lines {
        log.append(line)
        if let fault = listener.hear(line) {
          Issue.record("seed \(seed): \(fault)\n\(log.suffix(30).joined(separator: "\n"))")
          return
        }
      }
      lines = step(&script, &random)
    }
    #expect(script.session.room.report.paused.count <= 20 && script.session.media.waitingCandidates.count <= 64)
  }

  private func step(_ script: inout Script, _ random: inout SeededRandom) -> [String] {
    let people = (0..<3).map { index -> Livekit_ParticipantInfo in
      var person = Script.person(
        "p\(index)", sid: "PA_\(index)\(Int.random(in: 0..<2, using: &random))",
        version: .random(in: 0..<10, using: &random),
        tracks: ["TR_V\(index)", "TR_A\(index)", "TR_V\(index + 3)"].filter { _ in Bool.random(using: &random) })
      if Int.random(in: 0..<4, using: &random) == 0 { person.state = .disconnected }
      return person
    }
    let generation = max(0, script.session.media.generation - Int.random(in: 0..<2, using: &random))
    switch Int.random(in: 0..<18, using: &random) {
    case 17: return script.handle(.networkChanged)
    case 0...2: return script.receive { $0.join = Script.join(people) }
    case 3, 4: return script.receive { $0.update.participants = people }
    case 5, 6:
      return script.offer(["0": "TR_V0", "1": "TR_A\(Int.random(in: 0..<3, using: &random))", "2": "TR_V4"])
    case 7: return script.receive { $0.offer.sdp = "bad" }
    case 8: return script.receive { $0.reconnect = .init() }
    case 9, 10: return script.handle(.transport(generation: generation, .connected))
    case 11:
      let state: TransportState = Bool.random(using: &random) ? .failed : .disconnected
      return script.handle(.transport(generation: generation, state))
    case 12:
      let reason = Int.random(in: 0..<200, using: &random)
      return script.receive {
        $0.leave.reason = .init(rawValue: reason) ?? .unknownReason
        $0.leave.action = .init(rawValue: reason % 3) ?? .disconnect
      }
    case 13: return script.handle(.socketClosed(attempt: script.session.signal.attempt, "x"))
    case 14: return script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.refused)))
    case 15:
      script.mediaFlows = Bool.random(using: &random)
      script.answersPings = Bool.random(using: &random)
      return script.pass(seconds: Double(Int.random(in: 0..<20, using: &random)))
    default:
      let state: Livekit_StreamState = Bool.random(using: &random) ? .paused : .active
      let info = Livekit_StreamStateInfo.with { ($0.trackSid, $0.state) = ("TR_V0", state) }
      return script.receive { $0.streamStateUpdate.streamStates = [info] }
    }
  }
}
