/// 20 ms of sound, or a picture, for a sink.
struct SinkBlock: Sendable {
  /// Its first sample, counted at the sink's rate from the beginning of the recording; or the picture's number.
  var position: Int64
  /// Samples of each channel; of a picture its bytes.
  var count: Int
  /// The samples, 16 bits, signed, little-endian, channels in turn; or the planes of I420 one after the other. Empty: this one was
  /// not made, as the machine does not keep up.
  var bytes: [UInt8]

  /// The head of a timed block, little-endian: the position (8 bytes), the count (4), and the blocks that this reader
  /// lacks directly before it (4).
  func head(lost: UInt32) -> [UInt8] {
    var head: [UInt8] = []
    head.reserveCapacity(16)
    for shift in stride(from: 0, to: 64, by: 8) { head.append(UInt8(truncatingIfNeeded: position >> Int64(shift))) }
    for shift in stride(from: 0, to: 32, by: 8) { head.append(UInt8(truncatingIfNeeded: count >> shift)) }
    for shift in stride(from: 0, to: 32, by: 8) { head.append(UInt8(truncatingIfNeeded: lost >> UInt32(shift))) }
    return head
  }
}

/// What waits for one reader of a sink, of which the oldest gives way when the reader does not read. A block that has begun to go
/// out goes out whole. Pure.
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

  private let framing: SinkFraming
  private var waiting: [SinkBlock] = []
  /// What is going out: a head and a block. And how much of both has gone.
  private var head: [UInt8]
  private var body: [UInt8] = []
  private var sent = 0
  private var lostBefore: UInt32 = 0
  /// Blocks that gave way.
  private(set) var lost: UInt64 = 0

  init(_ framing: SinkFraming) {
    self.framing = framing
    head = framing.beginning
  }

  /// True when nothing waits.
  var isEmpty: Bool { isSent && waiting.isEmpty }
  private var isSent: Bool { sent == head.count + body.count }

  /// Takes the next block.
  mutating func put(_ block: SinkBlock) {
    if waiting.count >= framing.most {
      waiting.removeFirst()
      miss()
    }
    waiting.append(block)
  }

  private mutating func miss() {
    lost += 1
    lostBefore &+= 1
  }

  /// Writes what waits, as far as `write` takes it. False when the reader is gone.
  mutating func flush(_ write: (UnsafeRawBufferPointer) -> Writing) -> Bool {
    while true {
      if isSent {
        guard !waiting.isEmpty else { return true }
        let block = waiting.removeFirst()
        guard !block.bytes.isEmpty else {
          miss()
          continue
        }
        head =
          switch framing.head {
          case .fixed(let bytes): bytes
          case .timed: block.head(lost: lostBefore)
          }
        (body, sent, lostBefore) = (block.bytes, 0, 0)
      }
      let (part, from) = sent < head.count ? (head, sent) : (body, sent - head.count)
      switch part.withUnsafeBytes({ write(UnsafeRawBufferPointer(rebasing: $0[from...])) }) {
      case .taken(let count): sent += count
      case .full: return true
      case .gone: return false
      }
    }
  }
}
