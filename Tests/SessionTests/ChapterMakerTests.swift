import MediaCore
import Session
import Testing

/// What begins a chapter while recording begins the same one when it is read from the timeline's file.
@Suite struct ChapterMakerTests {
  private static let ann = ParticipantIdentity("ann"), bob = ParticipantIdentity("bob")
  private static let screen = TrackID("TR_s")

  /// A meeting of five minutes, in seconds.
  private static let meeting: [(Int64, TimelineEvent)] = [
    (0, .started(room: "standup")), (0, .joined(ann, name: "Ann")), (1, .talker(ann, name: "Ann")),
    (10, .joined(bob, name: "")),
    (20, .published(screen, bob, .screenShare)), (20, .published(screen, bob, .camera)), (40, .talker(bob, name: "")),
    (45, .talker(ann, name: "Ann")), (80, .renamed(bob, name: "Bob \"B\"\n")), (90, .talker(bob, name: "Bob")),
    (121, .unpublished(screen, bob, .screenShare)), (122, .marker("Agenda \"2\"\n")), (122, .marker("")),
    (125, .paused(.cut)), (126, .resumed), (127, .talker(ann, name: "Ann")), (130, .connectionLost("signal")),
    (140, .connectionRestored), (141, .paused(.redact)), (142, .resumed), (143, .paused(.slate)),
    (144, .layout("grid")),
    (145, .left(ann, name: "Ann")), (146, .resumed), (150, .joined(ParticipantIdentity("marker"), name: "paused")),
    (160, .talker(bob, name: "Bob")), (170, .talker(ParticipantIdentity("marker"), name: "paused")),
    (299, .title("Other")),
  ]

  private static let marks = [
    "122 Agenda \"2\"\n", "122 Marker", "125 Paused", "126 Resumed", "130 Connection lost", "140 Connection restored",
    "141 Redacted", "142 Resumed", "143 Paused", "146 Resumed",
  ]
  private static let people = [
    "10 bob joined", "20 bob shares a screen", "121 Bob \"B\"\n stopped sharing", "145 Ann left", "150 paused joined",
  ]
  private static let talkers = ["1 Ann talks", "90 Bob \"B\"\n talks", "170 paused talks"]

  private func texts(_ chapters: [TimelineChapter]) -> [String] {
    chapters.map { "\($0.start.milliseconds / 1000) \($0.title)" }
  }

  private static let levels: [[String]] = [[], marks, marks + people, marks + people + talkers]

  @Test(arguments: zip(ChapterDetail.allCases, levels))
  func aLevelHasWhatThoseBeforeItHave(detail: ChapterDetail, wanted: [String]) {
    var live = ChapterMaker(detail)
    var again = ChapterMaker(detail)
    var (chapters, read): ([TimelineChapter], [TimelineChapter]) = ([], [])
    var last: [UInt8] = []
    for (second, event) in Self.meeting {
      let entry = TimelineEntry(
        time: .seconds(second), sessionTime: .seconds(second + 7), event: event)
      chapters += live.take(entry)
      last = Array(entry.json(startDate: 0).utf8)
      read += again.take(line: last)
    }
    chapters += live.finish(at: .seconds(299))
    read += again.finish(lastLine: last)
    #expect(texts(chapters).sorted() == wanted.sorted())
    #expect(chapters == read)
  }

  /// Of the part of a session that is recorded only what is in it counts; names are known from before.
  @Test func whoCameBeforeThePartHasAName() {
    var maker = ChapterMaker(.people)
    maker.remember(TimelineEntry(time: .zero, sessionTime: .zero, event: .joined(Self.ann, name: "Ann")))
    let chapters = maker.take(
      TimelineEntry(
        time: .seconds(5), sessionTime: .seconds(90), event: .published(Self.screen, Self.ann, .screenShare)))
    #expect(chapters.map(\.title) == ["Ann shares a screen"])
  }

  /// What nobody hears is no part of a turn; who is still the talker behind it begins another.
  @Test(arguments: [(127, []), (130, ["100 Ann talks"])] as [(Int64, [String])])
  func aPauseEndsATurn(end: Int64, wanted: [String]) {
    var maker = ChapterMaker(.talkers)
    var chapters: [TimelineChapter] = []
    for (second, event) in [
      (0, .joined(Self.ann, name: "Ann")), (1, .talker(Self.ann, name: "Ann")), (20, .paused(.slate)),
      (25, .connectionLost("signal")), (60, .resumed), (100, .connectionRestored),
    ] as [(Int64, TimelineEvent)] {
      chapters += maker.take(TimelineEntry(time: .seconds(second), sessionTime: .seconds(second), event: event))
    }
    chapters += maker.finish(at: .seconds(end))
    #expect(texts(chapters).filter { $0.hasSuffix("talks") } == wanted)
  }

  @Test func howManyComeDoesNotMatter() {
    var maker = ChapterMaker(.talkers)
    var count = 0
    for index in 0..<30_000 {
      let identity = ParticipantIdentity("p\(index)")
      for event in [.joined(identity, name: "P"), .talker(identity, name: "P")] as [TimelineEvent] {
        let time = SessionTime.seconds(Int64(index) * 60 + 60)
        count += maker.take(TimelineEntry(time: time, sessionTime: time, event: event)).count
      }
    }
    #expect(count == 10_000)
    #expect(maker.take(TimelineEntry(time: .zero, sessionTime: .zero, event: .marker("here"))).count == 1)
  }

  @Test func otherLinesGiveNone() {
    var maker = ChapterMaker(.talkers)
    let nested = String(repeating: "[", count: 100_000)
    for line in [
      "", "{", "null", "[]", #"{"event":"marker"}"#, #"{"time_ms":-1,"event":"marker"}"#,
      #"{"time_ms":99999999999999999999,"event":"marker"}"#, #"{"time_ms":1,"event":7}"#, nested,
    ] {
      #expect(maker.take(line: Array(line.utf8)).isEmpty, "\(line.prefix(40))")
      #expect(maker.finish(lastLine: Array(line.utf8)).isEmpty)
    }
  }
}
