import ArgumentParser
import Foundation
import JobsAPI
import Logging
import MediaCore
import Recording
import Rooms
import Settings
import Testing

@testable import recbot

/// What becomes of flags, settings and jobs before anything is recorded.
@Suite struct RecordingPlanTests {
  /// Settings of these variables, and of no file.
  private func configuration(_ environment: [String: String] = [:]) -> Configuration {
    Configuration.inspect(path: "/dev/null", environment: environment).configuration
  }

  private func join(_ flags: [String], _ environment: [String: String] = [:]) throws -> RecordingPlan {
    let name = "/tmp/recbot-plan-\(UUID()).webm"
    let command = try JoinCommand.parse(["room", "--token", "x", "--output", name] + flags)
    return try command.plan(configuration(environment))
  }

  private func record(
    _ request: JobRequest, steering: JobSteering = JobSteering(), commands: [JobCommand] = [], log: String? = nil,
    remaining: Int64? = nil, flags: [String] = [], _ environment: [String: String] = [:]
  ) throws -> RecordingPlan {
    let order = RecordingOrder(
      job: "job_1", attempt: 1, request: request,
      ticket: RoomTicket(url: "ws://ticket", token: "t", until: Timestamp(seconds: 0)),
      output: "/tmp/recbot-plan.webm", log: log, remaining: remaining, steering: steering, commands: commands,
      turnCredential: "c")
    let command = try RecordCommand.parse(flags)
    let configuration = configuration(environment)
    let picture = try command.picture(order, configuration)
    let beginning = JobBeginning(order, layouts: picture.layouts, logger: Logger(label: "test"))
    return try command.plan(order, beginning, picture, RenewedToken("t"), configuration)
  }

  @Test func whatNobodySaysHasTheDefaultsOfTheSettings() throws {
    let plan = try join(["--url", "ws://host"])
    #expect(plan.room == "room" && plan.connection.url == "ws://host" && plan.progress == .auto)
    #expect(plan.recording.session.canvas.description == "1280x720" && plan.recording.session.framesPerSecond == 30)
    #expect(plan.recording.codec == .vp8 && plan.recording.videoBitrate == 2_500_000)
    #expect(plan.recording.audioBitrate == 96_000 && plan.recording.log == nil)
    #expect(plan.connection.reconnect.allowsReconnect && plan.connection.receivesMedia)
    #expect(plan.commands.address?.isChosen == false)
  }

  @Test(arguments: RecordingPreset.allCases) func aPresetSaysWhatNobodySays(preset: RecordingPreset) throws {
    for plan in [
      try join(["--url", "ws://host", "--preset", preset.rawValue]),
      try join(["--url", "ws://host"], ["RECBOT_PRESET": preset.rawValue]),
      try record(JobRequest(room: "room"), ["RECBOT_PRESET": preset.rawValue]),
    ] {
      #expect(plan.recording.codec == preset.codec && plan.recording.videoBitrate == preset.bitrate)
      #expect(plan.recording.session.framesPerSecond == preset.framesPerSecond)
    }
    let request = try JobsSubmitCommand.parse(["room", "--preset", preset.rawValue]).options.request(room: "room")
    #expect(request.picture?.codec == preset.codec && request.picture?.bitrate == preset.bitrate)
    #expect(request.picture?.framesPerSecond == preset.framesPerSecond)
  }

  @Test func whatIsNearerToTheCommandLineCountsMoreThanAPreset() throws {
    let flags = try join(["--url", "ws://host", "--preset", "slides", "--fps", "25", "--video-bitrate", "900k"])
      .recording
    #expect(flags.session.framesPerSecond == 25 && flags.videoBitrate == 900_000 && flags.codec == .av1)
    // A preset's rate is one of its codec.
    let codec = try join(["--url", "ws://host", "--preset", "archive", "--codec", "vp9"]).recording
    #expect(codec.codec == .vp9 && codec.videoBitrate == RecordingCodec.vp9.usualBitrate)
    let set = ["RECBOT_PRESET": "slides", "RECBOT_CODEC": "vp8", "RECBOT_FPS": "5"]
    let environment = try join(["--url", "ws://host"], set).recording
    #expect(environment.codec == .vp8 && environment.session.framesPerSecond == 5)
    #expect(environment.videoBitrate == RecordingCodec.vp8.usualBitrate)
    let both = try join(["--url", "ws://host", "--preset", "archive"], set).recording
    #expect(both.codec == .av1 && both.session.framesPerSecond == 30 && both.videoBitrate == 500_000)
    let error = #expect(throws: Failure.self) { try join(["--url", "ws://host", "--preset", "archiv"]) }
    #expect(error?.message.contains("did you mean 'archive'?") == true)
  }

  @Test func whatAJobWantsBesideItsFileIsBesideEachPart() throws {
    let both = try record(JobRequest(room: "room", manifest: true, talkers: true)).recording
    #expect(both.manifest == "/tmp/recbot-plan.json" && both.talkers == "/tmp/recbot-plan.talkers.vtt" && both.isPart)
    let neither = try record(JobRequest(room: "room", manifest: false)).recording
    #expect(neither.manifest == nil && neither.talkers == nil)
  }

  @Test func aJobsFurtherFilesAreBesideEachPart() throws {
    let also: [JobFurtherFile] = [
      .init(kind: .portrait, bitrate: 800_000), .init(kind: .audio, bitrate: 64_000),
      .init(layout: "speaker-light", width: 640, height: 360, codec: .vp9),
      .init(kind: .square, layout: "no-such-layout"),
    ]
    let files = try record(JobRequest(room: "room", also: also)).recording.further
    // The last one can't be made here: the recording is made all the same.
    #expect(files.map(\.path) == ["portrait", "audio", "also"].map { "/tmp/recbot-plan.\($0).webm" })
    #expect(files.map { $0.picture?.canvas.description } == ["720x1280", nil, "640x360"])
    #expect(files[0].picture?.bitrate == 800_000 && files[1].audioBitrate == 64_000)
    #expect(files[2].picture?.codec == .vp9 && files[2].picture?.layout?.theme == .light)
    #expect(try record(JobRequest(room: "room")).recording.further.isEmpty)
  }

  @Test func loudnessIsNormalizedWhenSomebodySaysSo() throws {
    let server = ["LIVEKIT_URL": "ws://host"]
    #expect(try !join([], server).recording.normalizesLoudness)
    #expect(try join(["--loudness"], server).recording.normalizesLoudness)
    let variables = ["LIVEKIT_URL": "ws://host", "RECBOT_LOUDNESS": "true"]
    #expect(try join([], variables).recording.normalizesLoudness)
    // A job's word goes before that of its worker.
    #expect(try record(JobRequest(room: "room"), variables).recording.normalizesLoudness)
    #expect(try !record(JobRequest(room: "room", loudness: false), variables).recording.normalizesLoudness)
    #expect(try record(JobRequest(room: "room", loudness: true)).recording.normalizesLoudness)
  }

  @Test func whatBeginsAChapterMayBeChosen() throws {
    let server = ["LIVEKIT_URL": "ws://host"]
    #expect(try join([], server).recording.chapters == .marks)
    #expect(try join(["--chapters", "talkers"], server).recording.chapters == .talkers)
    #expect(throws: (any Error).self) { try join(["--chapters", "all"], server) }
    let variables = ["LIVEKIT_URL": "ws://host", "RECBOT_CHAPTERS": "people"]
    #expect(try join([], variables).recording.chapters == .people)
    #expect(try record(JobRequest(room: "room"), variables).recording.chapters == .people)
    #expect(try record(JobRequest(room: "room", chapters: .nothing), variables).recording.chapters == .nothing)
  }

  @Test func segmentsAreBesideTheFile() throws {
    let server = ["LIVEKIT_URL": "ws://host"]
    #expect(try join([], server).recording.segments == nil)
    let settings = try join(["--segments", "60s"], server).recording
    let folder = settings.output.replacing(".webm", with: ".segments")
    #expect(settings.segments == SegmentSettings(folder: folder, length: .seconds(60)))
    let variables = server.merging(["RECBOT_SEGMENTS": "10s"]) { $1 }
    #expect(try join([], variables).recording.segments?.length == .seconds(10))
    for flags in [["--segments", "1s"], ["--segments", "2h"]] {
      let failure = #expect(throws: Failure.self) { try join(flags, server) }
      #expect(failure?.exitCode == .usage && failure?.message.contains("--segments") == true)
    }
    #expect(throws: Failure.self) { try join(["--segments", "60s", "--chat-only"], server) }
  }

  @Test func flagsGoBeforeVariables() throws {
    let variables = [
      "RECBOT_SIZE": "640x360", "RECBOT_FPS": "10", "RECBOT_JOB": "env", "LIVEKIT_URL": "ws://env",
      "RECBOT_NUMBER_OF_ATTEMPTS": "2",
    ]
    let plan = try join(["--fps", "15", "--codec", "vp9", "--no-reconnect"], variables)
    #expect(plan.connection.url == "ws://env" && plan.recording.session.canvas.description == "640x360")
    #expect(plan.recording.session.framesPerSecond == 15 && plan.recording.videoBitrate == 1_500_000)
    #expect(plan.commands.address?.job == "env" && plan.commands.address?.isChosen == true)
    #expect(plan.connection.reconnect.rule == .fixed(attempts: 2, interval: .seconds(10)))
    #expect(!plan.connection.reconnect.allowsReconnect)
  }

  @Test(arguments: [
    (["--fps", "61"], [:], "--fps: "), ([], ["RECBOT_FPS": "61"], "RECBOT_FPS: "),
    (["--layout", "gird"], [:], "--layout: there is no layout"), ([], ["RECBOT_LAYOUT": "gird"], "RECBOT_LAYOUT: "),
    (["--log-keep", "7d"], [:], "--log-keep says"), ([], ["RECBOT_TALKER_PAUSE": "x"], "RECBOT_TALKER_PAUSE: "),
  ])
  func aBadValueSaysWhereItStands(flags: [String], variables: [String: String], says: String) throws {
    let failure = #expect(throws: Failure.self) { try join(["--url", "ws://host"] + flags, variables) }
    #expect(failure?.message.hasPrefix(says) == true, "\(failure?.message ?? "")")
    #expect(failure?.exitCode == .usage)
  }

  @Test(arguments: [Int64.max, .min, -1]) func timesThatNoBackendTakesAreBroughtIntoBounds(seconds: Int64) throws {
    let plan = try record(
      JobRequest(room: "talk", stopWhenEmpty: seconds, waitForRoom: seconds), remaining: seconds)
    let most = Duration.seconds(seconds > 0 ? 31 * 86_400 : 0)
    #expect(plan.recording.session.stopWhenEmpty == most && plan.connection.reconnect.waitForRoom == most)
    #expect(plan.recording.session.maximumDuration ?? .zero >= .zero)
  }

  @Test func aJobGoesBeforeTheWorkersSettings() throws {
    let request = JobRequest(
      room: "talk", layout: "speaker", selection: JobSelection(participant: "ann"),
      picture: JobPicture(width: 320, height: 180, framesPerSecond: 5, bitrate: 20_000, codec: .vp9),
      stopWhenEmpty: 60, waitForRoom: 9)
    let variables = [
      "RECBOT_SIZE": "640x360", "RECBOT_LAYOUT": "grid", "RECBOT_TIMELINE": "t.jsonl", "RECBOT_TRANSCRIPT": "t.vtt",
      "RECBOT_CHAT_ONLY": "true", "RECBOT_JOB": "other", "RECBOT_TURN_SERVER": "turn:host",
      "RECBOT_AUDIO_BITRATE": "64k",
    ]
    let plan = try record(request, remaining: 5_000_000, variables)
    let settings = plan.recording
    #expect(plan.room == "talk" && settings.session.title == "talk" && settings.session.layout.name == "speaker")
    #expect(settings.session.canvas.description == "320x180" && settings.session.framesPerSecond == 5)
    #expect(settings.codec == .vp9 && settings.videoBitrate == 20_000 && settings.audioBitrate == 64_000)
    #expect(settings.session.maximumDuration == .seconds(5) && settings.session.stopWhenEmpty == .seconds(60))
    #expect(settings.timeline == nil && settings.transcript == nil && !settings.isChatOnly)
    #expect(plan.connection.url == "ws://ticket" && plan.connection.receivesMedia)
    #expect(plan.connection.selection.participant?.rawValue == "ann")
    #expect(plan.connection.reconnect.waitForRoom == .seconds(9))
    #expect(plan.connection.iceServers.first?.credential == "c")
    #expect(plan.commands.address?.job == "job_1" && plan.commands.address?.isChosen == false)
  }

  @Test func aJobThatSaysNothingHasTheWorkersSettings() throws {
    let plan = try record(JobRequest(room: "peer:booth"), ["RECBOT_SIZE": "640x360", "RECBOT_CODEC": "vp9"])
    #expect(plan.room == "booth" && plan.connection.kind == .peer(room: "booth", role: nil))
    #expect(plan.recording.session.canvas.description == "640x360" && plan.recording.codec == .vp9)
    #expect(plan.recording.session.layout.name == "grid" && plan.recording.log == nil)
  }

  @Test func whatTheRecordingWasToldGoesBeforeTheRequest() throws {
    var steering = JobSteering()
    (steering.layout, steering.title) = ("speaker", "Later")
    let folder = "/tmp/recbot-plan-\(UUID())"
    let plan = try record(JobRequest(room: "r", layout: "grid"), steering: steering, log: folder)
    #expect(plan.recording.session.layout.name == "speaker" && plan.recording.session.title == "Later")
    #expect(plan.recording.log?.folder == folder && plan.recording.log?.keep == .seconds(7 * 86_400))
  }

  @Test func whoWasHiddenIsHiddenFromTheFirstPictureOn() throws {
    func command(_ number: Int64, _ argument: String) -> JobCommand {
      JobCommand(sequence: number, verb: .processor, argument: argument)
    }
    var steering = JobSteering()
    for (number, rule) in ["Ann=blur", "bob=mask", "Ann=pixelate,silence"].enumerated() {
      steering.apply(command(Int64(number), rule))
    }
    #expect(steering.processors == ["bob=mask", "Ann=pixelate,silence"])
    let plan = try record(
      JobRequest(room: "r"), steering: steering, commands: [command(7, "cleo=voice-mask"), command(8, "dora=smear")],
      ["RECBOT_PROCESSORS": "*=grayscale"])
    #expect(
      plan.recording.session.processors.map(\.description)
        == ["*=grayscale", "bob=mask", "Ann=pixelate,silence", "cleo=voice-mask"])
  }

  @Test func whomAJobHidesIsHiddenOverTheWorkersSettingsAndUnderCommands() throws {
    var steering = JobSteering()
    steering.apply(JobCommand(sequence: 1, verb: .processor, argument: "Ann=none"))
    let plan = try record(
      JobRequest(room: "r", processors: ["Ann = pixelate, silence", "attribute:consent=no=mask"]), steering: steering,
      ["RECBOT_PROCESSORS": "*=grayscale"])
    #expect(
      plan.recording.session.processors.map(\.description)
        == ["*=grayscale", "Ann=pixelate,silence", "attribute:consent=no=mask", "Ann=none"])
    // From a backend that knows more than this recorder: nobody is recorded openly.
    let failure = #expect(throws: Failure.self) { try record(JobRequest(room: "r", processors: ["Ann=smear"])) }
    #expect(failure?.message.hasPrefix("processors: there is no processor 'smear'; known: pixelate, ") == true)
  }

  /// An order comes from another process.
  @Test(arguments: [
    JobPicture(width: 7, height: 7), JobPicture(width: 1280), JobPicture(width: .max - 1, height: .max - 1),
    JobPicture(framesPerSecond: 0), JobPicture(bitrate: -1),
  ])
  func aPictureThatCannotBeIsRefused(picture: JobPicture) {
    let failure = #expect(throws: Failure.self) { try record(JobRequest(room: "r", picture: picture)) }
    #expect(failure?.message.hasPrefix("picture") == true && failure?.exitCode == .usage)
  }

  @Test func aKeyThatTheWorkerDoesNotHaveIsToldByItsName() {
    let failure = #expect(throws: Failure.self) { try record(JobRequest(room: "r", key: "k")) }
    #expect(failure?.message.contains("the key 'k'") == true)
  }
}
