import MediaCore
import TestKit

@testable import WebM

/// What a writer does to its file, change by change.
enum Trace {
  struct Step {
    var change: OutputFile.Change
    /// Media time that had been handed to the writer.
    var taken: SessionTime
  }

  /// Writes the frames and returns what the writer did to the file. `finishes` false: as far as a kill would let it.
  /// `syncs`: so much media time apart, everything before is made durable.
  static func of(
    _ frames: [Clip.Frame], finishes: Bool = true, syncs interval: Duration? = nil, in directory: TemporaryDirectory
  ) throws -> [Step] {
    var steps: [Step] = []
    var taken = SessionTime.zero
    let file = try OutputFile(creating: directory.path("trace-\(UInt64.random(in: 0 ... .max)).webm"))
    file.observer = {
      steps.append(Step(change: $0, taken: taken))
      return 0
    }
    let writer = try WebMWriter(file: file, configuration: Clip.configuration, syncs: false)
    var synced = SessionTime.zero
    for frame in frames {
      if let interval, frame.time - synced >= interval {
        synced = frame.time
        steps.append(Step(change: .sync, taken: taken))
      }
      taken = frame.time
      try writer.add(frame)
    }
    if finishes {
      writer.addChapter(start: .zero, title: "start")
      writer.setTag("ROOM", "standup")
      _ = try writer.finish()
    }
    file.observer = nil
    return steps
  }

  /// The same with each write in the parts of so many bytes that reach the file, or the disk, by themselves.
  static func parts(_ steps: [Step], of size: Int) -> [Step] {
    steps.flatMap { step in Made.parts(of: step.change, size: size).map { Step(change: $0, taken: step.taken) } }
  }
}

extension OutputFile.Change {
  /// True when all changes before it are made durable.
  var isSync: Bool { if case .sync = self { true } else { false } }
}
