import MediaCore
import Signaling
import TestKit
import Testing

@testable import RoomServer

@Suite struct RoomAdmissionTests {
  private static let start = Moment(steady: .seconds(1000), wall: 1_700_000_000_000_000)

  private func request(_ identity: String, resumes sid: String? = nil, reconnect: Bool = false) -> JoinRequest {
    var request = RoomWorld.request(identity)
    request.query.reconnect = reconnect || sid != nil
    request.query.participantSID = sid
    return request
  }

  @Test func whoIsLetInFollowsTheRoom() throws {
    let admission = RoomAdmission(createsRooms: true)
    var world = RoomWorld(maximum: 1)
    #expect(admission.refusal(request("alice"), nil) == nil)
    #expect(admission.refusal(request("alice"), nil, limit: 0) == .full)
    #expect(admission.refusal(request("alice"), world.machine) == nil)
    _ = try world.joined("alice")
    #expect(admission.refusal(request("bob"), world.machine) == .full)
    #expect(admission.refusal(request("alice"), world.machine) == nil)
    // Who says that it goes on has its place; whether it has a session is seen later.
    #expect(admission.refusal(request("bob", reconnect: true), world.machine) == nil)
    let strict = RoomAdmission(createsRooms: false)
    var creator = request("alice")
    #expect(strict.refusal(creator, nil) == .noRoom)
    creator.grant.roomCreate = true
    #expect(strict.refusal(creator, nil) == nil)
  }

  @Test func whoComesBackGoesOnOrHearsWhyNot() throws {
    var admission = RoomAdmission(createsRooms: true)
    var world = RoomWorld()
    let alice = try world.joined("alice")
    func arrival(_ identity: String, _ sid: String?, after seconds: Int64 = 0) -> RoomAdmission.Arrival {
      var now = Self.start
      now.steady += .seconds(seconds)
      return admission.arrival(request(identity, resumes: sid, reconnect: true), world.machine, at: now)
    }
    #expect(admission.arrival(request("bob"), nil, at: Self.start) == .join)
    #expect(arrival("alice", alice) == .resume(alice) && arrival("alice", nil) == .resume(alice))
    #expect(arrival("alice", "PA_other") == .refuse(.stateMismatch, .reconnect))
    #expect(arrival("bob", alice) == .refuse(.stateMismatch, .reconnect))
    admission.noteUnheardEnd(of: "PA_gone", .participantRemoved, at: Self.start)
    admission.noteUnheardEnd(of: "PA_lost", .signalClose, at: Self.start)
    #expect(arrival("bob", "PA_gone", after: 359) == .refuse(.participantRemoved, .disconnect))
    #expect(arrival("bob", "PA_gone", after: 360) == .refuse(.stateMismatch, .reconnect))
    #expect(arrival("bob", "PA_lost") == .refuse(.stateMismatch, .reconnect))
    admission.shutDown()
    #expect(admission.refusal(request("alice"), world.machine) == .shuttingDown)
    #expect(arrival("alice", alice) == .refuse(.serverShutdown, .disconnect))
  }

  @Test func settingsAreThoseOfTheRequestWithinTheirLimits() throws {
    let usual = RoomMachine.Settings(emptyTimeout: 300, departureTimeout: 20, maximumParticipants: 100)
    var request = Livekit_CreateRoomRequest()
    request.name = "room"
    request.departureTimeout = 7
    request.metadata = "topic"
    let settings = try RoomMachine.Settings(request, usual)
    #expect(settings.emptyTimeout == 300 && settings.departureTimeout == 7 && settings.metadata == "topic")
    for name in ["", String(repeating: "x", count: 257), "a\nb"] {
      request.name = name
      #expect(throws: TwirpError.self) { try RoomMachine.Settings(request, usual) }
    }
    request.name = "room"
    request.metadata = String(repeating: "x", count: RoomMachine.Settings.metadataLimit + 1)
    #expect(throws: TwirpError.self) { try RoomMachine.Settings(request, usual) }
  }
}
