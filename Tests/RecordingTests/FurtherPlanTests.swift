import Foundation
import LayoutFiles
import Layouts
import Logging
import MediaCore
import Session
import SessionLog
import Testing

@testable import Recording

/// What is planned of a session for several files at once.
@Suite struct FurtherPlanTests {
  private typealias Picture = SessionCore.Settings.FurtherPicture

  private static let sizes = [
    CanvasSize(width: 360, height: 640), CanvasSize(width: 1280, height: 720), CanvasSize(width: 320, height: 320),
  ]

  /// A talker above the others, one that is like the recording, and a square one.
  private static func further() throws -> [Picture] {
    [
      Picture(canvas: sizes[0], layout: try LayoutStore(folder: "/nowhere").layout("portrait", canvas: sizes[0])),
      Picture(canvas: sizes[1]), Picture(canvas: sizes[2], layout: .speaker),
    ]
  }

  private func planned(_ events: [SessionEvent], seed: UInt64, _ further: [Picture]) throws -> Spy {
    var settings = CompositionTests.settings
    settings.further = further
    return try drive(CompositionTests.Pieces(events, seed: seed), settings)
  }

  @Test(arguments: 1...12) func theRecordingIsTheSameWithFurtherFilesAndEachFrameIsDecodedOnce(seed: UInt64) throws {
    let events = CompositionTests.session(seconds: 8, seed: seed)
    let alone = try planned(events, seed: seed, [])
    let several = try planned(events, seed: seed, Self.further())
    #expect(several.plans.map(\.description) == alone.plans.map(\.description) && alone.plans.count > 200)
    #expect(several.decoded == alone.decoded && Set(several.decoded).count == several.decoded.count)
    #expect(several.audio == alone.audio && several.notes == alone.notes)
    // What further plans name is there when they are carried out.
    #expect(several.missing == 0 && several.mostInABurst == alone.mostInABurst)
    #expect(alone.further.isEmpty && several.further.count == 3)
    for plans in several.further.values { #expect(plans.map(\.slot) == alone.plans.map(\.slot)) }
  }

  @Test(arguments: 1...12) func aFurtherFileShowsWhatARecordingOfItsOwnWould(seed: UInt64) throws {
    let events = CompositionTests.session(seconds: 8, seed: seed)
    let further = try Self.further()
    let several = try planned(events, seed: seed, further)
    for (number, picture) in further.enumerated() {
      var settings = CompositionTests.settings
      settings.canvas = picture.canvas
      settings.layout = picture.layout ?? settings.layout
      // One with a layout of its own does not follow those of the recording.
      let kept = events.filter { event in
        guard picture.layout != nil, case .room(.setLayout) = event.payload else { return true }
        return false
      }
      let alone = try drive(CompositionTests.Pieces(kept, seed: seed &+ 7), settings)
      #expect(several.further[number]?.map(\.description) == alone.plans.map(\.description))
      #expect(several.further[number] == alone.plans)
    }
    #expect(Set(several.further[1]?.map(\.layout) ?? []) == ["grid", "speaker"])
  }

  @Test func aPartOfAFurtherFileIsWhatTheWholeShowsThere() throws {
    let events = CompositionTests.session(seconds: 6, seed: 3)
    var settings = CompositionTests.settings
    settings.further = try Self.further()
    let whole = try drive(CompositionTests.Pieces(events, seed: 1), settings)
    let part = Spy()
    let excerpt = Excerpt(of: part, from: .milliseconds(2_010), settings: settings)
    _ = try Drive(
      source: CompositionTests.Pieces(events, seed: 2), handler: excerpt, settings: settings,
      logger: Logger(label: "test")
    ) { _ in }.run(SessionCore(settings: settings), first: [])
    #expect(part.missing == 0)
    for number in 0..<3 {
      let rest = (whole.further[number] ?? []).filter { $0.time >= .milliseconds(2_010) }
      #expect(part.further[number]?.map(\.tiles) == rest.map(\.tiles) && rest.count > 80)
      #expect(part.further[number]?.first?.slot == 0 && part.further[number]?.first?.time == .zero)
    }
  }

  @Test func aLogOfAnEarlierVersionIsComposedForSeveralFiles() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Goldens/log-1")
    func composed(_ further: [Picture], _ change: (inout SessionCore.Settings) -> Void) throws -> Spy {
      let reader = try logReader(folder.path)
      var settings = Composition.settings(of: reader.beginning, presentation: .complete)
      settings.further = further
      change(&settings)
      return try drive(
        LogSource(reader, without: [], commands: CommandFilter(followsLayouts: false)), settings)
    }
    let further = try Self.further()
    let several = try composed(further) { _ in }
    let alone = try composed([]) { _ in }
    #expect(several.plans == alone.plans && several.decoded == alone.decoded && several.missing == 0)
    for (number, picture) in further.enumerated() {
      let own = try composed([]) { settings in
        settings.canvas = picture.canvas
        settings.layout = picture.layout ?? settings.layout
      }
      #expect(several.further[number] == own.plans && !own.plans.isEmpty)
    }
  }
}
