// What each codec of recordings makes of a rate, and what that costs: how near the decoded pictures are to what was encoded, and
// the processor time, for faces and for slides in 1280x720. Prints a table (Markdown); with a file's name it also draws it as SVG.
// Build with `-c release`; nothing is asserted.
import BenchKit
import Codecs
import Glibc
import MediaCore
import Synthetic

/// What is encoded.
enum Content: String, CaseIterable {
  /// Four people in a grid.
  case faces
  /// A shared screen that turns to another slide every seven seconds.
  case slides

  /// Draws one picture.
  func painter() throws -> (_ frame: Int, _ canvas: Picture) throws -> Void {
    switch self {
    case .faces:
      let people = try (0..<4).map { try Person($0) }
      return { frame, canvas in
        for (index, person) in people.enumerated() {
          let tile = try person.picture(frame)
          let (x, y) = (index % 2 * 640, index / 2 * 360)
          for row in 0..<360 {
            (canvas.y + (y + row) * canvas.strideY + x).update(from: tile.y + row * tile.strideY, count: 640)
          }
          for row in 0..<180 {
            let at = (y / 2 + row) * canvas.strideUV + x / 2
            (canvas.u + at).update(from: tile.u + row * tile.strideUV, count: 320)
            (canvas.v + at).update(from: tile.v + row * tile.strideUV, count: 320)
          }
        }
      }
    case .slides:
      let screen = SyntheticScreen(seed: 1, framesPerSecond: 30)
      return { frame, canvas in screen.draw(frame: frame, into: canvas) }
    }
  }
}

/// Somebody whose camera's picture, with its noise, came over the network in VP8 at 600 kbit/s.
final class Person {
  private let camera: SyntheticCamera
  private let encoder: VPXEncoder
  private let decoder = VP8Decoder()
  private var pool = PicturePool()
  private var random = SeededRandom(seed: 7)
  private let drawn = Picture(width: 640, height: 360)

  init(_ identity: Int) throws {
    camera = SyntheticCamera(seed: 1, identity: identity)
    encoder = try VPXEncoder(
      .vp8, width: 640, height: 360, framesPerSecond: 30, bitrate: 600_000, settings: .live(.vp8))
  }

  /// What is seen of them.
  func picture(_ frame: Int) throws -> Picture {
    camera.draw(frame: frame, voiceLevel: Float(frame % 8) / 8, into: drawn)
    for at in 0..<(drawn.strideY * drawn.height) {
      drawn.y[at] = drawn.y[at] &+ UInt8(truncatingIfNeeded: random.next() % 5)
    }
    var coded: (bytes: MediaBuffer, isKeyframe: Bool)?
    try encoder.encode(drawn, pts: Int64(frame) * 3000) { coded = (MediaBuffer(copying: $0), $1) }
    guard let coded, let seen = try decoder.decode(coded.bytes.bytes, isKeyframe: coded.isKeyframe, into: &pool) else {
      return drawn
    }
    return seen
  }
}

/// One line of the table.
struct Row {
  var content: Content
  var codec: RecordingCodec
  var framesPerSecond: Int
  /// What was asked for, bits a second.
  var bitrate: Int
  /// What came out, bits a second.
  var measured: Int
  /// Share of a core.
  var cost: Double
  /// Of brightness and of the worse colour, dB: the mean; of brightness also what one picture in twenty is below.
  var luma: Double
  var chroma: Double
  var worst: Double
}

/// CPU time of this thread, nanoseconds.
func cpuTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// How near two planes are, dB; 60 at most, beyond which nothing is seen.
func likeness(
  _ a: UnsafeMutablePointer<UInt8>, _ strideA: Int, _ b: UnsafeMutablePointer<UInt8>, _ strideB: Int, width: Int,
  height: Int
) -> Double {
  var sum = 0
  for row in 0..<height {
    let (x, y) = (a + row * strideA, b + row * strideB)
    var line: UInt32 = 0
    for column in 0..<width {
      let difference = Int32(x[column]) - Int32(y[column])
      line &+= UInt32(bitPattern: difference &* difference)
    }
    sum += Int(line)
  }
  return min(60, 10 * log10(255 * 255 * Double(width * height) / Double(max(1, sum))))
}

/// Encodes and decodes twenty seconds; the first one is not judged.
func measure(_ content: Content, _ codec: RecordingCodec, framesPerSecond: Int, bitrate: Int) throws -> Row {
  let canvas = Picture(width: 1280, height: 720)
  let paint = try content.painter()
  let encoder = try VideoEncoders.make(
    codec, width: 1280, height: 720, framesPerSecond: framesPerSecond, bitrate: bitrate,
    keyframeInterval: 5 * framesPerSecond)
  guard let decoder = VideoDecoders.make(codec.codec) else { fatalError("every codec of recordings is decoded") }
  var pool = PicturePool()
  var (spent, bytes, chroma): (Int64, Int, Double) = (0, 0, 0)
  var lumas: [Double] = []
  let count = 20 * framesPerSecond
  for index in 0..<count {
    try paint(index * 30 / framesPerSecond, canvas)
    let start = cpuTime()
    var frame: (bytes: MediaBuffer, isKeyframe: Bool)?
    try encoder.encode(canvas, pts: Int64(index * 90_000 / framesPerSecond)) { data, isKeyframe in
      frame = (MediaBuffer(copying: data), isKeyframe)
    }
    spent += cpuTime() - start
    guard let frame, let seen = try decoder.decode(frame.bytes.bytes, isKeyframe: frame.isKeyframe, into: &pool) else {
      continue
    }
    bytes += frame.bytes.count
    guard index >= framesPerSecond else { continue }
    lumas.append(likeness(canvas.y, canvas.strideY, seen.y, seen.strideY, width: 1280, height: 720))
    chroma += min(
      likeness(canvas.u, canvas.strideUV, seen.u, seen.strideUV, width: 640, height: 360),
      likeness(canvas.v, canvas.strideUV, seen.v, seen.strideUV, width: 640, height: 360))
  }
  lumas.sort()
  return Row(
    content: content, codec: codec, framesPerSecond: framesPerSecond, bitrate: bitrate,
    measured: bytes * 8 * framesPerSecond / count,
    cost: Double(spent) / 1e9 * Double(framesPerSecond) / Double(count),
    luma: lumas.reduce(0, +) / Double(lumas.count), chroma: chroma / Double(lumas.count),
    worst: lumas[lumas.count / 20])
}

/// Two charts side by side, brightness over rate, a line for each codec.
func drawing(_ rows: [Row]) -> String {
  let colours: [RecordingCodec: String] = [.vp8: "#d1495b", .vp9: "#edae49", .av1: "#00798c"]
  return Chart.picture(
    Content.allCases.map { content in
      let mine = rows.filter { $0.content == content && $0.framesPerSecond == 30 }
      let (low, high) = ((mine.map(\.luma).min() ?? 30).rounded(.down), (mine.map(\.luma).max() ?? 60).rounded(.up))
      let step = max(1, ((high - low) / 6).rounded())
      return Chart(
        "\(content.rawValue), 1280x720, 30 a second", caption: "kbit/s asked for; dB of brightness, mean of 19 s",
        marks: (
          Array(stride(from: 500, through: 3000, by: 500)), Array(stride(from: low, to: high + step, by: step))
        ),
        lines: RecordingCodec.allCases.map { codec in
          let line = mine.filter { $0.codec == codec }.sorted { $0.bitrate < $1.bitrate }
          return Chart.Line(
            codec.title, colour: colours[codec] ?? "black",
            points: line.map { (Double($0.bitrate) / 1000, $0.luma) })
        })
    })
}

let arguments = CommandLine.arguments.dropFirst()
if arguments.count > 1 || arguments.first?.hasPrefix("-") == true {
  print("usage: frontier-bench [FILE.svg]")
  exit(["-h", "--help"].contains(arguments.first) ? 0 : 64)
}
var rows: [Row] = []
print(
  "| content | pictures a second | codec | asked for, kbit/s | came out | of a core | brightness, dB | colour | one in 20 below |"
)
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
for content in Content.allCases {
  for framesPerSecond in content == .slides ? [30, 10] : [30] {
    for codec in RecordingCodec.allCases {
      for bitrate in [250_000, 500_000, 1_000_000, 1_500_000, 2_500_000] {
        let row = try measure(content, codec, framesPerSecond: framesPerSecond, bitrate: bitrate)
        rows.append(row)
        print(
          "| \(content.rawValue) | \(framesPerSecond) | \(codec.title) | \(bitrate / 1000) | \(row.measured / 1000) | "
            + "\(text(row.cost, digits: 3)) | \(text(row.luma, digits: 1)) | \(text(row.chroma, digits: 1)) | \(text(row.worst, digits: 1)) |"
        )
        fflush(nil)
      }
    }
  }
}
if let path = arguments.first {
  guard let file = fopen(path, "w") else {
    perror(path)
    exit(1)
  }
  fputs(drawing(rows), file)
  fclose(file)
}
