import Codecs
import Compositor
import Glibc
import Layouts
import MediaCore
import WebM

/// The pictures that stand for a time in which nothing was recorded.
enum Slate {
  /// Length of the group of pictures that is repeated: also how far apart the places to seek to are.
  private static let length = Duration.seconds(5)
  /// Of pictures that never change.
  private static let bitrate = 600_000

  /// One group of pictures that says when there was no recording, beginning with a keyframe; for `Concatenation`. Throws what is
  /// to be told to the caller when recordings have no such size: what a foreign file says costs no memory.
  static func frames(for gap: Concatenation.Gap, video: WebMConfiguration.Video) throws -> [EncodedFrame] {
    let canvas = CanvasSize(width: video.width, height: video.height)
    guard canvas.width == video.width, canvas.height == video.height else {
      let sides = "\(CanvasSize.sides.lowerBound) to \(CanvasSize.sides.upperBound)"
      throw Failure(
        .inputUnusable,
        "a gap between pictures of \(video.width)x\(video.height) cannot be filled: their sides must be even, \(sides); --gap 0 joins "
          + "the parts without gaps")
    }
    let compositor = PictureCompositor(canvas: canvas)
    let notice = Notice("Recording interrupted", detail: words(gap), symbol: .reconnecting)
    let picture = compositor.compose([], notice: notice).picture
    let frameDuration = max(1, video.frameDuration.nanoseconds)
    let framesPerSecond = Int(min(max((1_000_000_000 + frameDuration / 2) / frameDuration, 1), 240))
    let missing = (gap.end.nanoseconds &- gap.start.nanoseconds) / frameDuration + 1
    let count = Int(min(max(missing, 1), length.nanoseconds / frameDuration + 1))
    let encoder = try VideoEncoders.make(
      video.codec, width: video.width, height: video.height, framesPerSecond: framesPerSecond, bitrate: bitrate,
      keyframeInterval: count + 1)
    var frames: [EncodedFrame] = []
    for index in 0..<count {
      let time = Int64(index) * 90_000 / Int64(framesPerSecond)
      try encoder.encode(picture, pts: time, forceKeyframe: index == 0) { bytes, isKeyframe in
        frames.append(
          EncodedFrame(
            codec: video.codec.codec, payload: MediaBuffer(copying: bytes), rtpTime: time,
            isKeyframe: isKeyframe, width: video.width, height: video.height))
      }
    }
    return frames
  }

  /// `No picture from 2026-11-21 14:03:10 to 14:03:31 UTC`, or how long, when the time is not known.
  static func words(_ gap: Concatenation.Gap) -> String {
    guard let dates = gap.dates else {
      return "No picture for \(length(gap.end - gap.start))"
    }
    let (firstDay, first) = text(dates.lowerBound)
    let (lastDay, last) = text(dates.upperBound)
    return "No picture from \(firstDay) \(first) to \(lastDay == firstDay ? "" : lastDay + " ")\(last) UTC"
  }

  /// `5 s`, `2:05 min` or `1:02:05 h`: rounded to the second, and never none.
  static func length(_ span: Duration) -> String {
    let seconds = max(1, (span.milliseconds + 500) / 1000)
    func twoDigits(_ value: Int64) -> String { (value < 10 ? "0" : "") + "\(value)" }
    if seconds < 60 { return "\(seconds) s" }
    let rest = twoDigits(seconds % 60)
    if seconds < 3600 { return "\(seconds / 60):\(rest) min" }
    return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(rest) h"
  }

  private static func text(_ nanoseconds: Int64) -> (day: String, time: String) {
    var seconds = time_t(nanoseconds / 1_000_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func formatted(_ format: String) -> String {
      var text = [CChar](repeating: 0, count: 32)
      let count = strftime(&text, text.count, format, &parts)
      return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return (formatted("%Y-%m-%d"), formatted("%H:%M:%S"))
  }
}
