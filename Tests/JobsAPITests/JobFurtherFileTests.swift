import Foundation
import JobsAPI
import Testing

/// Further files of a job: what they are called, and what is refused.
@Suite struct JobFurtherFileTests {
  @Test func eachHasANameOfItsOwn() {
    let files: [JobFurtherFile] = [
      .init(kind: .portrait), .init(kind: .audio), .init(kind: .portrait, codec: .vp9), .init(width: 320, height: 180),
      .init(layout: "grid"),
    ]
    #expect(JobFurtherFile.names(of: files) == ["portrait", "audio", "portrait-2", "also", "also-2"])
    let request = JobRequest(room: "room", manifest: true, also: files)
    #expect(request.sideFiles.map(\.rawValue) == ["manifest", "portrait", "audio", "portrait-2", "also", "also-2"])
    let names = ["json"] + ["portrait", "audio", "portrait-2", "also", "also-2"].map { "\($0).webm" }
    #expect(request.sideFiles.map { $0.path(beside: "talks/a.webm") } == names.map { "talks/a.\($0)" })
    #expect(request.sideFiles.map(\.isFurther) == [false, true, true, true, true, true])
  }

  /// Names come from others, too: from workers, and in queries.
  @Test func onlyNamesThatAreGivenAreTaken() throws {
    for name in ["portrait", "audio-2", "square-8", "also"] {
      #expect(JobSideFile.Kind(rawValue: name) == .further(name))
    }
    for name in [
      "", "thumbnail", "portrait-1", "portrait-9", "portrait-", "portrait/../x", "Portrait", "also-02", "json",
    ] {
      #expect(JobSideFile.Kind(rawValue: name) == nil, "\(name)")
    }
    let side = JobSideFile(kind: .further("audio"), location: "/r/a.audio.webm", size: 3)
    let text = try JSONEncoder().encode(side)
    #expect(String(decoding: text, as: UTF8.self).contains(#""kind":"audio""#) && side.contentType == "video/webm")
    #expect(try JSONDecoder().decode(JobSideFile.self, from: text) == side)
    let wrong = Data(#"{"kind": "thumbnail", "location": "/r/a", "size": 1, "content_type": "x"}"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JobSideFile.self, from: wrong) }
  }

  @Test(arguments: [
    (JobFurtherFile(), "says nothing"), (.init(kind: .audio, layout: "grid"), "sound alone has no layout"),
    (.init(kind: .audio, codec: .vp9), "sound alone has no codec"), (.init(width: 320), "width and height go together"),
    (.init(width: 321, height: 180), "also[0].width: 64 to 4096, even"), (.init(kind: .square, bitrate: 1), "bitrate"),
    (.init(kind: .audio, bitrate: 1_000_000), "50000 to 510000"), (.init(layout: "twilio:x.json"), "also[0].layout"),
    (.init(width: 4096, height: 4096), "3840x2160"),
  ])
  func whatCannotBeIsRefused(_ file: JobFurtherFile, _ says: String) {
    let problems = JobRequest(room: "room", also: [file]).problems(now: Timestamp(seconds: 0))
    #expect(problems.count == 1 && problems[0].hasPrefix("also[0]") && problems[0].contains(says), "\(problems)")
  }

  @Test func thereAreEightAtMost() {
    let eight = [JobFurtherFile](repeating: .init(kind: .portrait), count: 8)
    #expect(JobRequest(room: "room", also: eight).problems(now: Timestamp(seconds: 0)) == [])
    #expect(
      JobRequest(room: "room", also: eight + eight).problems(now: Timestamp(seconds: 0)) == ["also: at most 8"])
  }

  @Test func aRequestComesBackAndOneWithoutThemIsAsBefore() throws {
    let request = JobRequest(room: "room", also: [.init(kind: .portrait, bitrate: 800_000)])
    let text = try JSONEncoder().encode(request)
    #expect(try JSONDecoder().decode(JobRequest.self, from: text) == request)
    #expect(String(decoding: text, as: UTF8.self).contains(#""also":[{"#))
    let plain = try JSONEncoder().encode(JobRequest(room: "room"))
    #expect(!String(decoding: plain, as: UTF8.self).contains("also"))
    let wrong = Data(#"{"room": "room", "also": [{"kind": "portrat"}]}"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JobRequest.self, from: wrong) }
  }

  @Test func aWorkerMustKnowTheirLayouts() {
    let request = JobRequest(room: "room", also: [.init(layout: "sidebar-dark"), .init(layout: "mine")])
    let now = Timestamp(seconds: 0)
    var job = Job(id: "j", owner: "o", request: request, notBefore: now, origin: nil, now: now)
    let abilities = WorkerAbilities(hasStore: false, layouts: ["sidebar"])
    #expect(abilities.lack(for: job) == "the layout 'mine'")
    job.request.also?.removeLast()
    #expect(abilities.lack(for: job) == nil)
  }
}
