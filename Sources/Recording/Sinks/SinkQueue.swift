/// 20 ms of sound for a sink.
struct SinkBlock: Sendable {
  /// Its first sample, counted at the sink's rate from the beginning of the recording.
  var position: Int64
  /// Samples of each channel.
  var count: Int
  /// The samples, 16 bits, signed, little-endian, channels in turn.
  var bytes: [UInt8]

  /// The head of a timed block, little-endian: the position (8 bytes), the samples of each channel (4), and the blocks
  /// that this reader lacks directly before it (4).
  func head(lost: UInt32) -> [UInt8] {
    var head: [UInt8] = []
    head.reserveCapacity(16 + bytes.count)
    for shift in stride(from: 0, to: 64, by: 8) { head.append(UInt8(truncatingIfNeeded: position >> Int64(shift))) }
    for shift in stride(from: 0, to: 32, by: 8) { head.append(UInt8(truncatingIfNeeded: count >> shift)) }
    for shift in stride(from: 0, to: 32, by: 8) { head.append(UInt8(truncatingIfNeeded: lost >> UInt32(shift))) }
    return head
  }
}

/// What waits for one reader of a sink: two seconds of sound at most, of which the oldest gives way when the reader does not
/// read. A block that has begun to go out goes out whole. Pure.
struct SinkQueue {
  /// What came of an attempt to write.
  enum Writing: Hashable {
    /// So many bytes were taken, at least one.
    case taken(Int)
    /// No room now.
    case full
    /// The reader is gone.
    case gone
  }

  /// The most blocks that wait.
  static let most = 100

  private let framing: AudioSink.Framing
  private var waiting: [SinkBlock] = []
  /// The block that is going out, and how much of it has gone.
  private var current: [UInt8] = []
  private var sent = 0
  private var lostBefore: UInt32 = 0
  /// Blocks that gave way.
  private(set) var lost: UInt64 = 0

  init(_ framing: AudioSink.Framing) { self.framing = framing }

  /// True when nothing waits.
  var isEmpty: Bool { sent == current.count && waiting.isEmpty }

  /// Takes the next block.
  mutating func put(_ block: SinkBlock) {
    if waiting.count >= Self.most {
      waiting.removeFirst()
      lost += 1
      lostBefore &+= 1
    }
    waiting.append(block)
  }

  /// Writes what waits, as far as `write` takes it. False when the reader is gone.
  mutating func flush(_ write: (UnsafeRawBufferPointer) -> Writing) -> Bool {
    while true {
      if sent == current.count {
        guard !waiting.isEmpty else { return true }
        let block = waiting.removeFirst()
        current = framing == .timed ? block.head(lost: lostBefore) + block.bytes : block.bytes
        (sent, lostBefore) = (0, 0)
      }
      switch current.withUnsafeBytes({ write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
      case .taken(let count): sent += count
      case .full: return true
      case .gone: return false
      }
    }
  }
}
