import BenchKit
import Foundation
import Layouts
import MediaCore
import Session
import SessionLog
import WebM

// What `recbot compose` costs for nine people in 1280x720, against ffmpeg that puts the same nine files side by side: decoding,
// scaling, mixing, and encoding into VP8 of the same rate. Both at the same time on one core, which halves the noise of a machine that
// others use too. And how much sooner a composition of a minute is done on two cores than on one; beside it stands what the machine has
// to give: two cores that are two threads of one, or share a cache with others, are not twice as fast as one, whatever they do.
//
//   compose-bench RECBOT
//
// The limits are asserted, of the medians of five: at most 0.85 of the processor time that ffmpeg takes; and on both cores two
// compositions one after the other take at most 1/0.9 of the time that they take at once, each on a core of its own.

let people = 9
let (costLimit, shareLimit) = (0.85, 0.9)
/// So often the long log has what the files hold.
let repeats = 3

/// Puts what the files hold into a session log, so many times one after the other, as if nine people had sent it.
func log(_ files: [String], times: Int, to path: String) throws {
  var payloads: [(at: SessionTime, payload: SessionEvent.Payload)] = [(.zero, .room(.joined(room: "bench")))]
  for (number, file) in files.enumerated() {
    let person = ParticipantIdentity("person-\(number)")
    payloads.append((.zero, .room(.participant(Participant(identity: person, name: "Person \(number)")))))
    let camera = Track(id: TrackID("camera-\(number)"), participant: person, kind: .video, source: .camera)
    let microphone = Track(id: TrackID("microphone-\(number)"), participant: person, kind: .audio, source: .microphone)
    for track in [camera, microphone] {
      payloads += [(.zero, .room(.track(track))), (.zero, .room(.trackSubscribed(track.id, true)))]
    }
    for turn in 0..<times {
      try WebMReader.forEachFrame(path: file) { frame in
        let isPicture = frame.track == 1
        let time = frame.time.milliseconds + Int64(turn * fileLength) * 1000
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
  }
  payloads.append((.zero + .seconds(fileLength * times), .room(.ended(.stopped))))
  let settings = SessionCore.Settings(
    canvas: CanvasSize(width: 1280, height: 720), layout: .grid, framesPerSecond: 30,
    startDate: 1_790_000_000_000_000_000)
  let writer = try SessionLogWriter(path: path, beginning: LogBeginning(settings: settings, program: "compose-bench"))
  let sorted = payloads.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
  for (index, event) in sorted.enumerated() {
    try writer.append(
      .event(SessionEvent(sequence: UInt64(index), arrived: event.element.at, payload: event.element.payload)))
  }
  try writer.finish(LogEnd(reason: .stopped, length: .seconds(fileLength * times)))
}

guard CommandLine.arguments.count == 2, CommandLine.arguments[1].first != "-" else {
  print("usage: compose-bench RECBOT")
  exit(CommandLine.arguments.dropFirst().allSatisfy { ["-h", "--help"].contains($0) } ? 0 : 64)
}
let recbot = CommandLine.arguments[1]
let folder = makeFolder()
let files = (0..<people).map { "\(folder)/\($0).webm" }
for (number, file) in files.enumerated() { makePerson(number, file) }
try log(files, times: 1, to: "\(folder)/log")
try log(files, times: repeats, to: "\(folder)/long")
func composing(_ log: String, to name: String = "composed") -> [String] {
  [recbot, "compose", "\(folder)/\(log)", "--output", "\(folder)/\(name).webm", "--progress", "none"]
}
func forget() {
  for name in ["composed", "second"] { try? FileManager.default.removeItem(atPath: "\(folder)/\(name).webm") }
}
/// Seconds that a composition of the long log takes.
func compose(on processors: String) -> Double {
  defer { forget() }
  return run(composing("long"), on: processors).time
}
var (ours, others, ratios): ([Double], [Double], [Double]) = ([], [], [])
var (gains, possible, shares): ([Double], [Double], [Double]) = ([], [], [])
for _ in 0..<5 {
  let costs = runTogether([
    (composing("log"), "0"), (mixing(files, columns: 3, seconds: fileLength, to: "\(folder)/ffmpeg.webm"), "0"),
  ])
  forget()
  ours.append(costs[0])
  others.append(costs[1])
  ratios.append(costs[0] / costs[1])
  let (one, both) = (compose(on: "0"), compose(on: "0,1"))
  let atOnce = runTogether([(composing("long"), "0"), (composing("long", to: "second"), "1")]).reduce(0, +)
  forget()
  gains.append(one / both)
  possible.append(4 * one / atOnce)
  shares.append(atOnce / (4 * both))
}
let (ratio, share) = (median(ratios), median(shares))
func cost(_ seconds: Double) -> String { text(seconds / Double(fileLength)) }
print(
  """
  compose, nine people in 1280x720, VP8: \(cost(median(ours))) of a core, ffmpeg \(cost(median(others))): \
  ratio \(text(ratio)), at most \(costLimit)
  on two cores \(text(median(gains))) times as fast as on one; two compositions at once gain \(text(median(possible))): \
  \(text(share)) of that, at least \(shareLimit)
  """)
try? FileManager.default.removeItem(atPath: folder)
if ratio > costLimit { fail("a composition takes more than \(costLimit) times what ffmpeg takes") }
if share < shareLimit { fail("a composition uses less than \(shareLimit) of what two cores give") }
