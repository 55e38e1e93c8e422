import Foundation
import Jobs
import JobsAPI

// A day of a fleet, simulated: how soon a job is begun, what crashes cost, and what the database has to carry; `JobMachine` decides
// what becomes of each job, and nothing is recorded. With a database's address also what that really carries (an empty one: its jobs
// are made for nothing).
//
//   fleet-bench [DATABASE]
//
// The limits are asserted: no job is lost, 99 in 100 begin within a second, and a worker's crash costs no recording more than 20 s
// unless a zone is lost.

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count <= 1, arguments.first?.first != "-" else {
  print("usage: fleet-bench [sqlite:PATH | postgres://…]")
  exit(["-h", "--help"].contains(arguments.first) ? 0 : 64)
}

func fail(_ line: String) -> Never {
  FileHandle.standardError.write(Data("fleet-bench: \(line)\n".utf8))
  exit(1)
}

func text(_ value: Double, digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }

/// The value that so many in a hundred do not exceed; 0 without values.
func percentile(_ sorted: [Double], _ share: Double) -> Double {
  sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

print(
  """
  | workers | jobs a day | lost | at once | longest queue | begun after, s: p50, p99, worst | crashes' gaps, s: p50, worst | not recorded | transactions a second: mean, busiest minute |
  | --- | --- | --- | --- | --- | --- | --- | --- | --- |
  """)
for (workers, losesZone) in [(10, false), (100, false), (1000, false), (1000, true)] {
  var fleet = Fleet(.init(workers: workers, jobs: workers * 1000, losesZone: losesZone))
  fleet.run()
  let report = fleet.report
  let (delay, gap) = (percentile(report.delays, 0.99), report.gaps.last ?? 0)
  let day = report.transactions.prefix(24 * 60)
  print(
    """
    | \(workers)\(losesZone ? ", a third of them away for an hour" : "") | \(workers * 1000) | \(report.failed) \
    | \(report.mostRunning) | \(report.mostWaiting) \
    | \(text(percentile(report.delays, 0.5))), \(text(delay)), \(text(report.delays.last ?? 0)) \
    | \(text(percentile(report.gaps, 0.5), digits: 1)), \(text(gap, digits: 1)) of \(report.gaps.count) \
    | \(text(report.missed / report.wanted * 1_000_000, digits: 1)) s in a million \
    | \(day.reduce(0, +) / 86_400), \((day.max() ?? 0) / 60) |
    """)
  if report.failed > 0 || report.completed != workers * 1000 { fail("jobs were lost") }
  if delay > 1 { fail("one in a hundred jobs waits for more than a second") }
  if !losesZone, gap > 20 { fail("a crash costs more than 20 s") }
}

if let address = arguments.first {
  let database: any SQLDatabase =
    address.hasPrefix("sqlite:")
    ? try SQLiteDatabase(path: String(address.dropFirst("sqlite:".count)))
    : PostgresDatabase(address: address, connections: 8)
  let measurement = DatabaseMeasurement(
    queue: try await JobQueue(database: database, seed: UInt64.random(in: 0 ... .max)))
  let (heartbeats, jobs) = (try await measurement.heartbeats(), try await measurement.jobs())
  database.close()
  print("the database carries \(Int(heartbeats)) heartbeats a second, or \(Int(jobs)) jobs of four transactions")
}
