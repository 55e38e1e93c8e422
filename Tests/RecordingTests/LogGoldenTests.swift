import Foundation
import Layouts
import Logging
import MediaCore
import Session
import SessionLog
import Testing

@testable import Recording

/// Logs that earlier versions wrote are composed as they were then: `Goldens/log-N` is one of format N, with its plans.
@Suite struct LogGoldenTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
    "Goldens")

  @Test(arguments: ["log-1"], ["as-live", "complete"]) func logsComposeToTheSamePlansForEver(log: String, way: String)
    throws
  {
    let reader = try logReader(Self.folder.appendingPathComponent(log).path)
    let isLive = way == "as-live"
    let settings = Composition.settings(
      of: reader.beginning, presentation: isLive ? .asLive : .complete,
      canvas: isLive ? nil : CanvasSize(width: 1280, height: 720))
    let commands = CommandFilter(followsLayouts: isLive)
    let spy = try drive(LogSource(reader, without: [], commands: commands), settings)
    #expect(reader.damages.isEmpty && reader.unknown == 0)
    var text = spy.plans.map { "\($0)\n" }.joined()
    for entry in spy.notes { text += entry.json(startDate: settings.startDate) + "\n" }
    let audio = spy.audio.sorted()
    text += "\(audio.count) packets of sound, \(audio.first ?? .zero) to \(audio.last ?? .zero)\n"
    let file = Self.folder.appendingPathComponent("\(log)-\(way).txt")
    if ProcessInfo.processInfo.environment["RECBOT_UPDATE_GOLDENS"] != nil {
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
    let golden = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    for (line, (one, other)) in zip(golden, text.split(separator: "\n", omittingEmptySubsequences: false)).enumerated()
    {
      try #require(one == other, "line \(line + 1); the plans are what RECBOT_UPDATE_GOLDENS=1 writes")
    }
    #expect(golden.count == text.count { $0 == "\n" } + 1)
  }
}
