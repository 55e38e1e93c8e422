import MediaCore
import Session

/// How blocks are put together for a reader.
struct SinkFraming: Sendable {
  /// What stands before each block.
  enum Head: Sendable {
    /// Always the same, or nothing.
    case fixed([UInt8])
    /// `SinkBlock.head`.
    case timed
  }

  /// Comes once, at the beginning.
  var beginning: [UInt8] = []
  /// See `Head`.
  var head = Head.fixed([])
  /// The most blocks that wait for one reader.
  var most: Int
  /// The most that wait for the thread, which only ever lags for milliseconds.
  var mostFresh: Int
}

extension SinkFraming {
  /// Of pictures so many bytes wait for one reader at most, but two pictures always.
  private static let longestWait = 16 << 20

  /// That of a sink of a recording of these settings.
  init(_ sink: MediaSink, in session: SessionCore.Settings) {
    switch sink.medium {
    // Who dials finds by the heads where a message ends.
    case .sound(let form):
      self.init(head: form.isTimed || sink.isDialled ? .timed : .fixed([]), most: 100, mostFresh: 500)
    case .pictures(let form):
      let size = form.size ?? session.canvas
      let most = max(2, Self.longestWait / (size.width * size.height * 3 / 2))
      switch sink.isDialled ? .timed : form.framing {
      case .raw: self.init(most: most, mostFresh: most)
      case .timed: self.init(head: .timed, most: most, mostFresh: most)
      case .y4m:
        let rate = max(1, session.framesPerSecond / form.interval)
        let beginning =
          "YUV4MPEG2 W\(size.width) H\(size.height) F\(rate):1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n"
        self.init(
          beginning: Array(beginning.utf8), head: .fixed(Array("FRAME\n".utf8)), most: most, mostFresh: most)
      }
    }
  }
}
