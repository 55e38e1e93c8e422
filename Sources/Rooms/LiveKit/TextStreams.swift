import MediaCore
import Session
import Signaling

/// Puts together what is sent in pieces (LiveKit data streams): header, chunks in order, trailer. Bounded in every
/// direction, because senders are not trusted.
struct TextStreams: Sendable {
  /// A stream that has come to its end.
  struct Finished: Sendable {
    var id: String
    var sender: ParticipantIdentity?
    var topic: String
    /// What is text counts as text, even if its bytes are damaged.
    var isText: Bool
    var operation: Livekit_DataStream.OperationType
    var timestamp: Int64
    /// The header's, with those of the trailer over them.
    var attributes: [String: String]
    var bytes: [UInt8]
    /// True when the end was left out.
    var isCut: Bool
  }

  private struct Key: Hashable {
    var sender: ParticipantIdentity?
    var id: String
  }

  private struct Open {
    var header: Livekit_DataStream.Header
    var nextChunk: UInt64 = 0
    var bytes: [UInt8] = []
    var isCut = false
    var lastAt: Instant
  }

  /// Bytes of one stream that are kept.
  static let contentLimit = 65_536
  /// Streams that may be open at a time, in all and of one sender.
  static let openLimit = 64
  static let openLimitPerSender = 8
  /// Bytes of a header's texts: topic, id and attributes together.
  static let headerLimit = 16_384
  /// A stream of which nothing came for so long is given up when room is needed.
  static let patience = Duration.seconds(60)

  private var open: [Key: Open] = [:]

  /// How many are open.
  var count: Int { open.count }

  /// Begins a stream; gives it back at once when the header holds it whole.
  mutating func receive(
    _ header: Livekit_DataStream.Header, from sender: ParticipantIdentity?, at now: Instant
  ) -> Finished? {
    guard !header.streamID.isEmpty, Self.size(header) <= Self.headerLimit + header.inlineContent.count else {
      return nil
    }
    let key = Key(sender: sender, id: header.streamID)
    if header.hasInlineContent {
      open[key] = nil
      var stream = Open(header: header, lastAt: now)
      stream.header.inlineContent = .init()
      Self.append(header.inlineContent, to: &stream)
      return Self.finish(stream, sender, attributes: [:])
    }
    if open[key] == nil, open.count >= Self.openLimit || count(of: sender) >= Self.openLimitPerSender {
      open = open.filter { now - $0.value.lastAt < Self.patience }
      guard open.count < Self.openLimit, count(of: sender) < Self.openLimitPerSender else { return nil }
    }
    open[key] = Open(header: header, lastAt: now)
    return nil
  }

  /// Adds a chunk. A stream with a hole is given up.
  mutating func receive(_ chunk: Livekit_DataStream.Chunk, from sender: ParticipantIdentity?, at now: Instant) {
    let key = Key(sender: sender, id: chunk.streamID)
    guard var stream = open.removeValue(forKey: key) else { return }
    if chunk.chunkIndex > stream.nextChunk { return }
    if chunk.chunkIndex == stream.nextChunk {
      stream.nextChunk += 1
      stream.lastAt = now
      Self.append(chunk.content, to: &stream)
    }
    open[key] = stream
  }

  /// Ends a stream. One that its sender broke off gives nothing.
  mutating func receive(_ trailer: Livekit_DataStream.Trailer, from sender: ParticipantIdentity?) -> Finished? {
    guard let stream = open.removeValue(forKey: Key(sender: sender, id: trailer.streamID)), trailer.reason.isEmpty
    else { return nil }
    let isSmall = trailer.attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= Self.headerLimit
    return Self.finish(stream, sender, attributes: isSmall ? trailer.attributes : [:])
  }

  private func count(of sender: ParticipantIdentity?) -> Int {
    open.keys.reduce(0) { $0 + ($1.sender == sender ? 1 : 0) }
  }

  private static func size(_ header: Livekit_DataStream.Header) -> Int {
    header.attributes.reduce(header.topic.utf8.count + header.streamID.utf8.count) {
      $0 + $1.key.utf8.count + $1.value.utf8.count
    }
  }

  private static func append(_ content: some Collection<UInt8>, to stream: inout Open) {
    let room = contentLimit - stream.bytes.count
    stream.bytes.append(contentsOf: content.prefix(room))
    if content.count > room { stream.isCut = true }
  }

  private static func finish(
    _ stream: Open, _ sender: ParticipantIdentity?, attributes: [String: String]
  ) -> Finished? {
    var bytes = stream.bytes
    var isCut = stream.isCut
    let header = stream.header
    switch header.compression {
    case .none: break
    case .deflateRaw:
      // What was cut off can't be unpacked to its end.
      guard !isCut, let unpacked = Inflate.unpack(bytes, limit: contentLimit) else { return nil }
      (bytes, isCut) = unpacked
    case .UNRECOGNIZED: return nil
    }
    var isText = false
    if case .textHeader = header.contentHeader { isText = true }
    return Finished(
      id: header.streamID, sender: sender, topic: header.topic, isText: isText,
      operation: header.textHeader.operationType, timestamp: header.timestamp,
      attributes: header.attributes.merging(attributes) { $1 }, bytes: bytes, isCut: isCut)
  }
}
