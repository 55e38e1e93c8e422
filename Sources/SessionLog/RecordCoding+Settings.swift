import Layouts
import MediaCore
import Session

/// Reads a layout from a file's text; throws a text that says what is wrong with it.
public typealias LayoutTextReader = @Sendable (_ name: String, _ text: String) throws(LogError) -> Layout

extension WireRecord {
  /// The first record of a log's file.
  init(_ beginning: LogBeginning, file: UInt32) {
    let settings = beginning.settings
    self.init()
    self.beginning.format = LogBeginning.format
    self.beginning.program = beginning.program
    self.beginning.file = file
    self.beginning.startDate = settings.startDate
    self.beginning.utcOffset = Int32(clamping: settings.utcOffset)
    self.beginning.title = settings.title
    self.beginning.width = UInt32(clamping: settings.canvas.width)
    self.beginning.height = UInt32(clamping: settings.canvas.height)
    self.beginning.framesPerSecond = UInt32(clamping: settings.framesPerSecond)
    self.beginning.layout = WireLayoutText(settings.layout)
    self.beginning.latency = settings.latency.nanoseconds
    self.beginning.noSignalAfter = settings.noSignalAfter.nanoseconds
    self.beginning.screenNoSignalAfter = settings.screenNoSignalAfter.nanoseconds
    self.beginning.dimFor = settings.dimFor.nanoseconds
    if let time = settings.stopWhenEmpty { self.beginning.stopWhenEmpty = time.nanoseconds }
    if let time = settings.maximumDuration { self.beginning.maximumDuration = time.nanoseconds }
    self.beginning.talker = WireTalkerSettings(settings.talker)
    self.beginning.receive = settings.receive.rawValue
    if let count = settings.maximumTalkers { self.beginning.maximumTalkers = UInt32(clamping: count) }
    self.beginning.keepUntil = beginning.keepUntil ?? 0
    self.beginning.processors = settings.processors.map(WireProcessorRule.init)
  }
}

extension WireBeginning {
  /// What the record says. Numbers that cannot be are brought to the nearest that can.
  func value(_ layouts: LayoutTextReader) throws(LogError) -> LogBeginning {
    var settings = SessionCore.Settings(
      canvas: canvas, layout: try layouts(layout.name, layout.text), framesPerSecond: Int(framesPerSecond),
      latency: Self.span(latency), noSignalAfter: Self.span(noSignalAfter),
      screenNoSignalAfter: Self.span(screenNoSignalAfter), dimFor: Self.span(dimFor))
    if hasStopWhenEmpty { settings.stopWhenEmpty = Self.span(stopWhenEmpty) }
    if hasMaximumDuration { settings.maximumDuration = Self.span(maximumDuration) }
    settings.talker = talker.value
    settings.receive = ReceptionPolicy.Mode(rawValue: receive) ?? .best
    if hasMaximumTalkers { settings.maximumTalkers = Int(max(1, min(maximumTalkers, 1000))) }
    settings.processors = processors.compactMap(\.value)
    settings.title = LogBounds.text(title)
    settings.startDate = startDate
    settings.utcOffset = Int(max(-86_400, min(utcOffset, 86_400)))
    return LogBeginning(
      settings: settings, program: LogBounds.name(program), keepUntil: keepUntil == 0 ? nil : keepUntil)
  }

  /// Of a size that is composed: sides are even, 64 to 4096, at most 3840x2160 in all.
  private var canvas: CanvasSize {
    func side(_ value: UInt32) -> Int { Int(max(64, min(value, 4096))) & ~1 }
    let size = CanvasSize(width: side(width), height: side(height))
    return size.width * size.height <= 3840 * 2160 ? size : CanvasSize(width: 1280, height: 720)
  }

  /// A span of up to a year.
  private static func span(_ nanoseconds: Int64) -> Duration {
    max(.zero, min(.nanoseconds(nanoseconds), .seconds(366 * 86_400)))
  }
}

extension WireTalkerSettings {
  init(_ settings: TalkerPolicy.Settings) {
    self.init()
    levels = settings.levels.rawValue
    minimumHold = settings.minimumHold.nanoseconds
    takeoverDelay = settings.takeoverDelay.nanoseconds
    takeoverMargin = Int32(clamping: settings.takeoverMargin)
    overlapDelay = settings.overlapDelay.nanoseconds
    threshold = Int32(clamping: settings.threshold)
    noiseMargin = Int32(clamping: settings.noiseMargin)
    activityShare = Int32(clamping: settings.activityShare)
    pause = settings.pause.nanoseconds
    presenterBonus = Int32(clamping: settings.presenterBonus)
    if let time = settings.presenterReturn { presenterReturn = time.nanoseconds }
    atMost = Int32(clamping: settings.atMost)
  }

  var value: TalkerPolicy.Settings {
    func span(_ value: Int64) -> Duration { max(.zero, min(.nanoseconds(value), .seconds(3600))) }
    func decibels(_ value: Int32) -> Int { Int(max(-127, min(value, 127))) }
    var settings = TalkerPolicy.Settings()
    settings.levels = TalkerPolicy.Levels(rawValue: levels) ?? .auto
    settings.minimumHold = span(minimumHold)
    settings.takeoverDelay = span(takeoverDelay)
    settings.takeoverMargin = decibels(takeoverMargin)
    settings.overlapDelay = span(overlapDelay)
    settings.threshold = decibels(threshold)
    settings.noiseMargin = decibels(noiseMargin)
    settings.activityShare = Int(max(0, min(activityShare, 100)))
    settings.pause = span(pause)
    settings.presenterBonus = decibels(presenterBonus)
    settings.presenterReturn = hasPresenterReturn ? span(presenterReturn) : nil
    settings.atMost = Int(max(0, min(atMost, 1000)))
    return settings
  }
}

extension WireProcessorRule {
  init(_ rule: ProcessorRule) {
    self.init()
    selector = rule.selector.description
    processors = rule.processors.list
  }

  /// What the rule says. A processor that this version does not know, or that damage made, is taken for the strictest: what
  /// was to be hidden is never shown for want of understanding. Nil when it means nobody.
  var value: ProcessorRule? {
    guard let selector = PersonSelector(LogBounds.name(selector)) else { return nil }
    guard !processors.isEmpty else { return ProcessorRule(selector, TrackProcessors()) }
    let found = try? TrackProcessors(words: processors.prefix(8).map { LogBounds.name($0) })
    return ProcessorRule(selector, found ?? TrackProcessors(video: .mask, audio: .silence))
  }
}

extension WireLayoutText {
  init(_ layout: Layout) {
    self.init()
    name = layout.name
    text = layout.canonicalText
  }
}

/// Bounds of texts in a log, which may be anybody's.
enum LogBounds {
  /// A text of people: 64 KiB.
  static func text(_ text: String) -> String { cut(text, 65_536) }
  /// A name or an identity: 1 KiB.
  static func name(_ text: String) -> String { cut(text, 1024) }

  private static func cut(_ text: String, _ limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      count += UTF8.width(scalar)
      if count > limit { break }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
