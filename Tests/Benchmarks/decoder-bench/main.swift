import Codecs
import Foundation
import MediaCore
import Synthetic

// What the decoder of a codec costs for nine streams, one after the other, against the codec's own command line tool with the
// same streams, also one after the other: vpxdec, dav1d, and ffmpeg for H.264, each on one thread. Both give whole pictures
// away: the tools write them to /dev/null, ours are pictures of the pool, or (VP8, H.264) the library's own. And what nine
// decoders cost that take a frame each in turn, where each finds the caches full of the others' pictures.
//
//   decoder-bench
//
// The limit is asserted: the median of seven ratios, each of two runs one after the other, is at most 1.1.

/// A codec, how ffmpeg makes a stream of it as browsers send one, and how its tool decodes a file to the last frame or to the
/// first.
struct Subject {
  var codec: Codec
  var encoder: [String]
  var suffix: String
  var tool: (_ path: String, _ isWhole: Bool) -> [String]
}

let frames = 300
let streams = 9
let size = (width: 640, height: 360)
let limit = 1.1
let realtime = ["-deadline", "realtime", "-b:v", "600k", "-g", "9999", "-threads", "1"]
let subjects = [
  Subject(codec: .vp8, encoder: ["-c:v", "libvpx", "-cpu-used", "-6"] + realtime, suffix: "ivf") { path, isWhole in
    ["vpxdec", "--threads=1", "--i420", "-o", "/dev/null"] + (isWhole ? [] : ["--limit=1"]) + [path]
  },
  Subject(codec: .vp9, encoder: ["-c:v", "libvpx-vp9", "-cpu-used", "7"] + realtime, suffix: "ivf") { path, isWhole in
    ["vpxdec", "--threads=1", "--i420", "-o", "/dev/null"] + (isWhole ? [] : ["--limit=1"]) + [path]
  },
  Subject(
    codec: .av1,
    encoder: ["-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-b:v", "600k", "-g", "9999"], suffix: "ivf"
  ) { path, isWhole in
    ["dav1d", "--quiet", "--threads", "1", "--muxer", "yuv", "-o", "/dev/null"] + (isWhole ? [] : ["--limit", "1"])
      + ["-i", path]
  },
  Subject(
    codec: .h264,
    encoder: [
      "-c:v", "libx264", "-profile:v", "baseline", "-preset", "veryfast", "-tune", "zerolatency", "-b:v", "600k", "-g",
      "9999", "-x264-params", "aud=1:sliced-threads=0",
    ], suffix: "h264"
  ) { path, isWhole in
    ["ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-f", "h264", "-i", path]
      + (isWhole ? [] : ["-frames:v", "1"]) + ["-f", "rawvideo", "-y", "/dev/null"]
  },
]

/// Ends with a line on standard error.
func fail(_ line: String) -> Never {
  FileHandle.standardError.write(Data("decoder-bench: \(line)\n".utf8))
  exit(1)
}

/// CPU time of this thread, or of the children that have ended, in seconds.
func cpuTime(_ who: Int32) -> Double {
  var usage = rusage()
  getrusage(who, &usage)
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
let (thisThread, children): (Int32, Int32) = (1, -1)

/// Runs a command to its end.
func run(_ words: [String]) {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = words
  process.standardOutput = FileHandle.nullDevice
  do { try process.run() } catch { fail("\(words[0]) cannot be started: deploy/install-deps.sh --bench installs it") }
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { fail("failed: \(words.joined(separator: " "))") }
}

/// Pictures of one camera, raw.
func draw(_ identity: Int, to path: String) throws {
  let camera = SyntheticCamera(seed: 1, identity: identity)
  let picture = Picture(width: size.width, height: size.height)
  var bytes = Data()
  for frame in 0..<frames {
    camera.draw(frame: frame, voiceLevel: Float(frame % 8) / 8, into: picture)
    for (plane, stride, width, height) in [
      (picture.y, picture.strideY, size.width, size.height),
      (picture.u, picture.strideUV, size.width / 2, size.height / 2),
      (picture.v, picture.strideUV, size.width / 2, size.height / 2),
    ] {
      for row in 0..<height { bytes.append(plane + row * stride, count: width) }
    }
  }
  try bytes.write(to: URL(filePath: path))
}

/// The frames of an IVF file, or the access units of a file of H.264 that begin with a delimiter each.
func read(_ path: String) throws -> [MediaBuffer] {
  let data = [UInt8](try Data(contentsOf: URL(filePath: path)))
  var cuts: [Range<Int>] = []
  if path.hasSuffix("ivf") {
    var offset = 32
    while offset + 12 <= data.count {
      let count = (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) }
      cuts.append(offset + 12..<min(offset + 12 + count, data.count))
      offset += 12 + count
    }
  } else {
    let starts = data.indices.dropLast(4).filter { Array(data[$0..<$0 + 5]) == [0, 0, 0, 1, 9] }
    cuts = zip(starts, starts.dropFirst() + [data.count]).map { $0..<$1 }
  }
  return cuts.map { MediaBuffer(Array(data[$0])) }
}

/// What our decoders, which take a frame each in turn, need from the second frame on, in seconds.
func measure(_ codec: Codec, _ streams: [[MediaBuffer]]) throws -> Double {
  let decoders = streams.compactMap { _ in VideoDecoders.make(codec) }
  var pools = streams.map { _ in PicturePool() }
  var shown = 0
  var began = 0.0
  for frame in 0..<frames {
    if frame == 1 { began = cpuTime(thisThread) }
    for index in streams.indices {
      let bytes = streams[index][frame].bytes
      if try decoders[index].decode(bytes, isKeyframe: frame == 0, into: &pools[index]) != nil { shown += 1 }
    }
  }
  let spent = cpuTime(thisThread) - began
  guard shown == frames * streams.count else { fail("\(codec.title): \(shown) pictures of \(frames * streams.count)") }
  return spent
}

/// What the tool takes from the second frame on, in seconds: its start is nobody's decoding.
func measure(_ subject: Subject, _ paths: [String]) -> Double {
  let began = cpuTime(children)
  for path in paths { run(subject.tool(path, true)) }
  let whole = cpuTime(children) - began
  for path in paths { run(subject.tool(path, false)) }
  return whole - (cpuTime(children) - began - whole)
}

guard CommandLine.arguments.count == 1 else {
  print("usage: decoder-bench")
  exit(["-h", "--help", "help"].contains(CommandLine.arguments[1]) ? 0 : 64)
}
let folder = NSTemporaryDirectory() + "decoder-bench-\(getpid())"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
var isOver = false
for identity in 0..<3 { try draw(identity, to: "\(folder)/\(identity).yuv") }
for subject in subjects {
  let made = (0..<3).map { "\(folder)/\($0)-\(subject.codec.rawValue).\(subject.suffix)" }
  for (identity, path) in made.enumerated() {
    run(
      [
        "ffmpeg", "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s",
        "\(size.width)x\(size.height)",
      ]
        + ["-r", "30", "-i", "\(folder)/\(identity).yuv"] + subject.encoder + ["-y", path])
  }
  let paths = (0..<streams).map { made[$0 % made.count] }
  let units = try paths.map(read)
  guard units.allSatisfy({ $0.count == frames }) else { fail("\(subject.codec.title): \(units.map(\.count)) frames") }
  _ = try measure(subject.codec, units)
  var pairs: [(ours: Double, tool: Double)] = []
  var turns: [Double] = []
  for _ in 0..<7 {
    let ours = try units.reduce(0) { try $0 + measure(subject.codec, [$1]) }
    pairs.append((ours, measure(subject, paths)))
    turns.append(try measure(subject.codec, units))
  }
  turns.sort()
  pairs.sort { $0.ours / $0.tool < $1.ours / $1.tool }
  let median = pairs[pairs.count / 2]
  let ratio = median.ours / median.tool
  let decoded = Double((frames - 1) * streams)
  func microseconds(_ seconds: Double) -> Int { Int((seconds / decoded * 1_000_000).rounded()) }
  let tool = subject.tool("", true)[0]
  print(
    "\(subject.codec.title) decoder 640x360: \(microseconds(median.ours)) us each, "
      + "\(tool) \(microseconds(median.tool)) us: ratio \((ratio * 100).rounded() / 100), at most \(limit); "
      + "nine in turn \(microseconds(turns[turns.count / 2])) us")
  isOver = isOver || ratio > limit
}
try? FileManager.default.removeItem(atPath: folder)
if isOver { fail("a decoder takes more than \(limit) times what its tool takes") }
