import CWebMParser
import MediaCore
import TestKit

@testable import WebM

/// Real VP8 and Opus frames, made once by ffmpeg's libvpx and libopus: 4 s of 320x180 at 30 frames a second with a
/// keyframe every 1.5 s, and 200 packets of sound.
struct Clip: Sendable {
  struct Frame: Sendable {
    var isVideo: Bool
    var time: SessionTime
    var isKeyframe: Bool
    var bytes: [UInt8]
  }

  /// In the order in which an encoder gives them: by time, sound first.
  var frames: [Frame] = []
  /// The clip as ffmpeg wrote it.
  var file: [UInt8] = []

  static let configuration = WebMConfiguration(
    video: .init(width: 320, height: 180, framesPerSecond: 30), audio: .init())

  static let shared: Clip = {
    let directory = TemporaryDirectory()
    let path = directory.path("clip.webm")
    let result = Tool.run(
      [
        "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i",
        "sine=f=440:r=48000", "-ac", "2", "-t", "4", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8",
        "-b:v", "600k", "-g", "45", "-c:a", "libopus", "-b:a", "64k", path,
      ], in: directory)
    precondition(result.status == 0, "ffmpeg: \(result.errors)")
    var clip = Clip()
    clip.file = Files.read(path)
    var counts: (video: Int64, audio: Int64) = (0, 0)
    do {
      try WebMReader.forEachFrame(path: path) { frame in
        let isVideo = frame.track == 1
        // Even times: ffmpeg puts the encoder's delay on the pictures.
        let time =
          isVideo
          ? SessionTime(nanoseconds: counts.video * 1_000_000_000 / 30)
          : SessionTime(nanoseconds: counts.audio * 20_000_000)
        if isVideo { counts.video += 1 } else { counts.audio += 1 }
        clip.frames.append(
          Frame(isVideo: isVideo, time: time, isKeyframe: frame.isKeyframe, bytes: Array(frame.bytes)))
      }
    } catch { preconditionFailure("\(error)") }
    let order = clip.frames.enumerated().sorted {
      ($0.element.time, $0.element.isVideo ? 1 : 0, $0.offset) < (
        $1.element.time, $1.element.isVideo ? 1 : 0, $1.offset
      )
    }
    clip.frames = order.map(\.element)
    return clip
  }()
}

extension WebMWriter {
  func add(_ frame: Clip.Frame) throws(WebMError) {
    if frame.isVideo {
      try addVideo(at: frame.time, frame.bytes, isKeyframe: frame.isKeyframe)
    } else {
      try addAudio(at: frame.time, frame.bytes)
    }
  }

  func addVideo(at time: SessionTime, _ bytes: [UInt8], isKeyframe: Bool) throws(WebMError) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(WebMError) in
      try addVideo(at: time, UnsafeRawBufferPointer(buffer), isKeyframe: isKeyframe)
    }
  }

  func addAudio(at time: SessionTime, _ bytes: [UInt8]) throws(WebMError) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(WebMError) in
      try addAudio(at: time, UnsafeRawBufferPointer(buffer))
    }
  }

  /// A picture of one byte, which no decoder sees.
  func addPicture(_ milliseconds: Int64, isKeyframe: Bool = false) throws(WebMError) {
    try addVideo(at: .milliseconds(milliseconds), [0x55], isKeyframe: isKeyframe)
  }

  /// A sound of 20 ms (RFC 6716 configuration 31, code 0).
  func addAudio(_ milliseconds: Int64) throws(WebMError) {
    try addAudio(at: .milliseconds(milliseconds), [0xfc, 0xaa])
  }
}

/// What a file holds, block by block, as libwebm sees it.
final class Contents: ParserEvents {
  struct Cluster {
    var position: UInt64
    var size: UInt64?
    var ticks: UInt64
    /// "A0 V0k A20 …": kind, milliseconds, k for keyframes.
    var blocks: [String] = []
  }

  var clusters: [Cluster] = []
  var cues: [(ticks: UInt64, position: UInt64)] = []
  var segmentStart: UInt64 = 0
  var frames: [(track: UInt64, ticks: Int64, bytes: [UInt8])] = []
  var status: Int32 = 0

  /// Blocks in file order, Clusters set off by " | ".
  var order: String { clusters.map { $0.blocks.joined(separator: " ") }.joined(separator: " | ") }

  override func segment(dataPosition: UInt64, size: UInt64) { segmentStart = dataPosition }
  override func cluster(position: UInt64, size: UInt64, ticks: UInt64) {
    clusters.append(Cluster(position: position, size: size == .max ? nil : size, ticks: ticks))
  }
  override func cue(ticks: UInt64, track: UInt64, clusterPosition: UInt64) { cues.append((ticks, clusterPosition)) }

  override func frame(_ frame: cwebm_frame) -> Bool {
    frames.append((frame.track, frame.ticks, Array(UnsafeBufferPointer(start: frame.bytes, count: frame.available))))
    let isVideo = frame.track == 1
    clusters[clusters.count - 1].blocks
      .append("\(isVideo ? "V" : "A")\(frame.ticks)\(isVideo && frame.is_keyframe != 0 ? "k" : "")")
    return true
  }

  static func of(_ path: String) throws -> Contents {
    let contents = Contents()
    contents.status = try WebMReader.parse(path: path, events: contents, wholeFrames: true).status
    return contents
  }
}
