import MediaCore
import TestKit
import Testing

@Suite struct SeededNetworkTests {
  @Test func aPerfectNetworkDelaysNothing() throws {
    var trace = try Trace(seed: 1, "")
    trace.send(100)
    #expect(trace.arrived == Array(0..<100))
    #expect(trace.travelled.allSatisfy { $0 == .zero })
  }

  /// Exact: what one seed does to some forty packets. A change here changes what every seed of a failed run means.
  @Test func oneSeedIsOneTrace() throws {
    var trace = try Trace(
      seed: 7,
      """
      0s delay=30ms jitter=10ms; 50ms reorder=30%/25ms; 100ms loss=30% duplicate=30% corrupt=20%
      250ms outage 50ms; 300ms clear; 320ms delay=5ms; 350ms rebind
      """)
    trace.send(38)
    #expect(trace.text == Self.golden)
  }

  static let golden = """
    0.000 changed (all): delay=30ms jitter=10ms
    0.035 up 0
    0.041 up 1
    0.050 changed (all): reorder=30%/25ms
    0.059 up 2
    0.064 up 3
    0.076 up 4
    0.088 up 5
    0.095 up 6
    0.100 changed (all): loss=30% duplicate=30% corrupt=20%
    0.108 up 7
    0.111 up 8
    0.122 up 9
    0.146 up 11
    0.156 up 10
    0.179 up 14 corrupted
    0.219 up 16
    0.219 up 16
    0.220 up 19
    0.228 up 17
    0.228 up 17
    0.248 up 21 corrupted
    0.250 outage began (all): outage 50ms
    0.255 up 22 corrupted
    0.255 up 22 corrupted
    0.258 up 20 corrupted
    0.261 up 23 corrupted
    0.297 up 24
    0.297 up 24
    0.300 changed (all): clear
    0.300 outage ended (all): outage 50ms
    0.300 up 30
    0.310 up 31
    0.320 changed (all): delay=5ms
    0.325 up 32
    0.335 up 33
    0.345 up 34
    0.350 rebind (all): rebind
    0.355 up 35
    0.365 up 36
    0.375 up 37
    """

  @Test func theSameSeedGivesTheSameFates() throws {
    let script = "loss=20% jitter=30ms reorder=10% duplicate=5% corrupt=5%; 3s burst=20%/5; 6s rate=500kbit"
    var traces = try (0..<3).map { try Trace(seed: $0 == 2 ? 12 : 11, script) }
    for index in traces.indices { traces[index].send(1000) }
    #expect(traces[0].lines == traces[1].lines)
    #expect(traces[0].lines != traces[2].lines)
  }

  /// Two runs that differ in one setting differ by that only.
  @Test func lossesDoNotDependOnOtherSettingsNorOnOtherPackets() throws {
    var plain = try Trace(seed: 5, "udp up loss=10%")
    plain.send(500)
    var other = try Trace(seed: 5, "udp up loss=10%; down loss=50%; udp up jitter=20ms reorder=20% corrupt=10%")
    for number in 0..<500 {
      other.send(1, first: number, .up, .udp, drains: false)
      other.send(2, first: 1000 + 2 * number, every: .zero, .down, .udp, drains: false)
      other.send(1, first: 3000 + number, every: .zero, .up, .tcp, drains: false)
    }
    other.run(until: other.time.now + .seconds(1))
    #expect(Set(plain.arrived) == Set(other.arrived.filter { $0 < 500 }))
  }

  @Test func moreLossLosesTheSamePacketsAndMore() throws {
    var lost: [Set<Int>] = []
    for percent in [1, 5, 10, 30] {
      var trace = try Trace(seed: 3, "loss=\(percent)%")
      trace.send(10_000, every: .milliseconds(1))
      lost.append(Set(0..<10_000).subtracting(trace.arrived))
      #expect(abs(lost.last.map { $0.count - percent * 100 } ?? 0) <= 100)
    }
    for (less, more) in zip(lost, lost.dropFirst()) { #expect(less.isSubset(of: more)) }
  }

  @Test func burstsHaveTheirShareAndLength() throws {
    var trace = try Trace(seed: 9, "burst=10%/5")
    trace.send(100_000, every: .milliseconds(1))
    let lost = Set(0..<100_000).subtracting(trace.arrived)
    let bursts = lost.filter { !lost.contains($0 - 1) }.count
    #expect((9_000...11_000).contains(lost.count), "lost \(lost.count)")
    #expect((4.5...5.5).contains(Double(lost.count) / Double(bursts)), "\(bursts) bursts")
    #expect(trace.network.statistics(.up, .udp).lostInBursts == lost.count)
  }

  @Test func jitterKeepsTheOrder() throws {
    var trace = try Trace(seed: 4, "delay=30ms jitter=50ms")
    trace.send(2000)
    #expect(trace.arrived == Array(0..<2000))
    #expect(trace.travelled.allSatisfy { (Duration.milliseconds(30) ... .milliseconds(80)).contains($0) })
    #expect((trace.travelled.max() ?? .zero) - (trace.travelled.min() ?? .zero) > .milliseconds(45))
  }

  @Test func whatIsHeldBackIsOvertaken() throws {
    var trace = try Trace(seed: 4, "reorder=10%/35ms")
    trace.send(1000)
    let late = zip(trace.arrived, trace.arrived.dropFirst()).filter { $0 > $1 }.count
    #expect(trace.arrived.sorted() == Array(0..<1000))
    #expect((70...130).contains(trace.network.statistics(.up, .udp).reordered))
    #expect(late > 40)
  }

  @Test func copiesComeBesidesTheirOriginals() throws {
    var trace = try Trace(seed: 4, "duplicate=10%")
    trace.send(1000)
    let copies = trace.network.statistics(.up, .udp).duplicated
    #expect((70...130).contains(copies))
    #expect(trace.arrived.count == 1000 + copies)
    #expect(Set(trace.arrived).count == 1000)
  }

  /// 1000 bytes each 10 ms are 800 kbit/s: twice what passes.
  @Test func aBottleneckQueuesThenDrops() throws {
    var trace = try Trace(seed: 1, "rate=400kbit queue=100ms")
    trace.send(500)
    #expect(trace.travelled.first == .milliseconds(20))
    #expect(trace.travelled.max() == .milliseconds(120))
    #expect((245...260).contains(trace.arrived.count))
    #expect(trace.network.statistics(.up, .udp).queueDrops == 500 - trace.arrived.count)
  }

  @Test func aBottleneckIsSharedByAllPacketsOfItsDirection() throws {
    var trace = try Trace(seed: 1, "up rate=800kbit")
    trace.send(1, every: .zero, .up, .udp, drains: false)
    trace.send(1, first: 1, every: .zero, .up, .tcp, drains: false)
    trace.send(1, first: 2, every: .zero, .down, .udp)
    #expect(trace.arrived == [2, 0, 1])
    #expect(trace.travelled == [.zero, .milliseconds(10), .milliseconds(20)])
  }

  @Test func anOutageCutsItsPacketsOnly() throws {
    var trace = try Trace(seed: 1, "100ms down udp outage 100ms")
    for (base, direction, kind) in [
      (0, Direction.down, PacketClass.udp), (100, .up, .udp), (200, .down, .tcp),
    ] {
      var part = trace
      part.send(30, first: base, direction, kind)
      #expect(part.arrived.count == (base == 0 ? 20 : 30))
      if base == 0 { #expect(part.arrived == Array(0..<10) + Array(20..<30)) }
      #expect(
        part.lines.filter { $0.contains("outage") } == [
          "0.100 outage began (down udp): outage 100ms", "0.200 outage ended (down udp): outage 100ms",
        ])
    }
    trace.send(0)
  }

  @Test func clearEndsAnOutageOnce() throws {
    var trace = try Trace(seed: 1, "0s outage 1s; 100ms up clear; 200ms clear")
    trace.send(30)
    #expect(trace.arrived == Array(10..<30))
    #expect(trace.lines.filter { $0.contains("ended") }.count == 2)
    #expect(!trace.text.contains("1.000 outage"))
  }

  @Test func whatIsUnderWayWhenAnOutageBeginsArrives() throws {
    var trace = try Trace(seed: 1, "delay=50ms; 100ms outage 1s")
    trace.send(20)
    #expect(trace.arrived == Array(0..<10))
    #expect(trace.time.now >= .milliseconds(1100))
  }

  @Test func scriptsMayBeginAtAnyTime() throws {
    var trace = try Trace(seed: 1, "")
    trace.send(10, drains: false)
    trace.network.schedule(try NetworkScript("50ms outage 20ms"), at: trace.time.now)
    trace.send(10, first: 10)
    #expect(trace.arrived == Array(0..<15) + Array(17..<20))
  }

  @Test func eventsAndPacketsComeInTheOrderOfTheirTimes() throws {
    for seed in UInt64(1)...50 {
      var trace = try Trace(
        seed: seed, "jitter=40ms; 100ms loss=10%; 130ms outage 30ms; 200ms reorder=20%; 210ms rebind; 250ms clear")
      // Polled too late: the order must still be that of the times.
      trace.send(40, every: .milliseconds(10), drains: false)
      var network = trace.network
      var last = Instant.distantPast
      network.schedule(try NetworkScript("5ms delay=1ms; 15ms rebind"), at: trace.time.now)
      for number in 0..<20 {
        network.send(number, count: 1, .up, .udp, at: trace.time.now + .milliseconds(number))
      }
      var outputs = 0
      while let deadline = network.deadline, let output = network.poll(at: trace.time.now + .seconds(1)) {
        if case .event(let event) = output { #expect(event.at >= last, "seed \(seed)") }
        last = max(last, deadline)
        outputs += 1
      }
      #expect(outputs >= 20, "seed \(seed)")
    }
  }
}
