import CWebMParser
import MediaCore

/// Receives what the parser finds; subclasses take what they need. Pointers inside are valid during the call only.
class ParserEvents {
  func header(_ header: cwebm_header) {}
  func segment(dataPosition: UInt64, size: UInt64) {}
  func info(_ info: cwebm_info) {}
  func track(_ track: cwebm_track) {}
  func seek(id: UInt32, position: UInt64) {}
  func cluster(position: UInt64, size: UInt64, ticks: UInt64) {}
  /// Returns false to end the parsing.
  func frame(_ frame: cwebm_frame) -> Bool { true }
  func cue(ticks: UInt64, track: UInt64, clusterPosition: UInt64) {}
  func chapter(start: UInt64, end: UInt64, title: String) {}
  func tag(name: String, value: String) {}

  /// Ticks of a file's clock as time; saturates on absurd values.
  static func time(ticks: Int64, scale: UInt64) -> SessionTime {
    let (product, overflow) = ticks.multipliedReportingOverflow(by: Int64(clamping: scale))
    return SessionTime(nanoseconds: overflow ? (ticks < 0 ? .min : .max) : product)
  }

  /// A text of the file; damaged UTF-8 is repaired.
  static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

  /// Calls `body` with C callbacks that lead here.
  final func withCallbacks<Result>(_ body: (inout cwebm_callbacks) -> Result) -> Result {
    var callbacks = cwebm_callbacks()
    callbacks.context = Unmanaged.passUnretained(self).toOpaque()
    callbacks.on_header = { context, header in
      guard let events = ParserEvents.from(context), let header else { return }
      events.header(header.pointee)
    }
    callbacks.on_segment = { context, position, size in
      ParserEvents.from(context)?.segment(dataPosition: position, size: size)
    }
    callbacks.on_info = { context, info in
      guard let events = ParserEvents.from(context), let info else { return }
      events.info(info.pointee)
    }
    callbacks.on_track = { context, track in
      guard let events = ParserEvents.from(context), let track else { return }
      events.track(track.pointee)
    }
    callbacks.on_seek = { context, id, position in ParserEvents.from(context)?.seek(id: id, position: position) }
    callbacks.on_cluster = { context, position, size, ticks in
      ParserEvents.from(context)?.cluster(position: position, size: size, ticks: ticks)
    }
    callbacks.on_frame = { context, frame in
      guard let events = ParserEvents.from(context), let frame else { return 1 }
      return events.frame(frame.pointee) ? 0 : 1
    }
    callbacks.on_cue = { context, ticks, track, position in
      ParserEvents.from(context)?.cue(ticks: ticks, track: track, clusterPosition: position)
    }
    callbacks.on_chapter = { context, start, end, title in
      ParserEvents.from(context)?.chapter(start: start, end: end, title: ParserEvents.text(title))
    }
    callbacks.on_tag = { context, name, value in
      ParserEvents.from(context)?.tag(name: ParserEvents.text(name), value: ParserEvents.text(value))
    }
    return withExtendedLifetime(self) { body(&callbacks) }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> ParserEvents? {
    context.map { Unmanaged<ParserEvents>.fromOpaque($0).takeUnretainedValue() }
  }
}
