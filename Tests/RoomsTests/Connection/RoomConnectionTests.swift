import MediaCore
import PeerConnection
import Session
import Synchronization
import SystemKit
import Testing
import Transport

@testable import Rooms

/// The shell by itself, with the smallest room protocol there can be: that is all that another one must bring.
@Suite struct RoomConnectionTests {
  /// In the room after a question to the transport; ends by itself a moment after it was left.
  struct Machine: ConnectionMachine {
    enum Input: RoomInput {
      case join, answered, networkChanged, leave, timer
      case transport(generation: Int, TransportState)

      static func candidate(generation: Int, _ candidate: String, mid: MID, index: Int) -> Input { .networkChanged }
      static func noMedia(generation: Int, _ reason: String) -> Input? { nil }
      static func wish(_ wish: RoomWish) -> Input? { nil }
    }

    enum Request: Equatable, Sendable { case ask }

    private(set) var isIdle = true
    private(set) var nextDeadline: Instant?

    mutating func handle(_ input: Input, at now: Instant) -> [RoomAction<Request>] {
      switch input {
      case .join:
        isIdle = false
        // The answer comes while this is carried out, and waits its turn.
        return [.perform(.ask), .emit(.joined(room: "asked"))]
      case .answered: return [.emit(.synchronized), .joined]
      case .leave:
        nextDeadline = now + .milliseconds(20)
        return [.status(RoomStatus(state: .ended))]
      case .timer:
        guard let due = nextDeadline, due <= now else { return [] }
        nextDeadline = nil
        return [.finished(.stopped, nil)]
      case .networkChanged, .transport: return []
      }
    }
  }

  final class Link: RoomTransport {
    typealias Machine = RoomConnectionTests.Machine

    static let samplingInterval = Duration.seconds(1)

    func start(_ connection: RoomConnection<Link>) -> Machine.Input { .join }
    func perform(_ request: Machine.Request, for connection: RoomConnection<Link>) { connection.handle(.answered) }
    func configure(_ configuration: inout RTCPeerConnection.Configuration) {}
    func opened(_ media: RTCPeerConnection, _ request: MediaRequest) {}
    func sample(_ media: RTCPeerConnection, for connection: RoomConnection<Link>) {}
    func passed(
      _ frame: EncodedFrame, of track: TrackID, in mid: MID, for connection: RoomConnection<Link>
    ) -> EncodedFrame? { frame }
  }

  final class Counter: Sendable { let value = Mutex(0) }

  @Test func aMachineIsDrivenFromJoinToEnd() async throws {
    let loop = MediaLoop(name: "test")
    let sink = CollectingSink()
    let ends = Counter()
    let connection = RoomConnection(
      machine: Machine(), transport: Link(), options: RoomOptions(url: "", tokens: .given("")), loop: loop, sink: sink,
      logger: LoopbackTests.quiet, onStatus: { _ in },
      onEnd: { _, error in ends.value.withLock { $0 += error == nil ? 1 : 9 } })
    try await connection.join()
    #expect(sink.texts == ["joined asked", "synchronized"])
    let error = await #expect(throws: RoomError.self) { try await connection.join() }
    #expect(error?.kind == .leftAlready)
    connection.subscribe(TrackID("nothing to choose"))
    connection.leave()
    #expect(await eventually { ends.value.withLock { $0 } == 1 })
    #expect(sink.texts.last == "ended stopped" && sink.texts.count == 3)
    loop.stop()
  }
}
