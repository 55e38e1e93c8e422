import BenchKit
import Foundation

// What `recbot join` costs in a room of nine people, and of sixteen, in 1280x720, over real WebRTC: the people send prepared files
// (`recbot people --play`) through the embedded server, on the other processor. Beside it, in turn, ffmpeg puts the same files side by
// side into VP8 of the same rate: as fast as it can, and at the pace at which people send, which keeps the caches as cold as theirs.
// Then they offer two sizes, and recbot asks for the one that a tile needs (`--receive for-layout`).
//
//   room-bench RECBOT
//
// A run during which others had the processor for more than a twentieth of the time is not counted. The limits are asserted, of
// medians: what recbot takes of the paced ffmpeg's time, with room for a machine that others use too.

let recorded = 15
let runs = 3
/// So much of the paced ffmpeg's processor time at most.
let limits = ["9 people": 1.15, "16 people": 1.15]

/// Runs a command until a run is not disturbed, five times at most.
func measured(_ make: () -> Cost) -> Cost {
  var cost = make()
  for _ in 0..<4 where cost.disturbance > 0.05 { cost = make() }
  if cost.disturbance > 0.05 { print("others had \(text(cost.disturbance * 100, digits: 0)) % of the processor") }
  return cost
}

guard CommandLine.arguments.count == 2, CommandLine.arguments[1].first != "-" else {
  print("usage: room-bench RECBOT")
  exit(CommandLine.arguments.dropFirst().allSatisfy { ["-h", "--help"].contains($0) } ? 0 : 64)
}
let recbot = CommandLine.arguments[1]
let folder = makeFolder()
defer { try? FileManager.default.removeItem(atPath: folder) }
let server = RoomServer(recbot)
let url = server.url
defer { server.process.stop() }

/// The files of people, of whom those of one size have a folder of their own.
let (single, double) = ("\(folder)/single", "\(folder)/double")
for path in [single, double] {
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
}
func name(_ number: Int) -> String { String(format: "p%02d", number) }
for number in 0..<16 {
  makePerson(number, "\(double)/\(name(number)).webm", smaller: "\(double)/\(name(number))_lo.webm")
  try FileManager.default.createSymbolicLink(
    atPath: "\(single)/\(name(number)).webm", withDestinationPath: "\(double)/\(name(number)).webm")
}

/// One table row: what a recording and ffmpeg take of a core.
func compare(_ label: String, count: Int, folder files: String, _ options: [String] = []) -> Double {
  let people = Background(
    [recbot, "people", "bench", "--play", files, "--participants", "\(count)", "--duration", "1h", "--url", url],
    on: "1")
  defer { people.stop() }
  Thread.sleep(forTimeInterval: 4)
  let inputs = (0..<count).map { "\(single)/\(name($0)).webm" }
  let columns = count == 9 ? 3 : 4
  var costs: [(ours: Cost, paced: Cost, free: Cost)] = []
  for _ in 0..<runs {
    let ours = measured {
      let output = "\(folder)/live.webm"
      try? FileManager.default.removeItem(atPath: output)
      return run(
        [
          recbot, "join", "bench", "--url", url, "--output", output, "--progress", "none", "--max-duration",
          "\(recorded)s",
        ] + options,
        on: "0")
    }
    func ffmpeg(paced: Bool) -> Cost {
      measured {
        run(mixing(inputs, columns: columns, seconds: recorded, to: "\(folder)/ffmpeg.webm", paced: paced), on: "0")
      }
    }
    costs.append((ours, ffmpeg(paced: true), ffmpeg(paced: false)))
  }
  func share(_ value: ((ours: Cost, paced: Cost, free: Cost)) -> Double) -> Double { median(costs.map(value)) }
  let (ours, paced, free) = (
    share { $0.ours.processor }, share { $0.paced.processor }, share { $0.free.processor }
  )
  let row = [
    label, text(ours / Double(recorded), digits: 3), text(paced / Double(recorded), digits: 3),
    text(free / Double(recorded), digits: 3), text(share { $0.ours.processor / $0.paced.processor }),
    text(share { $0.ours.processor / $0.free.processor }), text(share { $0.ours.memory }, digits: 0),
    text(share { $0.free.memory }, digits: 0),
  ]
  print("| " + row.joined(separator: " | ") + " |")
  return share { $0.ours.processor / $0.paced.processor }
}

print(
  "| live, 1280x720, VP8 2500 kbit/s | recbot, cores | ffmpeg paced | ffmpeg | to paced | to ffmpeg | recbot, MiB | ffmpeg, MiB |"
)
print("|---|---|---|---|---|---|---|---|")
for (label, count) in [("9 people", 9), ("16 people", 16)] {
  let ratio = compare(label, count: count, folder: single)
  if let limit = limits[label], ratio > limit { fail("\(label): more than \(limit) times what a paced ffmpeg takes") }
}
for (label, count) in [("9 people, two sizes", 9), ("16 people, two sizes", 16)] {
  _ = compare(label, count: count, folder: double, ["--receive", "for-layout"])
}
