import MediaCore
import Session
import Signaling
import Testing
import Transport

@testable import Rooms

/// Whatever the mailbox, the other side and the network do, in whatever order, twice, late or not at all: what the
/// recording hears makes sense, and the flow always knows when it goes on.
@Suite struct PeerOrderTests {
  /// Reads the lines of a script as a recording and its shell would.
  struct Listener {
    var people: Set<Substring> = []
    var tracks: [Substring: Substring] = [:]
    var subscribed: Set<Substring> = []
    var isLost = false
    var hasJoined = false
    var hasEnded = false
    var hasMedia = false

    /// What is wrong with a line; nil for nothing.
    mutating func hear(_ line: String) -> String? {
      let words = line.split(separator: " ")
      if hasEnded { return "\(line) after the end" }
      switch words.prefix(2).joined(separator: " ") {
      case "> joined":
        if hasJoined { return "joined twice" }
        hasJoined = true
      case "> participant": people.insert("ann")
      case "> left":
        if people.remove(words[2]) == nil { return "\(line): unknown" }
        tracks = [:]
        subscribed = []
      case "> track":
        if !people.contains(words[3]) { return "\(line): of nobody" }
        tracks[words[2]] = words[3]
      case "> unpublished":
        if tracks.removeValue(forKey: words[2]) == nil { return "\(line): unknown" }
        subscribed.remove(words[2])
      case "> subscribed":
        if tracks[words[2]] == nil { return "\(line): unknown" }
        if words[3] == "true" { subscribed.insert(words[2]) } else { subscribed.remove(words[2]) }
      case "> lost":
        if isLost || !hasJoined { return "\(line): told already, or too early" }
        isLost = true
      case "> restored":
        if !isLost { return "restored, but nothing was lost" }
        isLost = false
      default: return hearRequest(words)
      }
      return nil
    }

    private mutating func hearRequest(_ words: [Substring]) -> String? {
      switch words.first {
      case "finished": hasEnded = true
      case "media": hasMedia = true
      case "close": hasMedia = false
      case "offer", "answer", "accept", "say":
        if !hasMedia { return "\(words.joined(separator: " ")): without a connection" }
      case "bind":
        for pair in words.dropFirst() {
          guard let track = pair.split(separator: "=").last else { continue }
          if !subscribed.contains(track) { return "\(pair): frames of a track that nobody was told of" }
        }
      default: break
      }
      return nil
    }
  }

  /// One run: what happens follows from the seed.
  struct Run {
    var random: SeededRandom
    var script: PeerScript
    var listener = Listener()
    var offers = ["S-0"]
    /// Requests that were answered already.
    var answered: [Int] = []
    var count = 0
    var wrong: String?

    init(seed: UInt64) {
      var random = SeededRandom(seed: seed)
      script = PeerScript(
        role: [nil, .host, .guest][Int.random(in: 0...2, using: &random)],
        hasRelays: Bool.random(using: &random), canRenewToken: Bool.random(using: &random)
      ) {
        $0.allowsReconnect = Int.random(in: 0..<8, using: &random) > 0
        if Int.random(in: 0..<4, using: &random) == 0 { $0.rule = .fixed(attempts: 3, interval: .seconds(5)) }
        if Int.random(in: 0..<4, using: &random) == 0 { $0.limit = .seconds(30) }
        if Bool.random(using: &random) { $0.waitForRoom = .seconds(10) }
      }
      script.view.role = script.flow.mailbox.role ?? (Bool.random(using: &random) ? .host : .guest)
      self.random = random
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func hear(_ lines: [String]) {
      for line in lines {
        if line.hasPrefix("put ") { offers.append(String(line.split(separator: " ")[1])) }
        if let found = listener.hear(line), wrong == nil { wrong = found }
      }
    }

    /// A number of now, or one of before.
    mutating func number(of newest: Int) -> Int { chance(80) ? newest : max(0, newest - 1) }

    mutating func step() {
      let open = script.requests.keys.sorted()
      switch Int.random(in: 0..<20, using: &random) {
      case 0...4: if let name = open.randomElement(using: &random) { answer(name) }
      case 5: if let name = open.randomElement(using: &random) { fail(name) }
      case 6:
        if let old = answered.randomElement(using: &random) {
          hear(script.handle(.answered(request: old, .success(script.view))))
        }
      case 7, 8: seatOther()
      case 9, 10: describeOther()
      case 11:
        let change: TransportState = [.connecting, .connected, .connected, .disconnected, .failed, .closed][
          Int.random(in: 0..<6, using: &random)]
        hear(script.handle(.transport(generation: number(of: script.flow.media.generation), change)))
      case 12: hear(script.handle(.heard(generation: number(of: script.flow.media.generation))))
      case 13:
        let generation = number(of: script.flow.media.generation)
        hear(
          script.handle(
            chance(50)
              ? .channelOpened(generation: generation)
              : .message(generation: generation, .init(name: "Ann", camera: chance(50)))))
      case 14:
        hear(script.handle(.gathered(generation: number(of: script.flow.media.generation), "candidate:\(count)")))
      case 15: if chance(20) { hear(script.handle(.networkChanged)) }
      case 16: if chance(3) { hear(script.handle(.leave)) } else { hear(script.handle(.timer)) }
      default: pass()
      }
      count += 1
    }

    private mutating func answer(_ name: String) {
      answered.append(script.requests[name] ?? 0)
      hear(script.answer(name))
    }

    private mutating func fail(_ name: String) {
      answered.append(script.requests[name] ?? 0)
      let faults: [MailboxFault] = [
        .noSeat, .noSeat, .stale, .failed(RoomError(.refused)), .failed(RoomError(.timeout)),
        .failed(RoomError(.refused)),
        .failed(RoomError(.tokenExpired)), .occupied("by ann"), .replaced,
      ]
      let fault = faults[Int.random(in: 0..<(chance(10) ? faults.count : 6), using: &random)]
      hear(script.fail(name, fault))
    }

    private mutating func show(_ change: (inout MailboxView) -> Void) {
      change(&script.view)
      script.view.revision += 1
      if script.requests["watch"] != nil, chance(90) { answer("watch") }
    }

    private mutating func seatOther() {
      let (isGone, isNew, hasLeft) = (chance(15), chance(15), chance(2))
      let roles = chance(3)
      show {
        if roles { $0.role = $0.role.other }
        let session = "T\(isNew ? String($0.revision) : "")"
        $0.other = isGone ? nil : .init(identity: "ann", name: "Ann", session: session, hasLeft: hasLeft)
      }
    }

    private mutating func describeOther() {
      guard script.view.other != nil else { return }
      let (isGone, continues) = (chance(15), chance(30))
      let offer = chance(85) ? offers.last : offers.randomElement(using: &random)
      let isHost = script.view.role == .host
      show {
        let before = $0.other?.description?.id
        let id = "T-\($0.revision)"
        $0.other?.description =
          isGone
          ? nil
          : isHost
            ? PeerScript.answer(to: offer ?? "")
            : .init(
              id: id, kind: .offer, sdp: id.hasSuffix("7") ? "bad" : "offer", continues: continues ? before : nil,
              candidates: ["candidate:1"])
      }
    }

    /// Time passes. Every deadline that is reached leads to a later one.
    private mutating func pass() {
      let end = script.now + .nanoseconds(Int64.random(in: 1...5_000_000_000, using: &random))
      var timers = 0
      while let deadline = script.flow.nextDeadline, deadline <= end, timers < 200 {
        script.now = max(script.now, deadline)
        hear(script.handle(.timer))
        timers += 1
      }
      if timers == 200, wrong == nil { wrong = "the same deadline again and again" }
      script.now = end
    }
  }

  @Test(arguments: 0..<2000) func whateverHappensMakesSense(seed: UInt64) {
    var run = Run(seed: seed)
    run.hear(run.script.handle(.join))
    if seed % 8 > 0 { run.hear(run.script.answer("seat")) }
    while run.count < 300, run.wrong == nil, run.script.flow.phase != .ended { run.step() }
    #expect(run.wrong == nil, "seed \(seed), step \(run.count)")
    #expect(run.listener.hasEnded == (run.script.flow.phase == .ended), "seed \(seed)")
    // It is over, or it waits for something: for time to pass, or for an answer.
    let waits = run.script.flow.nextDeadline != nil || !run.script.requests.isEmpty
    #expect(run.script.flow.phase == .ended || waits, "seed \(seed) is stuck")
  }
}
