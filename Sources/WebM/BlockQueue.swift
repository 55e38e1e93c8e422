/// Frames of one track that wait for their turn in the file, first in first out. Keeps its storage, so that it does
/// not allocate once it has seen its fullest moment.
struct BlockQueue {
  /// One waiting frame.
  struct Entry {
    /// Milliseconds since the recording began.
    var time: Int64
    /// Milliseconds at which it ends.
    var end: Int64
    /// Place of the payload in `storage`.
    var offset: Int
    var count: Int
    var isKeyframe: Bool
  }

  private var entries: [Entry] = []
  private var head = 0
  private var storage: [UInt8] = []

  /// The frame whose turn is next.
  var first: Entry? { head < entries.count ? entries[head] : nil }

  /// Appends a frame. Its bytes are copied.
  mutating func append(time: Int64, end: Int64, isKeyframe: Bool, bytes: UnsafeRawBufferPointer) {
    entries.append(
      Entry(time: time, end: end, offset: storage.count, count: bytes.count, isKeyframe: isKeyframe))
    storage.append(contentsOf: bytes)
  }

  /// Calls `body` with the payload of the first frame.
  func withFirstPayload(_ body: (UnsafeRawBufferPointer) throws(WebMError) -> Void) throws(WebMError) {
    guard let first else { return }
    try storage.withUnsafeBufferPointer { (all) throws(WebMError) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[first.offset..<first.offset + first.count])))
    }
  }

  /// Forgets the first frame.
  mutating func removeFirst() {
    guard let first else { return }
    head += 1
    if head == entries.count {
      head = 0
      entries.removeAll(keepingCapacity: true)
      storage.removeAll(keepingCapacity: true)
    } else if head >= 64 {
      // Never quite empty: move the rest to the front now and then.
      let gone = first.offset + first.count
      entries.removeSubrange(..<head)
      for index in entries.indices { entries[index].offset -= gone }
      storage.removeSubrange(..<gone)
      head = 0
    }
  }
}
