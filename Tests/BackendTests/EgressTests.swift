import Foundation
import Jobs
import JobsAPI
import Logging
import NIOCore
import Signaling
import SwiftProtobuf
import Testing
import WebClient

@testable import Backend

/// LiveKit's Egress API and its webhooks coming in, over real connections to a real backend.
@Suite struct EgressTests {
  static let service = RoomService(
    url: "ws://127.0.0.1:7880", apiKey: "devkey", apiSecret: "a secret that nobody else knows..")
  static let rules = EgressRules(apiKey: "devkey") { $0.hasPrefix("https://") ? nil : "is not an https: address" }

  /// A backend that serves for the time of `body`.
  private func withBackend(_ body: (JobQueue, Client) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "recbot-egress-\(UUID().uuidString).sqlite"
    let database = try SQLiteDatabase(path: path)
    defer {
      database.close()
      for suffix in ["", "-journal"] { unlink(path + suffix) }
    }
    var configuration = BackendConfiguration(roomService: Self.service)
    configuration.port = 0
    let backend = try await BackendService(
      configuration: configuration, database: database, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await backend.run() }
      try await body(backend.queue, Client(port: try await backend.port))
      group.cancelAll()
      while (try? await group.next()) != nil {}
    }
  }

  /// Somebody who asks.
  struct Client: Sendable {
    var port: Int

    static func token(
      key: String = service.apiKey, secret: String = service.apiSecret, record: Bool? = true, lifetime: Int64 = 60
    ) throws -> String {
      var grant = VideoGrant()
      grant.roomRecord = record
      return try AccessToken(
        apiKey: key, identity: "", video: grant, now: Timestamp.now.seconds, lifetime: lifetime
      ).signed(secret: secret)
    }

    func post(
      _ path: String, _ body: [UInt8], type: String = "application/json", authorization: String?
    ) async throws -> (status: UInt, body: [UInt8]) {
      var request = WebRequest(
        .POST, isSecure: false, host: "127.0.0.1", port: port, target: path, headers: ["content-type": type],
        body: ByteBuffer(bytes: body))
      if let authorization { request.headers.add(name: "authorization", value: authorization) }
      let response = try await WebConnections(.init(silence: .seconds(20))).answer(to: request)
      return (response.status.code, Array(try await response.body.collect(upTo: 1 << 20).readableBytesView))
    }

    /// A call in protobuf, with a good token.
    func call<Out: Message>(_ method: String, _ request: some Message, _: Out.Type) async throws -> Out {
      let bytes: [UInt8] = try request.serializedBytes()
      let (status, body) = try await post(
        "/twirp/livekit.Egress/\(method)", bytes, type: "application/protobuf",
        authorization: "Bearer " + (try Self.token()))
      guard status == 200 else { throw Failure(status: status, text: String(decoding: body, as: UTF8.self)) }
      return try Out(serializedBytes: body)
    }

    struct Failure: Error {
      var status: UInt
      var text: String
    }
  }

  @Test(.timeLimit(.minutes(1))) func anEgressIsStartedListedChangedAndStopped() async throws {
    try await withBackend { stores, client in
      let request = Livekit_RoomCompositeEgressRequest.with {
        $0.roomName = "talk"
        $0.layout = "speaker"
        $0.preset = .h2641080P30
        $0.fileOutputs = [.with { $0.filepath = "calls/{room_name}-one" }]
      }
      let started = try await client.call("StartRoomCompositeEgress", request, Livekit_EgressInfo.self)
      #expect(started.status == .egressStarting && started.roomName == "talk" && started.egressID.hasPrefix("EG_"))
      #expect(started.roomComposite == request)
      #expect(started.fileResults.map(\.filename) == ["calls/talk-one.webm"])
      let job = try #require(try await stores.jobs.claim(worker: "w", count: 1).jobs.first)
      #expect(job.request.layout == "speaker" && job.owner == "livekit:devkey")
      #expect(job.request.picture == JobPicture(width: 1920, height: 1080, framesPerSecond: 30, bitrate: 4_500_000))
      #expect(job.request.outputs == [JobOutput(path: "calls/{room}-one.webm")])
      _ = try await stores.jobs.heartbeat(job: job.id, fence: 1, report: JobReport(state: .running))
      let updated = try await client.call(
        "UpdateLayout",
        Livekit_UpdateLayoutRequest.with {
          $0.egressID = started.egressID
          $0.layout = "grid"
        }, Livekit_EgressInfo.self)
      #expect(updated.status == .egressActive)
      let active = try await client.call(
        "ListEgress", Livekit_ListEgressRequest.with { $0.active = true }, Livekit_ListEgressResponse.self)
      #expect(active.items.map(\.egressID) == [started.egressID])
      let stop = Livekit_StopEgressRequest.with { $0.egressID = started.egressID }
      #expect(try await client.call("StopEgress", stop, Livekit_EgressInfo.self).status == .egressEnding)
      let told = try await stores.jobs.heartbeat(job: job.id, fence: 1, report: JobReport())
      #expect(told.commands.map(\.verb) == [.layout, .stop] && told.commands[0].argument == "grid")
      let again = await #expect(throws: Client.Failure.self) {
        try await client.call("StopEgress", stop, Livekit_EgressInfo.self)
      }
      #expect(again?.status == 412 && again?.text.contains("EGRESS_ENDING cannot be stopped") == true)
      let file = JobFile(location: "/data/recordings/calls/talk-one.webm", size: 7, duration: 2_000_000)
      _ = try await stores.jobs.complete(job: job.id, fence: 1, files: [file])
      for (filter, count) in [("talk", 1), ("other", 0)] {
        let list = try await client.call(
          "ListEgress", Livekit_ListEgressRequest.with { $0.roomName = filter }, Livekit_ListEgressResponse.self)
        #expect(list.items.count == count)
      }
      let one = try await client.call(
        "ListEgress", Livekit_ListEgressRequest.with { $0.egressID = started.egressID },
        Livekit_ListEgressResponse.self)
      let info = try #require(one.items.first)
      #expect(info.status == .egressComplete && info.endedAt >= info.startedAt)
      #expect(info.fileResults.first?.filename == "calls/talk-one.webm" && info.file.duration == 2_000_000_000)
      #expect(info.fileResults.first?.size == 7)
    }
  }

  @Test(.timeLimit(.minutes(1))) func jsonIsAnsweredWithTheNamesOfTheProto() async throws {
    try await withBackend { _, client in
      let token = "Bearer " + (try Client.token())
      for body in [
        #"{"room_name":"talk","track_id":"TR_1","file":{"filepath":"x"},"unknown":1}"#,
        #"{"roomName":"talk","trackId":"TR_1","file":{"filepath":"x"}}"#,
      ] {
        let answer = try await client.post(
          "/twirp/livekit.Egress/StartTrackEgress", Array(body.utf8), authorization: token)
        #expect(answer.status == 200)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        #expect((json["egress_id"] as? String)?.hasPrefix("EG_") == true && json["room_name"] as? String == "talk")
        #expect(json["started_at"] is String)
      }
      let wrong = try await client.post("/twirp/livekit.Egress/StartTrackEgress", Array("{".utf8), authorization: token)
      #expect(wrong.status == 400 && String(decoding: wrong.body, as: UTF8.self).contains(#""code":"malformed""#))
      let type = try await client.post(
        "/twirp/livekit.Egress/ListEgress", [], type: "text/plain", authorization: token)
      #expect(type.status == 404 && String(decoding: type.body, as: UTF8.self).contains("bad_route"))
      let large = try await client.post(
        "/twirp/livekit.Egress/ListEgress", [UInt8](repeating: 32, count: 1 << 20), authorization: token)
      #expect(large.status == 429)
    }
  }

  @Test(.timeLimit(.minutes(1))) func onlyTokensOfTheKeyThatMayRecordAreTaken() async throws {
    try await withBackend { stores, client in
      let path = "/twirp/livekit.Egress/StartRoomCompositeEgress"
      let body = Array(#"{"room_name":"talk","file":{"filepath":"x"}}"#.utf8)
      let good = try Client.token()
      let parts = good.split(separator: ".")
      let unsigned = Data(#"{"alg":"none","typ":"JWT"}"#.utf8).base64EncodedString().replacing("=", with: "")
      let bad: [String?] = [
        nil, "", "Bearer", "Bearer x", good, "Basic " + good, "Bearer \(unsigned).\(parts[1]).",
        "Bearer " + (try Client.token(secret: "another secret of some length....")),
        "Bearer " + (try Client.token(key: "otherkey")), "Bearer " + (try Client.token(lifetime: -120)),
        "Bearer " + good + "x", "Bearer " + String(repeating: "a", count: 60_000),
      ]
      for authorization in bad {
        let answer = try await client.post(path, body, authorization: authorization)
        #expect(answer.status == 401 && String(decoding: answer.body, as: UTF8.self) == "invalid authorization token")
      }
      for record in [nil, false] {
        let answer = try await client.post(path, body, authorization: "Bearer " + (try Client.token(record: record)))
        #expect(answer.status == 401 && String(decoding: answer.body, as: UTF8.self).contains("permissions denied"))
      }
      #expect(try await stores.jobs.list().isEmpty)
      #expect(try await client.post(path, body, authorization: "Bearer " + good).status == 200)
    }
  }

  @Test(.timeLimit(.minutes(1))) func aRoomThatBeginsFiresItsRules() async throws {
    try await withBackend { stores, client in
      _ = try await stores.schedules.add(
        Schedule(owner: "app", trigger: .room(glob: "team-*"), request: JobRequest(room: "any", layout: "speaker")))
      func tell(_ event: Livekit_WebhookEvent, spoil: ((inout [UInt8], inout String) -> Void)? = nil) async throws
        -> UInt
      {
        var body: [UInt8] = try event.jsonUTF8Bytes()
        var token = try AccessToken(
          vouchingFor: body, apiKey: Self.service.apiKey, now: Timestamp.now.seconds, lifetime: 300
        ).signed(secret: Self.service.apiSecret)
        spoil?(&body, &token)
        return try await client.post(
          "/webhooks/livekit", body, type: "application/webhook+json", authorization: token
        ).status
      }
      let event = Livekit_WebhookEvent.with {
        $0.event = "room_started"
        $0.id = "EV_1"
        $0.room = .with {
          $0.name = "team-7"
          $0.sid = "RM_1"
        }
      }
      #expect(try await tell(event) { body, _ in body[body.count - 2] ^= 1 } == 401, "the body was changed")
      #expect(try await tell(event) { _, token in token = "" } == 401)
      #expect(
        try await tell(event) { _, token in token = (try? Client.token()) ?? "" } == 401, "it vouches for nothing")
      #expect(try await tell(event) { _, token in token += "A" } == 401)
      #expect(try await stores.jobs.list().isEmpty)
      for _ in 0..<3 { #expect(try await tell(event) == 200) }
      #expect(try await tell(event) { _, token in token = "Bearer " + token } == 200)
      let jobs = try await stores.jobs.list()
      #expect(jobs.map(\.request.room) == ["team-7"] && jobs.first?.origin?.key == "RM_1")
      #expect(jobs.map { EgressInfo.make($0).roomID } == ["RM_1"])
      // The room may have begun anew before the bot came; what it was told on joining is what is recorded.
      let job = try #require(try await stores.jobs.claim(worker: "w", count: 1).jobs.first)
      let beaten = try await stores.jobs.heartbeat(job: job.id, fence: job.fence, report: JobReport(roomSID: "RM_9"))
      #expect(EgressInfo.make(beaten).roomID == "RM_9")
      var other = event
      other.event = "participant_joined"
      other.room.sid = "RM_2"
      #expect(try await tell(other) == 200)
      #expect(try await stores.jobs.list().count == 1)
      other.event = "room_started"
      #expect(try await tell(other) == 200)
      #expect(try await stores.jobs.list().count == 2, "another life of the room")
    }
  }

  @Test func whatIsAskedForBecomesAJob() throws {
    let file = Livekit_EncodedFileOutput.with { $0.filepath = "/out/{publisher_identity}-{time}.webm" }
    var person = Livekit_ParticipantEgressRequest.with {
      $0.roomName = "talk"
      $0.identity = "ann/../lee"
      $0.screenShare = true
      $0.fileOutputs = [file]
      $0.webhooks = [.with { $0.url = "https://app.example.com/" }]
    }
    let job = try person.job(Self.rules)
    #expect(job.selection == JobSelection(participant: "ann/../lee", screenShare: true))
    #expect(job.outputs == [JobOutput(path: "out/ann_.._lee-{time}.webm")])
    #expect(job.egress?.webhooks == [WebhookTarget(url: "https://app.example.com/", key: "devkey", form: .livekit)])
    person.webhooks[0].filterParams.includeEvents = ["egress_ended"]
    let ended = try person.job(Self.rules)
    #expect(ended.egress?.webhooks.first?.includeEvents == ["egress_ended"])
    #expect(ended.egress?.webhooks.first?.excludeEvents == nil)
    person.webhooks[0].url = "http://10.0.0.1/"
    #expect(throws: TwirpProblem.invalid("webhooks: the address is not an https: address")) {
      try person.job(Self.rules)
    }
    let tracks = Livekit_TrackCompositeEgressRequest.with {
      $0.roomName = "talk"
      $0.audioTrackID = "TR_a"
      $0.videoTrackID = "TR_v"
      $0.file = .with { $0.s3 = .init() }
    }
    #expect(try tracks.job(Self.rules).selection == JobSelection(tracks: ["TR_a", "TR_v"]))
    #expect(try tracks.job(Self.rules).outputs == [JobOutput(path: "{room}-{time}.webm", destination: .s3)])
    // Whoever names a codec gets it, whatever the workers are set to.
    var named = Livekit_RoomCompositeEgressRequest.with {
      $0.roomName = "talk"
      $0.file = .with { $0.filepath = "a.webm" }
    }
    named.advanced.width = 640
    named.advanced.height = 360
    #expect(try named.job(Self.rules).picture == JobPicture(width: 640, height: 360))
    named.advanced.videoCodec = .vp8
    #expect(try named.job(Self.rules).picture == JobPicture(width: 640, height: 360, codec: .vp8))
    let sound = Livekit_RoomCompositeEgressRequest.with {
      $0.roomName = "talk"
      $0.audioOnly = true
      $0.fileOutputs = [.with { $0.filepath = "calls/" }]
    }
    #expect(try sound.job(Self.rules).selection == JobSelection(media: .audio))
    #expect(try sound.job(Self.rules).outputs == [JobOutput(path: "calls/{room}-{time}.webm")])
  }

  /// The sound of a track goes to a WebSocket, whose address is not told again as a whole.
  @Test func aTracksSoundGoesToAWebSocket() throws {
    var request = Livekit_TrackEgressRequest.with {
      $0.roomName = "talk"
      $0.trackID = "TR_a"
      $0.websocketURL = "wss://example.com/hear?key=secret"
    }
    let job = try request.job(Self.rules)
    #expect(job.sinks == [JobSink(audio: "mixed", url: "wss://example.com/hear?key=secret")])
    #expect(job.selection == JobSelection(tracks: ["TR_a"]) && job.outputs.isEmpty)
    #expect(job.egress?.request.contains("secret") == false)
    let made = Job(
      id: "job_1", owner: "o", request: job, notBefore: Timestamp(microseconds: 0), origin: nil,
      now: Timestamp(microseconds: 0))
    #expect(EgressInfo.make(made).track.websocketURL == "wss://example.com/hear?…")
    for url in ["", "https://example.com/", "wss://example.com/\n", "wss://" + String(repeating: "x", count: 2048)] {
      request.websocketURL = url
      #expect(throws: TwirpProblem.invalid("websocket_url.url: ws:// or wss://, at most 2048 bytes"), "\(url)") {
        try request.job(Self.rules)
      }
    }
  }

  @Test func whatCannotBeDoneIsRefusedByName() throws {
    typealias Request = Livekit_RoomCompositeEgressRequest
    let good = Request.with {
      $0.roomName = "talk"
      $0.file = .with { $0.filepath = "x.webm" }
    }
    _ = try good.job(Self.rules)
    let changes: [(TwirpProblem.Code, String, (inout Request) -> Void)] = [
      (.invalidArgument, "room_name", { $0.roomName = "" }),
      (.invalidArgument, "output", { $0.output = nil }),
      (.invalidArgument, "multiple", { $0.fileOutputs = [.init()] }),
      (.invalidArgument, "MP4 files are not written, only WebM", { $0.file.fileType = .mp4 }),
      (.invalidArgument, "OGG files are not written, only WebM", { $0.file.fileType = .ogg }),
      (.invalidArgument, "WebM", { $0.file.fileType = .mp3 }),
      (.invalidArgument, ".webm", { $0.file.filepath = "x.MP4" }),
      (.invalidArgument, "{track_type}", { $0.file.filepath = "{track_type}" }),
      (.invalidArgument, "has a component . or ..", { $0.file.filepath = "../x" }),
      (.invalidArgument, "has a component . or ..", { $0.file.filepath = "/a/../../{room_name}.webm" }),
      (.invalidArgument, "empty component", { $0.file.filepath = "a//b" }),
      (.invalidArgument, "control character", { $0.file.filepath = "a\nb" }),
      (.invalidArgument, "brace", { $0.file.filepath = "{room_name" }),
      (.invalidArgument, "s3: keys, bucket and endpoint are not taken from requests", { $0.file.s3.secret = "s" }),
      (.unimplemented, "gcp", { $0.file.gcp = .init() }),
      (.unimplemented, "azure", { $0.file.azure = .init() }),
      (.unimplemented, "stream", { $0.streamOutputs = [.init()] }),
      (.unimplemented, "stream", { $0.stream = .init() }),
      (.unimplemented, "segment", { $0.segmentOutputs = [.init()] }),
      (.unimplemented, "image", { $0.imageOutputs = [.init()] }),
      (.unimplemented, "custom_base_url", { $0.customBaseURL = "https://x/" }),
      (.unimplemented, "dual-channel files are not written", { $0.audioMixing = .dualChannelAgent }),
      (.unimplemented, "PASSTHROUGH", { $0.preset = .passthrough }),
      (.invalidArgument, "VP8", { $0.advanced.videoCodec = .h264High }),
      (.invalidArgument, "Opus", { $0.advanced.audioCodec = .aac }),
      (.invalidArgument, "exclude", { ($0.audioOnly, $0.videoOnly) = (true, true) }),
      (.invalidArgument, "signing_key", { $0.webhooks = [.with { ($0.url, $0.signingKey) = ("https://x/", "k") }] }),
    ]
    for (code, word, change) in changes {
      var request = good
      change(&request)
      let problem = #expect(throws: TwirpProblem.self) { try request.job(Self.rules) }
      #expect(problem?.code == code && problem?.text.contains(word) == true, "\(word): \(problem as Any)")
    }
  }

  @Test func everyStateOfAJobHasItsStatus() {
    let machine = JobMachine()
    let now = Timestamp(seconds: 1_800_000_000)
    var job = machine.submit(
      id: "job_1", owner: "a", request: JobRequest(room: "r", maxDuration: 10), origin: nil, now: now)
    func status(_ state: JobState) -> Livekit_EgressStatus {
      job.state = state
      return EgressInfo.status(of: job)
    }
    #expect(status(.queued) == .egressStarting && status(.waiting) == .egressStarting)
    for state in [JobState.running, .reconnecting, .paused] { #expect(status(state) == .egressActive) }
    for state in [JobState.finishing, .uploading] { #expect(status(state) == .egressEnding) }
    #expect(status(.failed) == .egressFailed && status(.cancelled) == .egressAborted)
    #expect(status(.completed) == .egressAborted, "nothing was recorded")
    job.parts = [JobPart(attempt: 1, worker: "w", location: "l", startedAt: now, duration: 1)]
    #expect(status(.queued) == .egressActive, "it goes on elsewhere")
    job.commands = [JobCommand(sequence: 1, verb: .stop)]
    #expect(status(.running) == .egressEnding && status(.queued) == .egressEnding)
    job.files = [JobFile(location: "l", size: 1, duration: 5_000_000)]
    #expect(status(.completed) == .egressComplete)
    job.files = [JobFile(location: "l", size: 1, duration: 10_020_000)]
    #expect(status(.completed) == .egressLimitReached && EgressInfo.make(job).errorCode == 413)
    job.request.maxDuration = .max
    #expect(status(.completed) == .egressComplete)
  }

  @Test func idsOfEgressesAreThoseOfJobs() {
    #expect(EgressInfo.id(ofJob: "job_01abc") == "EG_01abc" && EgressInfo.job(ofEgress: "EG_01abc") == "job_01abc")
    for text in ["", "job_01", "eg_1", "EG_" + String(repeating: "x", count: 100)] {
      #expect(EgressInfo.job(ofEgress: text) == nil)
    }
  }
}
