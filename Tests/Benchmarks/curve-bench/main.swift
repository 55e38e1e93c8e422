import BenchKit
import Foundation

// What `recbot join` costs by how many people are in the room, 1 to 99, all with camera and microphone, in 1280x720 over real WebRTC:
// the people send prepared files (`recbot people --play`) in two sizes through the embedded server, on the other processor. What the server
// takes for each packet that it forwards is measured beside it. Prints a table (Markdown); with a file's name it also draws it as SVG.
//
//   curve-bench RECBOT [FILE.svg]
//
// A run during which others had the processor for more than a twentieth of the time is not counted.

let recorded = 10.0
let runs = 3
/// The recorder is the hundredth: a room takes no more by default.
let counts = [1, 4, 9, 16, 25, 49, 99]
/// What is asked for: every picture as large as it is sent, or as a tile needs it.
let ways: [(name: String, colour: String, options: [String])] = [
  ("full size", "#d1495b", []),
  ("as tiles need", "#00798c", ["--receive", "for-layout"]),
]

let arguments = CommandLine.arguments.dropFirst()
guard (1...2).contains(arguments.count), let recbot = arguments.first, !recbot.hasPrefix("-") else {
  print("usage: curve-bench RECBOT [FILE.svg]")
  exit(arguments.allSatisfy { ["-h", "--help"].contains($0) } ? 0 : 64)
}
let folder = makeFolder()
defer { try? FileManager.default.removeItem(atPath: folder) }
let server = RoomServer(recbot)
let url = server.url
defer { server.process.stop() }

/// Nine people who look and sound different; one process brings fifty at most, each from files of its own names.
let most = 50
for number in 0..<9 {
  makePerson(number, "\(folder)/face\(number).webm", smaller: "\(folder)/face\(number)_lo.webm")
}
for number in 0..<100 {
  let group = "\(folder)/\(number / most)"
  try FileManager.default.createDirectory(atPath: group, withIntermediateDirectories: true)
  for size in ["", "_lo"] {
    try FileManager.default.createSymbolicLink(
      atPath: String(format: "\(group)/p%02d\(size).webm", number),
      withDestinationPath: "\(folder)/face\(number % 9)\(size).webm")
  }
}

/// Packets that went over the machine's own network so far.
func packets() -> Double {
  let text = try? String(contentsOfFile: "/sys/class/net/lo/statistics/rx_packets", encoding: .utf8)
  return text.flatMap { Double($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
}

/// Of a room of so many people: of a core and MiB for each way, and what the server takes: of a core for all that comes in, and microseconds
/// for a packet that goes out.
struct Point {
  var people: Int
  var costs: [(cores: Double, memory: Double)]
  var server: Double
  var forwarding: Double
}

func measure(_ count: Int, _ server: RoomServer) -> Point {
  let people = stride(from: 0, to: count, by: most).map { first in
    Background(
      [
        recbot, "people", "curve-\(count)", "--play", "\(folder)/\(first / most)", "--participants",
        "\(min(most, count - first))", "--duration", "1h", "--url", url,
      ], on: "1")
  }
  defer { for group in people { group.stop() } }
  Thread.sleep(forTimeInterval: 5 + Double(count) / 10)
  let (began, spent, sent) = (Date(), server.process.processorTime, packets())
  Thread.sleep(forTimeInterval: recorded)
  let length = Date().timeIntervalSince(began)
  let alone = (server.process.processorTime - spent) / length
  let arriving = (packets() - sent) / length
  var (forwarded, forwarding) = (0.0, 0.0)
  let costs = ways.enumerated().map { way, what in
    let found = (0..<runs).map { _ in
      for _ in 0..<4 {
        let (spent, sent) = (server.process.processorTime, packets())
        let output = "\(folder)/live.webm"
        try? FileManager.default.removeItem(atPath: output)
        let cost = run(
          [
            recbot, "join", "curve-\(count)", "--url", url, "--output", output, "--progress", "none",
            "--max-duration", "\(Int(recorded))s",
          ] + what.options, on: "0")
        guard cost.disturbance <= 0.05 else { continue }
        if way == 0 {
          forwarded += packets() - sent - arriving * cost.time
          forwarding += server.process.processorTime - spent - alone * cost.time
        }
        return (cores: cost.processor / recorded, memory: cost.memory)
      }
      fail("others had more than a twentieth of the processor in four runs one after another")
    }
    return (cores: median(found.map(\.cores)), memory: median(found.map(\.memory)))
  }
  return Point(people: count, costs: costs, server: alone, forwarding: forwarding / forwarded * 1e6)
}

/// A chart of the points, a line for each way.
func chart(
  _ points: [Point], _ title: String, _ unit: String, step: Double,
  _ value: (((cores: Double, memory: Double)) -> Double)
) -> Chart {
  let highest = points.flatMap { $0.costs.map(value) }.max() ?? 1
  let lines = ways.enumerated().map { way, what in
    Chart.Line(what.name, colour: what.colour, points: points.map { (Double($0.people), value($0.costs[way])) })
  }
  return Chart(
    title, caption: "people in the room; \(unit)",
    marks: (counts.map(Double.init), Array(stride(from: 0, through: highest + step, by: step))), titleWidth: 90,
    lines: lines)
}
print(
  "| people | \(ways.map { "\($0.name), cores | MiB" }.joined(separator: " | ")) | server, cores | for a packet to the recorder, µs |"
)
print("|---|\(ways.map { _ in "---|---|" }.joined())---|---|")
var points: [Point] = []
for count in counts {
  let point = measure(count, server)
  points.append(point)
  let costs = point.costs.map { "\(text($0.cores, digits: 3)) | \(text($0.memory, digits: 0))" }
  print(
    "| \(count) | \(costs.joined(separator: " | ")) | \(text(point.server, digits: 3)) | \(text(point.forwarding, digits: 0)) |"
  )
  fflush(nil)
}

if arguments.count > 1, let path = arguments.last {
  let picture = Chart.picture([
    chart(points, "Processor", "of a core", step: 0.1, \.cores), chart(points, "Memory", "MiB", step: 50, \.memory),
  ])
  do { try picture.write(toFile: path, atomically: true, encoding: .utf8) } catch { fail("\(error)") }
}
