import BenchKit
import Codecs
import Foundation
import MediaCore
import RecbotKit
import Synthetic

// What RecbotKit costs: publishing pictures that are there already, against the encoder alone with the same pictures; and receiving
// the tracks of a room without decoding them.
//
//   kit-bench RECBOT
//
// The limits are asserted, with room for a machine that others use too. The aim is 1.1 times the encoder's own time for publishing.

let seconds = 10
let (publishingLimit, receivingLimit) = (1.25, 0.003)

guard CommandLine.arguments.count == 2, CommandLine.arguments[1].first != "-" else {
  print("usage: kit-bench RECBOT")
  exit(CommandLine.arguments.dropFirst().allSatisfy { ["-h", "--help"].contains($0) } ? 0 : 64)
}
let recbot = CommandLine.arguments[1]
let server = RoomServer(recbot)
let url = server.url
defer { server.process.stop() }

/// Processor time of this process, seconds.
func spent() -> Double {
  var usage = rusage()
  getrusage(0, &usage)
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// What this process spends while something runs, or for so many seconds.
func cost(_ body: () async throws -> Void) async rethrows -> Double {
  let before = spent()
  try await body()
  return spent() - before
}

/// Pictures that are there already, thirty a second.
struct Prepared: VideoCapturer {
  let dimensions = Dimensions(width: 640, height: 360)
  let pictures: [Picture]

  init() {
    let camera = SyntheticCamera(seed: 1, identity: 3, width: 640, height: 360, framesPerSecond: 30)
    pictures = (0..<90).map { number in
      let picture = Picture(width: 640, height: 360)
      camera.draw(frame: number, voiceLevel: 0.3, into: picture)
      return picture
    }
  }

  func frames() -> AsyncStream<VideoFrame> {
    AsyncStream { continuation in
      let task = Task {
        await paced { number in
          continuation.yield(VideoFrame(pictures[number % pictures.count], time: .seconds(number) / 30))
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Calls thirty times a second, until cancelled or so often.
  func paced(_ count: Int = .max, _ body: (Int) -> Void) async {
    let start = ContinuousClock.now
    for number in 0..<count {
      try? await Task.sleep(until: start + .seconds(number) / 30, clock: .continuous)
      if Task.isCancelled { return }
      body(number)
    }
  }
}

func connect(_ identity: String, receives: Bool) async throws -> Room {
  let process = Process()
  let output = Pipe()
  process.executableURL = URL(filePath: recbot)
  process.arguments = ["token", "--room", "bench", "--identity", identity, "--publish"]
  process.standardOutput = output
  try process.run()
  let token = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  var options = ConnectOptions()
  options.receivesMedia = receives
  return try await Room.connect(
    url: url, token: token.trimmingCharacters(in: .whitespacesAndNewlines), options: options)
}

let camera = Prepared()
var options = VideoPublishOptions()
options.isSimulcast = false
/// The encoder alone, at the pace at which pictures come.
func encoding() async throws -> Double {
  let rate = 640 * 360 * 3
  let encoder = try VPXEncoder(
    .vp8, width: 640, height: 360, framesPerSecond: 30, bitrate: rate, settings: .live(.vp8))
  return await cost {
    await camera.paced(seconds * 30) { number in
      _ = try? encoder.encode(
        camera.pictures[number % camera.pictures.count], pts: Int64(number) * 3000, forceKeyframe: false
      ) { _, _ in }
    }
  }
}
/// The same in a room.
func publishing() async throws -> Double {
  let room = try await connect("publisher", receives: false)
  try await room.localParticipant.publish(LocalVideoTrack(capturer: camera), options: options)
  // For five seconds after it is connected ICE looks for better ways.
  try await Task.sleep(for: .seconds(7))
  let cost = try await cost { try await Task.sleep(for: .seconds(seconds)) }
  await room.disconnect()
  return cost
}
var ratios: [Double] = []
for _ in 0..<3 {
  let (ours, alone) = (try await publishing(), try await encoding())
  ratios.append(ours / alone)
}
let ratio = median(ratios)
print("publishing pictures takes \(text(ratio)) times the encoder's own time, at most \(publishingLimit)")

let folder = makeFolder()
defer { try? FileManager.default.removeItem(atPath: folder) }
makePerson(2, "\(folder)/ann.webm")
let count = 9
let people = Background(
  [recbot, "people", "bench", "--play", folder, "--participants", "\(count)", "--duration", "10m", "--url", url],
  on: "1")
defer { people.stop() }
let room = try await connect("receiver", receives: true)
let deadline = ContinuousClock.now + .seconds(20)
func tracks() -> [RemoteTrack] { room.remoteParticipants.flatMap(\.tracks) }
while tracks().filter({ $0.statistics.packets > 0 }).count < 2 * count, ContinuousClock.now < deadline {
  try await Task.sleep(for: .milliseconds(100))
}
try await Task.sleep(for: .seconds(7))
guard tracks().count == 2 * count else { fail("\(tracks().count) of \(2 * count) tracks came") }
let (before, others) = (tracks().reduce(0) { $0 + $1.statistics.packets }, people.processorTime)
let receiving = try await cost { try await Task.sleep(for: .seconds(seconds)) } / Double(seconds) / Double(2 * count)
let playing = (people.processorTime - others) / Double(seconds) / Double(2 * count)
let packets = tracks().reduce(0) { $0 + $1.statistics.packets } - before
print(
  "receiving without decoding takes \(text(receiving, digits: 4)) of a core a track, at most \(receivingLimit) "
    + "(\(packets / seconds / (2 * count)) packets a second each); sending prepared frames \(text(playing, digits: 4))")
await room.disconnect()
if ratio > publishingLimit { fail("publishing takes more than \(publishingLimit) times the encoder's own time") }
if receiving > receivingLimit { fail("receiving takes more than \(receivingLimit) of a core a track") }
