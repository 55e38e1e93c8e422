// Writes a recording over and over from the frames of a WebM file, until it is killed or the given length is reached:
// the victim of the tests that kill a writer. Prints the media time that the writer has taken, in milliseconds, after
// each frame.
//
//   webm-writer-loop INPUT OUTPUT [--speed N] [--seconds S] [--finish]
//
// --speed N: N times as fast as real time (0, the default: as fast as it goes)

import Glibc
import MediaCore
import WebM

/// The frames of one kind, to be repeated at an even distance; the first picture is a keyframe.
struct Source {
  var frames: [(isKeyframe: Bool, bytes: MediaBuffer)] = []
  var framesPerSecond: Int64
  var count: Int64 = 0

  var time: SessionTime { SessionTime(nanoseconds: count * 1_000_000_000 / framesPerSecond) }
  var frame: (isKeyframe: Bool, bytes: MediaBuffer) { frames[Int(count) % frames.count] }
}

/// Unbuffered, so that what was said is known even after a kill.
func say(_ text: String, to descriptor: Int32) {
  var text = text
  text.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
}

func fail(_ message: String) -> Never {
  say("webm-writer-loop: \(message)\n", to: 2)
  exit(1)
}

func monotonicNow() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

func run(_ arguments: [String]) throws(WebMError) {
  guard arguments.count >= 3 else { fail("usage: webm-writer-loop INPUT OUTPUT [--speed N] [--seconds S] [--finish]") }
  func value(_ name: String) -> Int64? {
    guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
    return Int64(arguments[index + 1])
  }
  let speed = value("--speed") ?? 0
  let length = Duration.seconds(value("--seconds") ?? 3600)

  let report = try WebMProbe.probe(arguments[1])
  guard let picture = report.tracks.first(where: { $0.kind == .video }) else { fail("no pictures in the input") }
  var pictures = Source(framesPerSecond: 30)
  var sounds = Source(framesPerSecond: 50)
  try WebMReader.forEachFrame(path: arguments[1]) { frame in
    let copy = (frame.isKeyframe, MediaBuffer(copying: frame.bytes))
    if frame.track == picture.number { pictures.frames.append(copy) } else { sounds.frames.append(copy) }
  }
  guard !pictures.frames.isEmpty, !sounds.frames.isEmpty else { fail("no frames in the input") }
  let writer = try WebMWriter(
    path: arguments[2],
    configuration: WebMConfiguration(
      video: .init(width: picture.width, height: picture.height, framesPerSecond: 30), audio: .init()))

  var failure: WebMError?
  do throws(WebMError) {
    try write(&pictures, &sounds, to: writer, length: length, speed: speed)
  } catch {
    failure = error
  }
  if arguments.contains("--finish") { _ = try writer.finish() }
  if let failure { throw failure }
}

func write(
  _ pictures: inout Source, _ sounds: inout Source, to writer: WebMWriter, length: Duration, speed: Int64
) throws(WebMError) {
  let start = monotonicNow()
  while true {
    let time = min(pictures.time, sounds.time)
    guard time.sinceBeginning < length else { break }
    if speed > 0 {
      let due = start + time.nanoseconds / speed - monotonicNow()
      if due > 0 {
        var pause = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
        nanosleep(&pause, nil)
      }
    }
    if sounds.time <= pictures.time {
      try writer.addAudio(at: time, sounds.frame.bytes.bytes)
      sounds.count += 1
    } else {
      try writer.addVideo(at: time, pictures.frame.bytes.bytes, isKeyframe: pictures.frame.isKeyframe)
      pictures.count += 1
    }
    say("\(time.milliseconds)\n", to: 1)
  }
}

do throws(WebMError) { try run(CommandLine.arguments) } catch { fail(error.description) }
