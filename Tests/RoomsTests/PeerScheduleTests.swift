import MediaCore
import Session
import Signaling
import Testing

@testable import Rooms

/// Two peers that find each other, in virtual time: the connection tests of two-party rooms.
@Suite struct PeerScheduleTests {
  /// Two peers that begin after so many seconds; the time that they need from the later beginning on.
  func connect(
    _ world: PeerWorld, host: Double, guest: Double, roles: (PeerRole?, PeerRole?) = (.host, .guest)
  ) -> (host: PeerWorld.End, guest: PeerWorld.End, seconds: Double)? {
    var first: PeerWorld.End?
    var second: PeerWorld.End?
    let start = world.now + .nanoseconds(Int64(max(host, guest) * 1e9))
    world.after(.nanoseconds(Int64(host * 1e9))) { first = world.begin("host", as: roles.0) }
    world.after(.nanoseconds(Int64(guest * 1e9))) { second = world.begin("guest", as: roles.1) }
    let isDone = world.run(seconds: max(host, guest) + 30) {
      guard let first, let second else { return false }
      return world.areConnected(first, second)
    }
    guard isDone, let first, let second else { return nil }
    return (first, second, (world.now - start) / .seconds(1))
  }

  @Test func simultaneousConnection() throws {
    let pair = try #require(connect(PeerWorld(seed: 1), host: 0, guest: 0))
    #expect(pair.seconds < 2)
  }

  @Test func guestConnectingFirst() throws {
    let pair = try #require(connect(PeerWorld(seed: 2), host: 6, guest: 0))
    #expect(pair.seconds < 2)
  }

  @Test func hostConnectingFirst() throws {
    let pair = try #require(connect(PeerWorld(seed: 3), host: 0, guest: 6))
    #expect(pair.seconds < 2)
  }

  @Test func hostDisconnected() throws {
    let world = PeerWorld(seed: 4)
    let pair = try #require(connect(world, host: 0, guest: 0))
    let again = world.begin("host", as: .host)
    #expect(world.run(seconds: 15) { world.areConnected(again, pair.guest) })
  }

  @Test func guestDisconnected() throws {
    let world = PeerWorld(seed: 5)
    let pair = try #require(connect(world, host: 0, guest: 0))
    let again = world.begin("guest", as: .guest)
    #expect(world.run(seconds: 15) { world.areConnected(pair.host, again) })
  }

  /// Whoever comes when, in whatever role: both take the seats that are left.
  @Test(arguments: 0..<50) func randomConnectionScheme(seed: UInt64) throws {
    let world = PeerWorld(seed: seed)
    var random = SeededRandom(seed: seed)
    let schemes: [(PeerRole?, PeerRole?)] = [(.host, .guest), (nil, nil), (.host, nil), (nil, .guest), (nil, .host)]
    let roles = schemes[Int.random(in: 0..<schemes.count, using: &random)]
    let delays = (Double.random(in: 0...8, using: &random), Double.random(in: 0...8, using: &random))
    let pair = try #require(
      connect(world, host: delays.0, guest: delays.1, roles: roles), "seed \(seed): \(roles) after \(delays)")
    #expect(pair.seconds < 5, "seed \(seed)")
    #expect(pair.host.flow.mailbox.role == pair.guest.flow.mailbox.role?.other, "seed \(seed)")
  }

  /// A minute in which requests get lost, answers come twice and late, the mailbox forgets everything, watching is cut
  /// off, connections don't come about or die, and either side is killed and begins again. Then it is calm, and they must
  /// find each other and stay together.
  @Test(arguments: 0..<200) func allFindEachOtherInTheEnd(seed: UInt64) throws {
    let world = PeerWorld(seed: seed &+ 1_000)
    var random = SeededRandom(seed: seed)
    func seconds(_ range: ClosedRange<Double>) -> Duration {
      .nanoseconds(Int64(Double.random(in: range, using: &random) * 1e9))
    }
    world.calmAt = world.now + .seconds(60)
    world.trouble = .init(
      lostRequests: Int.random(in: 0...30, using: &random), doubledAnswers: Int.random(in: 0...20, using: &random),
      deadConnections: Int.random(in: 0...60, using: &random),
      delay: .milliseconds(Int64.random(in: 1...900, using: &random)))
    let isFixed = Bool.random(using: &random)
    // The first join of all must succeed: a bot that can't is told so and ends.
    world.trouble.lostRequests = 0
    let losses = Int.random(in: 0...30, using: &random)
    var ends = [world.begin("ann", as: isFixed ? .host : nil), world.begin("bot", as: isFixed ? .guest : nil)]
    world.run(seconds: 3) { ends.allSatisfy(\.flow.hasJoined) }
    world.trouble.lostRequests = losses
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let kind = Int.random(in: 0..<5, using: &random)
      let who = Int.random(in: 0...1, using: &random)
      world.after(seconds(0...55)) {
        switch kind {
        case 0: world.restartMailbox()
        case 1: world.cutWatches()
        case 2 where ends[who].media?.state == .connected:
          world.change(ends[who], Bool.random(using: &random) ? .failed : .disconnected)
        default:
          world.trouble.lostRequests = 0
          ends[who] = world.begin(ends[who].identity, as: ends[who].role)
          let before = ends[who]
          world.after(.milliseconds(2500)) {
            if before === ends[who] { world.trouble.lostRequests = losses }
          }
        }
      }
    }
    world.run(seconds: 60)
    let connected = world.run(seconds: 60) { world.areConnected(ends[0], ends[1]) }
    #expect(ends.allSatisfy { $0.finished == nil }, "seed \(seed)")
    #expect(connected, "seed \(seed): \(ends.map { ($0.flow.mailbox.role, $0.flow.negotiation.exchange) })")
    // A side that was silent may still come to the end of its patience; then nothing happens any more.
    world.run(seconds: 40)
    let generations = ends.map(\.flow.media.generation)
    world.run(seconds: 60)
    #expect(world.areConnected(ends[0], ends[1]), "seed \(seed)")
    #expect(ends.map(\.flow.media.generation) == generations, "seed \(seed): they do not stay together")
  }
}
