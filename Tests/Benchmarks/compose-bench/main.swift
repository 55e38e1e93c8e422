import Foundation
import Layouts
import MediaCore
import Session
import SessionLog
import WebM

// What `recbot compose` costs for nine people in 1280x720, against ffmpeg that puts the same nine files side by side: decoding,
// scaling, mixing, and encoding into VP8 of the same rate with the same settings. Both on one core, in turn; and how much
// sooner a composition is done on two cores.
//
//   compose-bench RECBOT
//
// The limits are asserted, of the medians of five: no more processor time than ffmpeg, and two cores at least 1.6 times as fast as
// one, both with room for a machine that others use too.

let seconds = 20
let people = 9
let (costLimit, gainLimit) = (1.0, 1.6)

/// Ends with a line on standard error.
func fail(_ line: String) -> Never {
  FileHandle.standardError.write(Data("compose-bench: \(line)\n".utf8))
  exit(1)
}

/// Runs a command to its end on these processors; gives its processor time and how long it took, in seconds.
@discardableResult
func run(_ words: [String], on processors: String = "0,1") -> (cost: Double, time: Double) {
  func spent() -> Double {
    var usage = rusage()
    getrusage(-1, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["taskset", "--cpu-list", processors] + words
  process.standardOutput = FileHandle.nullDevice
  process.standardError = FileHandle.nullDevice
  let (before, began) = (spent(), ContinuousClock.now)
  do { try process.run() } catch { fail("\(words[0]) cannot be started: deploy/install-deps.sh --bench installs it") }
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { fail("failed: \(words.joined(separator: " "))") }
  let time = began.duration(to: .now).components
  return (spent() - before, Double(time.seconds) + Double(time.attoseconds) * 1e-18)
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
func text(_ value: Double) -> String { String(format: "%.2f", value) }

/// Makes the picture and the sound of somebody as a browser sends them: five have a camera, with a face that moves before a room
/// that is still, four show a pattern; all with the noise of a camera; speech or silence.
func make(_ number: Int, _ path: String) {
  /// A part of the set that is full of detail, as a picture that stands still.
  func still(_ size: String, _ scale: Double) -> String {
    "mandelbrot=size=\(size):rate=30:start_scale=\(scale):start_x=-0.7436438870371587:start_y=-0.1318259042053119:maxiter=300,"
      + "trim=end_frame=1,loop=-1:1:0,setpts=N/30/TB"
  }
  let source: String
  switch number {
  case 1, 7:
    source =
      "testsrc2=size=960x540:rate=30,crop=640:360:x='(in_w-out_w)*(0.5+0.5*sin(t*0.7+\(number)))':y='(in_h-out_h)*(0.5+0.5*cos(t*0.5))'"
  case 3:
    source =
      "mandelbrot=size=640x360:rate=30:start_scale=2.8:end_scale=0.02:end_pts=1500:maxiter=400:start_x=-0.7436438870371587"
      + ":start_y=-0.1318259042053119"
  case 5:
    source =
      "gradients=size=640x360:rate=30:seed=5:nb_colors=6:speed=0.02,format=yuv420p[g];testsrc2=size=240x240:rate=30[f];"
      + "[g][f]overlay=x='(W-w)*(0.5+0.5*sin(t*0.6))':y='(H-h)*(0.5+0.5*cos(t*0.8))'"
  default:
    source =
      "\(still("640x360", 0.3 + Double(number) / 20)),boxblur=2:1,eq=saturation=0.4:contrast=0.6[room];"
      + "\(still("330x390", 0.02 + Double(number) / 300)),gblur=3,crop=220:260:x='(in_w-out_w)*(0.5+0.4*sin(t*2.1+\(number)))'"
      + ":y='(in_h-out_h)*(0.5+0.4*sin(t*3.3))',format=yuv420p[skin];color=black:size=220x260:rate=30,trim=end_frame=1,format=gray,"
      + "geq=lum='255*clip(8*(1-hypot((X-W/2)/(W/2),(Y-H/2)/(H/2))),0,1)',loop=-1:1:0,setpts=N/30/TB[oval];"
      + "[skin][oval]alphamerge[face];[room][face]overlay=x='(W-w)/2+53*sin(t*0.9+\(number))':y='H-h+10*sin(t*2.3)':shortest=0"
  }
  run([
    "ffmpeg", "-v", "error", "-nostdin", "-filter_complex",
    "\(source),noise=alls=5:allf=t:all_seed=\(number),format=yuv420p[v];"
      + "anoisesrc=r=48000:color=pink:seed=\(number),volume='if(lt(mod(t+\(number),4),1.5),0.2,0)':eval=frame,asetnsamples=960[a]",
    "-map", "[v]", "-map", "[a]", "-t", "\(seconds)", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-6",
    "-b:v",
    "500k", "-g", "3000", "-qmin", "2", "-qmax", "56", "-threads", "1", "-c:a", "libopus", "-b:a", "32k", "-ac", "1",
    "-y",
    path,
  ])
}

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
  payloads.append((.zero + .seconds(seconds), .room(.ended(.stopped))))
  let settings = SessionCore.Settings(
    canvas: CanvasSize(width: 1280, height: 720), layout: .grid, framesPerSecond: 30,
    startDate: 1_790_000_000_000_000_000)
  let writer = try SessionLogWriter(path: path, beginning: LogBeginning(settings: settings, program: "compose-bench"))
  let sorted = payloads.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
  for (index, event) in sorted.enumerated() {
    try writer.append(
      .event(SessionEvent(sequence: UInt64(index), arrived: event.element.at, payload: event.element.payload)))
  }
  try writer.finish(LogEnd(reason: .stopped, length: .seconds(seconds)))
}

/// ffmpeg's command for the same.
func ffmpeg(_ files: [String], to path: String) -> [String] {
  var words = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-filter_complex_threads", "1"]
  var (scaled, pictures, sounds, places) = ("", "", "", [String]())
  for (number, file) in files.enumerated() {
    words += ["-threads", "1", "-i", file]
    scaled += "[\(number):v]scale=426:240:flags=bilinear,setsar=1[s\(number)];"
    pictures += "[s\(number)]"
    sounds += "[\(number):a]"
    places.append("\(number % 3 * 426)_\(number / 3 * 240)")
  }
  let graph =
    "\(scaled)\(pictures)xstack=inputs=\(people):layout=\(places.joined(separator: "|")):fill=black,pad=1280:720[v];"
    + "\(sounds)amix=inputs=\(people):normalize=0,aformat=channel_layouts=stereo[a]"
  return words + [
    "-filter_complex", graph, "-map", "[v]", "-map", "[a]", "-r", "30", "-c:v", "libvpx", "-deadline", "realtime",
    "-cpu-used",
    "-8", "-b:v", "2500k", "-minrate", "2500k", "-maxrate", "2500k", "-bufsize", "2500k", "-qmin", "2", "-qmax", "56",
    "-undershoot-pct", "100", "-overshoot-pct", "15", "-lag-in-frames", "0", "-g", "150", "-static-thresh", "1",
    "-max-intra-rate", "900", "-auto-alt-ref", "0", "-threads", "1", "-c:a", "libopus", "-b:a", "96k", path,
  ]
}

guard CommandLine.arguments.count == 2, CommandLine.arguments[1].first != "-" else {
  print("usage: compose-bench RECBOT")
  exit(CommandLine.arguments.dropFirst().allSatisfy { ["-h", "--help"].contains($0) } ? 0 : 64)
}
let recbot = CommandLine.arguments[1]
let folder = NSTemporaryDirectory() + "compose-bench-\(getpid())"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
let files = (0..<people).map { "\(folder)/\($0).webm" }
for (number, file) in files.enumerated() { make(number, file) }
try log(files, to: "\(folder)/log")
func compose(on processors: String) -> (cost: Double, time: Double) {
  let output = "\(folder)/composed.webm"
  try? FileManager.default.removeItem(atPath: output)
  return run([recbot, "compose", "\(folder)/log", "--output", output, "--progress", "none"], on: processors)
}
var pairs: [(ours: Double, ffmpeg: Double)] = []
var gains: [Double] = []
for _ in 0..<5 {
  let ours = compose(on: "0")
  pairs.append((ours.cost, run(ffmpeg(files, to: "\(folder)/ffmpeg.webm"), on: "0").cost))
  gains.append(ours.time / compose(on: "0,1").time)
}
let ratio = median(pairs.map { $0.ours / $0.ffmpeg })
func share(_ cost: Double) -> String { text(cost / Double(seconds)) }
print(
  "compose, nine people in 1280x720, VP8: \(share(median(pairs.map(\.ours)))) of a core, ffmpeg \(share(median(pairs.map(\.ffmpeg)))): "
    + "ratio \(text(ratio)), at most \(costLimit); on two cores \(text(median(gains))) times as fast, at least \(gainLimit)"
)
try? FileManager.default.removeItem(atPath: folder)
if ratio > costLimit { fail("a composition takes more than \(costLimit) times what ffmpeg takes") }
if median(gains) < gainLimit { fail("two cores are less than \(gainLimit) times as fast as one") }
