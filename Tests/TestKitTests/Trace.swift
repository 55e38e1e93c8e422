import MediaCore
import TestKit

/// Drives a network with packets at an even pace and writes down what comes out.
struct Trace {
  var network: SeededNetwork<Int>
  var time = ManualTime()
  var lines: [String] = []
  /// Numbers of the packets that arrived, in order.
  var arrived: [Int] = []
  /// How long each of them took.
  var travelled: [Duration] = []
  private var entered: [Int: Instant] = [:]

  init(seed: UInt64, _ script: String) throws {
    network = SeededNetwork(seed: seed)
    network.schedule(try NetworkScript(script), at: .zero)
  }

  /// Sends packets 0 up to `count`, `interval` apart; with `drains`, waits for all that is under way.
  mutating func send(
    _ count: Int, first: Int = 0, every interval: Duration = .milliseconds(10), size: Int = 1000,
    _ direction: Direction = .up, _ kind: PacketClass = .udp, drains: Bool = true
  ) {
    let start = time.now
    for number in 0..<count {
      run(until: start + interval * number)
      entered[first + number] = time.now
      network.send(first + number, count: size, direction, kind, at: time.now)
    }
    run(until: start + interval * count)
    while drains, let deadline = network.deadline { run(until: max(deadline, time.now)) }
  }

  /// Lets time pass, stopping wherever the network has something to say.
  mutating func run(until moment: Instant) {
    while let deadline = network.deadline, deadline <= moment {
      time.advance(to: deadline)
      collect()
    }
    time.advance(to: moment)
    collect()
  }

  private mutating func collect() {
    while let output = network.poll(at: time.now) {
      switch output {
      case .packet(let number, let direction, let corruption):
        arrived.append(number)
        travelled.append(time.now - (entered[number] ?? .zero))
        lines.append("\(time.now) \(direction) \(number)" + (corruption == nil ? "" : " corrupted"))
      case .event(let event): lines.append("\(time.now) \(event.kind.rawValue) (\(event.scope)): \(event.text)")
      }
    }
  }

  var text: String { lines.joined(separator: "\n") }
}
