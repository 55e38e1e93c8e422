import ArgumentParser
import TestKit

@main
struct WireCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wire",
    abstract: "A bad network between two network namespaces, always the same for the same seed.",
    discussion: """
      Programs run in the namespaces (`ip netns exec NAME …`) reach each other through this one only, which treats \
      their packets as its script says. The near side is behind a NAT. Needs root and Linux.

        wire --near bot --far room --script '10s loss=10%; 30s outage 5s; 40s udp delay=80ms jitter=20ms' &
        ip netns exec room recbot room-server --bind 198.18.1.1 --api-key KEY --api-secret SECRET &
        ip netns exec bot recbot join test --url ws://198.18.1.1:7880 --api-key KEY --api-secret SECRET

      A script is made of statements, each: a time, which packets (up, down, udp, tcp; absent: all), and what shall be \
      so from then on: loss=10% burst=10%/4 delay=30ms jitter=10ms reorder=5%/20ms duplicate=1% corrupt=1% \
      rate=300kbit queue=200ms, outage 3s (with up or down a one-way cut), clear, rebind (another address for the \
      near side). With --commands, each line of standard input is such a script that begins at once; the end of \
      standard input ends wire.
      """)

  @Option(help: ArgumentHelp("Namespace of the near side; is made when it isn't there.", valueName: "name"))
  var near: String
  @Option(help: ArgumentHelp("Namespace of the far side; likewise.", valueName: "name"))
  var far: String
  @Option(help: "Decides everything random (default: drawn, and told).")
  var seed: UInt64?
  @Option(help: "What the network does, by time from the start.")
  var script = ""
  @Option(
    help: ArgumentHelp(
      "Which of 255 wires: the near side is 10.45.N.2, the far side 198.18.N.1, the NAT's addresses 198.18.N.2 and so on.",
      valueName: "n"))
  var number = 1
  @Option(help: "Largest packet in bytes.")
  var mtu = 1500
  @Option(name: .customLong("for"), help: ArgumentHelp("End after this time, such as 60s.", valueName: "time"))
  var length: String?
  @Flag(help: "Take scripts from standard input too.")
  var commands = false
  @Flag(help: "Tell what happens as JSON lines.")
  var json = false
  @Flag(help: "Use veth and packet sockets even where there is /dev/net/tun.")
  var veth = false

  func validate() throws {
    guard (0...255).contains(number) else { throw ValidationError("--number must be 0 to 255") }
    guard (576...9000).contains(mtu) else { throw ValidationError("--mtu must be 576 to 9000") }
    if let length, NetworkScript.duration(length) == nil { throw ValidationError("--for must be such as 60s") }
    for name in [near, far] where name.isEmpty || name.contains("/") || name.hasPrefix("-") {
      throw ValidationError("'\(name)' is no name of a namespace")
    }
    guard near != far else { throw ValidationError("the two sides need a namespace each") }
    do { _ = try NetworkScript(script) } catch { throw ValidationError(error.description) }
  }

  func run() throws {
    var random = SystemRandomNumberGenerator()
    let seed = seed ?? random.next() >> 40
    let report = Report(isJSON: json)
    do throws(WireError) {
      let ends = try Ends(near: near, far: far, number: number, mtu: mtu, usesVeth: veth, report: report)
      defer { ends.close() }
      var relay = Relay(ends: ends, seed: seed, report: report)
      report.ready(ends, seed: seed)
      relay.run(
        try script(script), length: length.flatMap(NetworkScript.duration), takesCommands: commands)
    } catch {
      report.failed(error)
      throw ExitCode(1)
    }
  }

  private func script(_ text: String) throws(WireError) -> NetworkScript {
    do { return try NetworkScript(text) } catch { throw WireError(error.description) }
  }
}

/// Why wire can't go on.
struct WireError: Error {
  var text: String
  init(_ text: String) { self.text = text }
}
