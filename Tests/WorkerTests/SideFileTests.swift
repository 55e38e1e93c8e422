import Foundation
import JobsAPI
import Logging
import MediaCore
import Testing
import WebM

@testable import Worker

/// What is delivered beside a recording.
@Suite struct SideFileTests {
  /// Delivers a file of a job that wants both, with what is beside it; gives the file, and what is in the folder then.
  private func deliver(_ beside: [JobSideFile.Kind], taken: Bool = false, wants: Bool = true) async throws
    -> (file: JobFile, names: [String])
  {
    var result: (JobFile, [String])?
    try await TestQueue.run { queue in
      var request = JobRequest(room: "room", outputs: [JobOutput(path: "talks/a.webm")])
      if wants { (request.manifest, request.talkers) = (true, true) }
      let job = try await queue.submit(request)
      // Kept in the store as it was asked for.
      #expect(try await queue.store.job(job.id).request.sideFiles == (wants ? [.manifest, .talkers] : []))
      let context = try queue.context(RecordingLaunch(executable: "/nowhere/recbot"))
      let source = try context.folder.parts(of: job.id) + "/1-0.webm"
      try Data("webm".utf8).write(to: URL(filePath: source))
      for kind in beside { try Data(kind.rawValue.utf8).write(to: URL(filePath: kind.path(beside: source))) }
      let talks = context.delivery.plan.local + "/talks"
      if taken {
        try FileManager.default.createDirectory(atPath: talks, withIntermediateDirectories: true)
        try Data("another".utf8).write(to: URL(filePath: talks + "/a.webm"))
      }
      let work = FinishWork(job, context, queue.logger)
      let (file, shortfall) = try await work.deliver(source, to: request.outputs[0])
      #expect(shortfall == nil)
      // Again, as after a crash: the same, and nothing twice.
      #expect(try await work.deliver(source, to: request.outputs[0]).file == file)
      result = (file, try FileManager.default.contentsOfDirectory(atPath: talks).sorted())
      await work.tidy([source], shared: [])
      for kind in beside { #expect(!FileManager.default.fileExists(atPath: kind.path(beside: source))) }
    }
    return try #require(result)
  }

  @Test func bothAreBesideTheFile() async throws {
    let (file, names) = try await deliver([.manifest, .talkers])
    #expect(names == ["a.json", "a.talkers.vtt", "a.webm"])
    let beside = try #require(file.beside)
    #expect(beside.map(\.kind) == [.manifest, .talkers] && beside.map(\.size) == [8, 7])
    #expect(beside.map(\.contentType) == ["application/json", "text/vtt"])
    #expect(beside[0].location == file.location.replacing(".webm", with: ".json"))
    #expect(beside[0].sha256?.count == 64)
  }

  @Test func theyHaveTheNameThatTheFileGot() async throws {
    let (_, names) = try await deliver([.manifest, .talkers], taken: true)
    #expect(names == ["a-2.json", "a-2.talkers.vtt", "a-2.webm", "a.webm"])
  }

  @Test func oneThatIsMissingCostsTheRecordingNothing() async throws {
    let (file, names) = try await deliver([.talkers])
    #expect(names == ["a.talkers.vtt", "a.webm"] && file.beside?.map(\.kind) == [.talkers])
  }

  /// Delivers a file of a job that wants two further ones, as `write` left it and what is beside it; gives the file, and what the
  /// recording lacks.
  private func deliverFurther(
    duration: Int64, _ write: @escaping @Sendable (_ source: String) throws -> Void,
    check: @escaping @Sendable (JobFile, JobError?) -> Void
  ) async throws {
    try await TestQueue.run { queue in
      let request = JobRequest(
        room: "room", outputs: [JobOutput(path: "talks/a.webm")], also: [.init(kind: .portrait), .init(kind: .audio)])
      let job = try await queue.submit(request)
      let context = try queue.context(RecordingLaunch(executable: "/nowhere/recbot"))
      let source = try context.folder.parts(of: job.id) + "/1-0.webm"
      try write(source)
      let work = FinishWork(job, context, queue.logger)
      let (file, shortfall) = try await work.deliver(source, to: request.outputs[0], duration: duration)
      check(file, shortfall)
      await work.tidy([source], shared: [])
      #expect(!FileManager.default.fileExists(atPath: JobSideFile.Kind.further("audio").path(beside: source)))
    }
  }

  /// A further file that is missing is told in the job; the recording is delivered as ever.
  @Test func aFurtherFileThatIsMissingIsTold() async throws {
    let audio = JobSideFile.Kind.further("audio")
    try await deliverFurther(duration: 5) { source in
      for path in [source, audio.path(beside: source)] { try Data("webm".utf8).write(to: URL(filePath: path)) }
    } check: { file, shortfall in
      #expect(file.beside?.map(\.kind) == [audio])
      #expect(file.beside?.first?.location.hasSuffix("talks/a.audio.webm") == true)
      #expect(shortfall?.name == "alsoFailed" && shortfall?.message.hasPrefix("portrait is missing; ") == true)
    }
  }

  /// One that a part between others lacks is as long as the recording, and has a gap that the recording doesn't have.
  @Test func aFurtherFileThatLacksAPartInTheMiddleIsTold() async throws {
    @Sendable func write(_ path: String, gaps: String) throws {
      let writer = try WebMWriter(path: path, configuration: WebMConfiguration(video: nil, audio: .init()))
      // 20 ms of silence, at the beginning and at the end.
      for time in [0, 9_980] {
        try [UInt8]([0xf8, 0xff, 0xfe]).withUnsafeBytes { try writer.addAudio(at: .zero + .milliseconds(time), $0) }
      }
      writer.setTag("GAPS", gaps)
      _ = try writer.finish()
    }
    try await deliverFurther(duration: 10_000_000) { source in
      try write(source, gaps: "1.000-2.500")
      try write(JobSideFile.Kind.further("portrait").path(beside: source), gaps: "1.000-8.000")
      try write(JobSideFile.Kind.further("audio").path(beside: source), gaps: "1.000-2.600")
    } check: { _, shortfall in
      let told = "portrait has gaps of 7 s, the recording of 1 s; the worker's log says why"
      #expect(shortfall?.name == "alsoFailed" && shortfall?.message.hasPrefix(told) == true)
    }
  }

  /// A program in place of recbot: it writes what its command draws, and notes its calls.
  private static func drawer(in folder: String) throws -> String {
    let path = folder + "/recbot"
    try """
    #!/bin/sh
    echo "$1" >> \(folder)/calls
    case $1 in
    poster) echo poster > "$4" ;;
    storyboard) echo image > "${4%.vtt}.png"; printf 'WEBVTT\\n\\nx.png#xywh=0,0,160,90\\n' > "$4" ;;
    esac
    """.write(toFile: path, atomically: true, encoding: .utf8)
    #expect(chmod(path, 0o755) == 0)
    return path
  }

  /// A poster and a storyboard are drawn once for two outputs, and each storyboard names the image as it is called there.
  @Test func picturesAreDrawnOnceAndNamedAsTheyAreDelivered() async throws {
    try await TestQueue.run { queue in
      let outputs = ["talks/a.webm", "talks/b c.webm"].map { JobOutput(path: $0) }
      let request = JobRequest(room: "room", outputs: outputs, poster: true, storyboard: true)
      let job = try await queue.submit(request)
      #expect(try await queue.store.job(job.id).request.sideFiles == [.poster, .storyboardImage, .storyboard])
      let folder = try queue.context(RecordingLaunch(executable: "/nowhere/recbot")).delivery.plan.local
      try FileManager.default.createDirectory(atPath: folder + "/talks", withIntermediateDirectories: true)
      let context = try queue.context(RecordingLaunch(executable: try Self.drawer(in: folder)))
      let source = try context.folder.parts(of: job.id) + "/1-0.webm"
      try Data("webm".utf8).write(to: URL(filePath: source))
      // What an attempt before a crash left half, and a picture of somebody else's of the name.
      try Data("half".utf8).write(to: URL(filePath: JobSideFile.Kind.storyboardImage.path(beside: source)))
      try Data("another".utf8).write(to: URL(filePath: folder + "/talks/a.storyboard.png"))
      let work = FinishWork(job, context, queue.logger)
      for (output, name, image) in [
        (outputs[0], "a", "a-2.storyboard.png"), (outputs[1], "b c", "b%20c.storyboard.png"),
        (outputs[0], "a", "a-2.storyboard.png"),
      ] {
        let (file, shortfall) = try await work.deliver(source, to: output)
        #expect(shortfall == nil && file.beside?.map(\.kind) == [.poster, .storyboardImage, .storyboard])
        #expect(file.beside?.map(\.contentType) == ["image/png", "image/png", "text/vtt"])
        let text = try String(contentsOfFile: "\(folder)/talks/\(name).storyboard.vtt", encoding: .utf8)
        #expect(text == "WEBVTT\n\n\(image)#xywh=0,0,160,90\n")
        let delivered = try #require(PercentCoding.decode(image))
        #expect(try String(contentsOfFile: "\(folder)/talks/\(delivered)", encoding: .utf8) == "image\n")
      }
      #expect(try String(contentsOfFile: folder + "/calls", encoding: .utf8) == "poster\nstoryboard\n")
      await work.tidy([source], shared: [])
      let left = try FileManager.default.contentsOfDirectory(atPath: context.folder.parts(of: job.id))
      #expect(left == [])
    }
  }

  /// Pictures that can't be drawn cost the recording nothing, and the job says so.
  @Test func picturesThatCannotBeDrawnAreTold() async throws {
    try await TestQueue.run { queue in
      let request = JobRequest(room: "room", outputs: [JobOutput(path: "a.webm")], poster: true, storyboard: true)
      let job = try await queue.submit(request)
      let context = try queue.context(RecordingLaunch(executable: "/nowhere/recbot"))
      let source = try context.folder.parts(of: job.id) + "/1-0.webm"
      try Data("webm".utf8).write(to: URL(filePath: source))
      let work = FinishWork(job, context, queue.logger)
      let (file, shortfall) = try await work.deliver(source, to: request.outputs[0])
      #expect(file.beside == nil && shortfall?.name == "alsoFailed")
      let told = "poster is missing; storyboard-image is missing; storyboard is missing; the worker's log says why"
      #expect(shortfall?.message.hasPrefix(told) == true)
    }
  }

  @Test func nothingIsBesideWhatNobodyAskedFor() async throws {
    let (file, names) = try await deliver([], wants: false)
    #expect(names == ["a.webm"] && file.beside == nil)
  }

  @Test(arguments: [
    ("a.webm", 1, "a.webm"), ("a.webm", 2, "a-2.webm"), ("b/a.json", 3, "b/a-3.json"),
    ("a.talkers.vtt", 2, "a-2.talkers.vtt"), ("a.storyboard.png", 2, "a-2.storyboard.png"),
    ("a.portrait.webm", 2, "a.portrait-2.webm"),
  ])
  func takenNamesAreCounted(_ name: String, _ number: Int, _ expected: String) {
    #expect(FileDelivery.name(name, number: number) == expected)
  }

  @Test func aFileOfAnOlderWorkerIsReadAndANewOneComesBack() throws {
    let old = Data(#"{"location": "/r/a.webm", "size": 1, "duration": 2}"#.utf8)
    #expect(try JSONDecoder().decode(JobFile.self, from: old).beside == nil)
    let file = JobFile(
      location: "/r/a.webm", size: 1, duration: 2,
      beside: [JobSideFile(kind: .talkers, location: "/r/a.talkers.vtt", size: 3)])
    let text = try JSONEncoder().encode(file)
    #expect(try JSONDecoder().decode(JobFile.self, from: text) == file)
  }
}

extension FinishWork {
  /// Of a job whose parts are all here.
  fileprivate init(_ job: Job, _ context: RunContext, _ logger: Logger) {
    self.init(
      context: context, job: job, handover: PartHandover(job: job, delivery: context.delivery, logger: logger),
      logger: logger)
  }

  /// Delivers a finished file, `duration` microseconds long; gives it, and what it lacks.
  fileprivate func deliver(
    _ source: String, to output: JobOutput, duration: Int64 = 5
  ) async throws -> (file: JobFile, shortfall: JobError?) {
    let item = RunFinish.Item(
      source: source, output: output, time: 0, attempt: 1, duration: duration, usesUpload: false)
    guard case .delivered(let file, _, let shortfall) = await carryOut(.deliver(item), upload: nil, while: { true })
    else { throw WorkerError("it is not delivered") }
    return (file, shortfall)
  }
}
