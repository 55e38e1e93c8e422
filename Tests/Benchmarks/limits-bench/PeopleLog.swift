import Codecs
import Foundation
import Layouts
import MediaCore
import Session
import SessionLog
import Synthetic

/// A session log of nine people who send 640x360 at 30 pictures a second and speak: the same bytes wherever it is written with the
/// same codecs.
enum PeopleLog {
  /// How long it is, seconds.
  static let length = 4
  static let people = 9
  private static let (width, height, rate) = (640, 360, 30)

  /// Writes it into a folder that is not there yet.
  static func write(to path: String) throws {
    var payloads: [(at: Int64, payload: SessionEvent.Payload)] = [(0, .room(.joined(room: "limits")))]
    for number in 0..<people {
      let person = ParticipantIdentity("person-\(number)")
      payloads.append((0, .room(.participant(Participant(identity: person, name: "Person \(number)")))))
      let camera = Track(id: TrackID("camera-\(number)"), participant: person, kind: .video, source: .camera)
      let microphone = Track(
        id: TrackID("microphone-\(number)"), participant: person, kind: .audio, source: .microphone)
      for track in [camera, microphone] {
        payloads += [(0, .room(.track(track))), (0, .room(.trackSubscribed(track.id, true)))]
      }
      payloads += try pictures(number).map { ($0.at, .frame($0.frame, of: camera.id)) }
      payloads += try sound(number).map { ($0.at, .frame($0.frame, of: microphone.id)) }
    }
    payloads.append((Int64(length) * 1000, .room(.ended(.stopped))))
    let settings = SessionCore.Settings(
      canvas: CanvasSize(width: 1280, height: 720), layout: .grid, framesPerSecond: rate,
      startDate: 1_790_000_000_000_000_000)
    let writer = try SessionLogWriter(path: path, beginning: LogBeginning(settings: settings, program: "limits-bench"))
    let sorted = payloads.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
    for (index, event) in sorted.enumerated() {
      try writer.append(
        .event(
          SessionEvent(
            sequence: UInt64(index), arrived: .zero + .milliseconds(event.element.at), payload: event.element.payload)))
    }
    try writer.finish(LogEnd(reason: .stopped, length: .seconds(length)))
  }

  private static func pictures(_ number: Int) throws -> [(at: Int64, frame: EncodedFrame)] {
    let camera = SyntheticCamera(
      seed: UInt64(number), identity: number, width: width, height: height, framesPerSecond: rate)
    let encoder = try VPXEncoder(
      .vp8, width: width, height: height, framesPerSecond: rate, bitrate: 500_000, settings: .live(.vp8))
    let picture = Picture(width: width, height: height)
    var frames: [(at: Int64, frame: EncodedFrame)] = []
    for index in 0..<(length * rate) {
      camera.draw(frame: index, voiceLevel: 0.3, into: picture)
      _ = try encoder.encode(picture, pts: Int64(index) * 3000) { bytes, isKeyframe in
        frames.append(
          (
            Int64(index * 1000 / rate) + 20,
            EncodedFrame(
              codec: .vp8, payload: MediaBuffer(copying: bytes), rtpTime: Int64(index) * 3000, isKeyframe: isKeyframe,
              width: isKeyframe ? width : 0, height: isKeyframe ? height : 0)
          ))
      }
    }
    return frames
  }

  private static func sound(_ number: Int) throws -> [(at: Int64, frame: EncodedFrame)] {
    let encoder = try OpusEncoder()
    var samples = [Float](repeating: 0, count: 960 * 2)
    var packet = [UInt8](repeating: 0, count: 1500)
    return try (0..<(length * 50)).map { index in
      // Each speaks a second in four.
      let speaks = (index / 50 + number) % 4 == 0
      for sample in 0..<960 {
        let phase = Float(index * 960 + sample) * Float(200 + 40 * number) * 2 * .pi / 48_000
        let value: Float = speaks ? 0.2 * sin(phase) : 0
        (samples[2 * sample], samples[2 * sample + 1]) = (value, value)
      }
      let count = try samples.withUnsafeBufferPointer { input in
        try packet.withUnsafeMutableBytes { try encoder.encode(input, into: $0) }
      }
      return (
        Int64(index) * 20 + 20,
        EncodedFrame(
          codec: .opus, payload: MediaBuffer(Array(packet[..<count])), rtpTime: Int64(index) * 960, isKeyframe: true,
          audioLevel: speaks ? 20 : 127)
      )
    }
  }
}
