import CAllocationCount
import Glibc
import Layouts
import MediaCore
import Session

// session-bench    prints what planning a frame costs in rooms of several sizes, on one core; exit code 1 when a large
//                  room costs more than the limits below

/// Nine people are seen, heard and talk in turn; all others only publish.
struct Room {
  static let shown = 9
  private var core: SessionCore
  private var sequence: UInt64 = 0
  private var now = SessionTime.zero
  private let payload = MediaBuffer([1])

  init(people: Int) {
    core = SessionCore(
      settings: .init(canvas: CanvasSize(width: 1280, height: 720), layout: .grid, maximumTalkers: Room.shown))
    put(.room(.joined(room: "bench")))
    for number in 0..<people {
      let identity = ParticipantIdentity("guest-\(number)")
      let isReceived = number < Room.shown
      put(.room(.participant(Participant(identity: identity, name: "Guest \(number)"))))
      for (source, kind) in [(TrackSource.camera, MediaKind.video), (.microphone, .audio)] {
        let track = Track(
          id: TrackID("TR_\(source.rawValue)_\(number)"), participant: identity, kind: kind, source: source,
          isMuted: !isReceived)
        put(.room(.track(track)))
        if isReceived { put(.room(.trackSubscribed(track.id, true))) }
      }
    }
  }

  private mutating func put(_ payload: SessionEvent.Payload) {
    core.handle(SessionEvent(sequence: sequence, arrived: now, payload: payload))
    sequence += 1
  }

  /// Goes on by a 30th of a second; gives how many tiles the plans had.
  mutating func step(_ frame: Int) -> Int {
    now = SessionTime(nanoseconds: Int64(frame) * 1_000_000_000 / 30)
    for number in 0..<Room.shown {
      put(
        .frame(
          EncodedFrame(
            codec: .vp8, payload: payload, rtpTime: Int64(frame) * 3000, isKeyframe: true, width: 640, height: 360),
          of: TrackID("TR_camera_\(number)")))
      put(
        .frame(
          EncodedFrame(
            codec: .opus, payload: payload, rtpTime: Int64(frame) * 1600, isKeyframe: true,
            audioLevel: frame / 90 % Room.shown == number ? 20 : 127), of: TrackID("TR_microphone_\(number)")))
    }
    core.advance(to: now)
    var tiles = 0
    while let output = core.pollOutput() {
      if case .compose(let plan) = output { tiles += plan.tiles.count }
    }
    return tiles
  }
}

func processorTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Mean processor time and allocations of a frame, in turn in all rooms, so that what disturbs one disturbs all.
func measure(_ sizes: [Int]) -> [(time: Int64, allocations: UInt64)] {
  var rooms = sizes.map { Room(people: $0) }
  var results = sizes.map { _ in (time: Int64(0), allocations: UInt64(0)) }
  let (warm, frames) = (60, 900)
  for frame in 0..<(warm + frames) {
    for index in rooms.indices {
      let (start, count) = (processorTime(), recbot_allocation_count())
      let tiles = rooms[index].step(frame)
      precondition(frame < warm || tiles == Room.shown, "nine people are shown")
      guard frame >= warm else { continue }
      results[index].time += processorTime() - start
      results[index].allocations += recbot_allocation_count() - count
    }
  }
  return results.map { ($0.time / Int64(frames), $0.allocations / UInt64(frames)) }
}

/// What a room of thousands may cost, in hundredths of what thirty people cost: talkers who take turns move tiles, and
/// then, once in three seconds, all are looked at.
let limit: Int64 = 300
/// And in processor time: 0.02 of a core at 30 frames a second.
let extra: Int64 = 20_000_000 / 30

let sizes = [30, 300, 3000]
print("nine people shown, processor time of one frame's events and plan")
let results = measure(sizes)
let base = max(1, results[0].time)
for (size, result) in zip(sizes, results) {
  print(
    "\(size) people: \(result.time / 1000).\(result.time % 1000 / 100) µs, \(result.time * 100 / base)% of 30's, "
      + "\(result.allocations) allocations")
}
let largest = results[results.count - 1].time
let isWithin = largest * 100 <= base * limit && largest - base <= extra
print(isWithin ? "within limits" : "FAILED: at most \(limit)% of what 30 people cost, and \(extra / 1000) µs more")
exit(isWithin ? 0 : 1)
