import MediaCore
import Glibc
import Platform
import RecbotKit
import Session
import Synchronization

/// Runs the demo's people: lets them join, gives them time, and sends them home.
final class DemoStage: PeopleStage {
  private let participants: [DemoParticipant]
  private let isRunning = Atomic(false)
  private let hasBegun = Atomic(false)
  private let isOver = Atomic(false)

  init(script: DemoScript, place: PeoplesRoom) throws {
    // Sixty people would be a hundred and twenty threads.
    let threads = RoomThreads(name: "people")
    participants = try (0..<script.participants).map { person in
      let name = script.name(person)
      return DemoParticipant(
        person: person, script: script, url: place.url,
        token: try place.token(identity: name.lowercased(), name: name), options: place.options(threads))
    }
  }

  var count: Int { participants.count }

  func begin() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for participant in participants { group.addTask { try await participant.join() } }
      try await group.waitForAll()
    }
    isRunning.store(true, ordering: .releasing)
    hasBegun.store(true, ordering: .releasing)
    DetachedThread.start(name: "demo") { [self] in play() }
  }

  func end() async {
    isRunning.store(false, ordering: .releasing)
    for _ in 0..<100 where hasBegun.load(ordering: .acquiring) && !isOver.load(ordering: .acquiring) {
      try? await Task.sleep(for: .milliseconds(10))
    }
    await withTaskGroup(of: Void.self) { group in
      for participant in participants { group.addTask { await participant.leave() } }
    }
  }

  /// The demo's thread: a step each 20 ms of the monotonic clock, without drift.
  private func play() {
    let start = MonotonicClock.now
    var block: Int64 = 0
    while isRunning.load(ordering: .acquiring) {
      let due = start + .milliseconds(block * 20)
      let now = MonotonicClock.now
      if now < due {
        usleep(UInt32((due - now).microseconds + 100))
        continue
      }
      // A step that is far too late is left out, as a real camera would lose the picture.
      if now - due < .milliseconds(500) {
        let time = SessionTime.zero + .milliseconds(block * 20)
        for participant in participants { participant.tick(block: block, at: time) }
      }
      block += 1
    }
    isOver.store(true, ordering: .releasing)
  }
}
