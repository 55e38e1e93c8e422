import BenchKit
import Foundation
import Layouts
import MediaCore
import Session
import SessionLog
import WebM

// What `recbot compose` costs for nine people in 1280x720, against ffmpeg that puts the same nine files side by side: decoding,
// scaling, mixing, and encoding into VP8 of the same rate. Both at the same time on one core, which halves the noise of a machine that
// others use too; and how much sooner a composition is done on two cores.
//
//   compose-bench RECBOT
//
// The limits are asserted, of the medians of five: at most 0.85 of the processor time that ffmpeg takes, and two cores at least 1.6
// times as fast as one, which leaves room for others on the second one.

let people = 9
let (costLimit, gainLimit) = (0.85, 1.6)

/// Puts what the files hold into a session log, as if nine people had sent it.
func log(_ files: [String], to path: String) throws {
  var payloads: [(at: SessionTime, payload: SessionEvent.Payload)] = [(.zero, .room(.joined(room: "bench")))]
  for (number, file) in files.enumerated() {
    let person = ParticipantIdentity("person-\(number)")
    payloads.append((.zero, .room(.participant(Participant(identity: person, name: "Person \(number)")))))
    let camera = Track(id: TrackID("camera-\(number)"), participant: person, kind: .video, source: .camera)
    let microphone = Track(id: TrackID("microphone-\(number)"), participant: person, kind: .audio, source: .microphone)
    for track in [camera, microphone] {
      payloads += [(.zero, .room(.track(track))), (.zero, .room(.trackSubscribed(track.id, true)))]
    }
    try WebMReader.forEachFrame(path: file) { frame in
      let isPicture = frame.track == 1
      let time = frame.time.milliseconds
      let size = isPicture && frame.isKeyframe ? (640, 360) : (0, 0)
      payloads.append(
        (
          .zero + .milliseconds(max(0, time) + 20),
          .frame(
            EncodedFrame(
              codec: isPicture ? .vp8 : .opus, payload: MediaBuffer(copying: frame.bytes),
              rtpTime: time * (isPicture ? 90 : 48),
              isKeyframe: frame.isKeyframe, width: size.0, height: size.1,
              audioLevel: isPicture ? nil : (time / 1000 + Int64(number)) % 4 == 0 ? 25 : 127),
            of: isPicture ? camera.id : microphone.id)
        ))
    }
  }
  payloads.append((.zero + .seconds(fileLength), .room(.ended(.stopped))))
  let settings = SessionCore.Settings(
    canvas: CanvasSize(width: 1280, height: 720), layout: .grid, framesPerSecond: 30,
    startDate: 1_790_000_000_000_000_000)
  let writer = try SessionLogWriter(path: path, beginning: LogBeginning(settings: settings, program: "compose-bench"))
  let sorted = payloads.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
  for (index, event) in sorted.enumerated() {
    try writer.append(
      .event(SessionEvent(sequence: UInt64(index), arrived: event.element.at, payload: event.element.payload)))
  }
  try writer.finish(LogEnd(reason: .stopped, length: .seconds(fileLength)))
}

guard CommandLine.arguments.count == 2, CommandLine.arguments[1].first != "-" else {
  print("usage: compose-bench RECBOT")
  exit(CommandLine.arguments.dropFirst().allSatisfy { ["-h", "--help"].contains($0) } ? 0 : 64)
}
let recbot = CommandLine.arguments[1]
let folder = makeFolder()
let files = (0..<people).map { "\(folder)/\($0).webm" }
for (number, file) in files.enumerated() { makePerson(number, file) }
try log(files, to: "\(folder)/log")
let output = "\(folder)/composed.webm"
let composing = [recbot, "compose", "\(folder)/log", "--output", output, "--progress", "none"]
func compose(on processors: String) -> Double {
  defer { try? FileManager.default.removeItem(atPath: output) }
  return run(composing, on: processors).time
}
var (ours, others, ratios, gains): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
for _ in 0..<5 {
  let costs = runTogether(
    [composing, mixing(files, columns: 3, seconds: fileLength, to: "\(folder)/ffmpeg.webm")], on: "0")
  try? FileManager.default.removeItem(atPath: output)
  ours.append(costs[0])
  others.append(costs[1])
  ratios.append(costs[0] / costs[1])
  gains.append(compose(on: "0") / compose(on: "0,1"))
}
let ratio = median(ratios)
func share(_ seconds: Double) -> String { text(seconds / Double(fileLength)) }
print(
  "compose, nine people in 1280x720, VP8: \(share(median(ours))) of a core, ffmpeg \(share(median(others))): "
    + "ratio \(text(ratio)), at most \(costLimit); on two cores \(text(median(gains))) times as fast, at least \(gainLimit)"
)
try? FileManager.default.removeItem(atPath: folder)
if ratio > costLimit { fail("a composition takes more than \(costLimit) times what ffmpeg takes") }
if median(gains) < gainLimit { fail("two cores are less than \(gainLimit) times as fast as one") }
