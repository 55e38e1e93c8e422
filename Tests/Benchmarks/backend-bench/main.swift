import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import WebClient

// How many job submissions a second the backend takes: `recbot serve` over SQLite in a process of its own, and here
// those who ask it, at a fixed rate that does not wait for answers (an open loop). A submission's time is counted from
// the moment at which it was due, so what has to queue counts as late.
//
//   backend-bench [RECBOT] [RATE] [SECONDS]
//
// The limits are asserted: every submission is kept, 99 in 100 within 50 ms.

let usage = "usage: backend-bench [RECBOT] [RATE] [SECONDS]   (.build/release/recbot, 1000 and 20 unless said)"
let arguments = CommandLine.arguments.dropFirst()
if arguments.contains(where: { ["-h", "--help", "help"].contains($0) }) {
  print(usage)
  exit(0)
}
let numbers = arguments.dropFirst().map { Int($0) }
guard arguments.count <= 3, !(arguments.first ?? "").hasPrefix("-"), numbers.allSatisfy({ (1...100_000) ~= $0 ?? 0 })
else {
  FileHandle.standardError.write(Data("backend-bench: \(usage)\n".utf8))
  exit(64)
}
let recbot = arguments.first ?? ".build/release/recbot"
let rate = numbers.first.flatMap { $0 } ?? 1000
let seconds = numbers.dropFirst().first.flatMap { $0 } ?? 20
let longestP99 = Duration.milliseconds(50)

/// Ends with a line on standard error.
func fail(_ line: String) -> Never {
  FileHandle.standardError.write(Data("backend-bench: \(line)\n".utf8))
  exit(1)
}

/// Ends with a line when the path leads to something else than recbot.
func check(_ path: String) {
  let process = Process()
  process.executableURL = URL(filePath: path)
  process.arguments = ["serve", "--help"]
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  do { try process.run() } catch { fail("\(path) is no recbot: it cannot be started") }
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0, text.contains("USAGE: recbot serve") else {
    fail("\(path) is no recbot: it does not know `serve`")
  }
}

/// Runs a command of recbot to its end and gives the first line that it prints.
func run(_ words: [String], in folder: String) throws -> String {
  let process = Process()
  process.executableURL = URL(filePath: recbot)
  process.arguments = words + ["--data-dir", folder]
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0, let line = text.split(separator: "\n").first else {
    fail("recbot \(words.joined(separator: " ")) failed")
  }
  return String(line)
}

/// A backend in a process of its own, and its address.
func serve(in folder: String) throws -> (process: Process, url: String) {
  let process = Process()
  process.executableURL = URL(filePath: recbot)
  process.arguments = ["serve", "--port", "0", "--data-dir", folder]
  let output = Pipe()
  process.standardOutput = output
  try process.run()
  var text = ""
  while !text.contains("\n") {
    let data = output.fileHandleForReading.availableData
    guard !data.isEmpty else { fail("recbot serve ended at once") }
    text += String(decoding: data, as: UTF8.self)
  }
  guard let word = text.split(separator: " ").first(where: { $0.hasPrefix("http://") }) else { fail(text) }
  return (process, String(word.prefix { $0 != ";" }))
}

/// What came of the submissions.
struct Outcome: Sendable {
  var times: [Duration] = []
  var failures: [String: Int] = [:]
}

/// Submits jobs for some seconds, each at its time.
func load(
  _ name: String, _ client: WebConnections, _ url: String, key: String, rate: Int, seconds: Int
) async -> Outcome {
  let count = rate * seconds
  let start = ContinuousClock.now + .milliseconds(100)
  return await withTaskGroup(of: (Duration, String?).self) { group in
    for index in 0..<count {
      let due = start + .nanoseconds(index * 1_000_000_000 / rate)
      if due > .now { try? await Task.sleep(until: due, tolerance: .zero, clock: .continuous) }
      group.addTask {
        let headers: HTTPHeaders = [
          "Authorization": "Bearer \(key)", "Content-Type": "application/json", "Idempotency-Key": "\(name)-\(index)",
        ]
        let json =
          #"{"room":"room-\#(index % 500)","layout":"grid","max_duration":3600,"metadata":{"order":"\#(index)"}}"#
        guard let request = WebRequest(.POST, url: "\(url)/v1/jobs", headers: headers, body: ByteBuffer(string: json))
        else {
          return (.zero, "no address")
        }
        do {
          let response = try await client.answer(to: request)
          _ = try await response.body.collect(upTo: 1 << 20)
          return (.now - due, response.status == .created ? nil : "\(response.status)")
        } catch {
          return (.now - due, "\(error)")
        }
      }
    }
    return await group.reduce(into: Outcome()) { outcome, result in
      outcome.times.append(result.0)
      if let failure = result.1 { outcome.failures[failure, default: 0] += 1 }
    }
  }
}

func milliseconds(_ time: Duration) -> String { String(format: "%.1f ms", time / .milliseconds(1)) }

check(recbot)
let folder = NSTemporaryDirectory() + "backend-bench-\(getpid())"
let server = try serve(in: folder)
let key = try run(["keys", "add", "bench"], in: folder)
let client = WebConnections(.init(silence: .seconds(30), keepsOpen: .seconds(30)))

/// Ends the backend and removes what it kept.
func clean() async {
  client.close()
  server.process.terminate()
  server.process.waitUntilExit()
  try? FileManager.default.removeItem(atPath: folder)
}

// Connections are made and caches filled.
let warm = await load("warm", client, server.url, key: key, rate: 200, seconds: 2)
let outcome = await load("bench", client, server.url, key: key, rate: rate, seconds: seconds)
let times = outcome.times.sorted()
let (median, p99) = (times[times.count / 2], times[times.count * 99 / 100])
print(
  "\(times.count) submissions at \(rate)/s over SQLite: median \(milliseconds(median)), "
    + "99 % \(milliseconds(p99)), slowest \(milliseconds(times[times.count - 1]))")

guard let page = WebRequest(url: "\(server.url)/metrics") else { fail("no address") }
let metrics = String(buffer: try await client.answer(to: page).body.collect(upTo: 1 << 20))
let kept =
  metrics.split(separator: "\n").first { $0.hasPrefix(#"recbot_jobs{state="queued"}"#) }?.split(separator: " ").last
  .flatMap { Int($0) } ?? 0
await clean()
guard outcome.failures.isEmpty else { fail("\(outcome.failures)") }
let sent = warm.times.count + times.count
guard kept == sent else { fail("\(kept) jobs are kept, not \(sent)") }
guard p99 < longestP99 else { fail("99 % take \(milliseconds(p99)): more than \(milliseconds(longestP99))") }
