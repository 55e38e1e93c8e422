import MediaCore

/// Cuts VP8 frames into packets (RFC 7741): 15-bit picture identifiers, packets of about equal size, and when
/// temporal layers are used their descriptor fields.
public struct VP8Packetizer: Sendable {
  /// The place of a frame in its temporal layers.
  public struct TemporalLayer: Sendable, Hashable {
    /// Layer, 0...3; 0 is the base.
    public var layer: UInt8
    /// Running number of base layer frames.
    public var baseLayerIndex: UInt8
    /// The frame depends on the base layer only.
    public var isLayerSync: Bool
    /// Makes a place; only the low two bits of `layer` count.
    public init(layer: UInt8, baseLayerIndex: UInt8, isLayerSync: Bool) {
      self.layer = layer & 3
      self.baseLayerIndex = baseLayerIndex
      self.isLayerSync = isLayerSync
    }
  }

  /// One frame's packets. Set the RTP marker on the last.
  public struct Packets: Sendable {
    /// Number of packets.
    public let count: Int
    fileprivate let frameCount: Int
    fileprivate let pictureID: UInt16
    fileprivate let isNonReference: Bool
    fileprivate let temporalLayer: TemporalLayer?

    /// Appends the payload of packet `index` to a buffer that holds its RTP header. False when there is no such
    /// packet, when `frame` isn't the frame that was given before, or when it doesn't fit.
    public func append(_ index: Int, of frame: UnsafeRawBufferPointer, to buffer: MediaBuffer) -> Bool {
      guard index >= 0, index < count, frame.count == frameCount else { return false }
      let from = frameCount * index / count
      let to = frameCount * (index + 1) / count
      guard let part = frame.part(from, to - from) else { return false }
      var cursor = ByteCursor(buffer, offset: buffer.count)
      cursor.put8(0x80 | (isNonReference ? 0x20 : 0) | (index == 0 ? 0x10 : 0))
      cursor.put8(temporalLayer == nil ? 0x80 : 0xe0)
      cursor.put16(0x8000 | pictureID)
      if let temporalLayer {
        cursor.put8(temporalLayer.baseLayerIndex)
        cursor.put8(temporalLayer.layer << 6 | (temporalLayer.isLayerSync ? 0x20 : 0))
      }
      guard !cursor.overflowed else { return false }
      buffer.setCount(cursor.offset)
      return buffer.append(part)
    }
  }

  /// Largest payload in bytes, descriptor included.
  private let maximumPayload: Int
  /// Picture identifier of the next frame, 15 bits.
  public private(set) var pictureID: UInt16

  /// A packetizer for payloads of at most `maximumPayload` bytes (at least 16), beginning with `pictureID`.
  public init(maximumPayload: Int = 1160, pictureID: UInt16 = 0) {
    self.maximumPayload = max(16, maximumPayload)
    self.pictureID = pictureID & 0x7fff
  }

  /// Plans the packets of the next frame of `frameCount` bytes (at least 1).
  public mutating func packetize(
    frameCount: Int, isNonReference: Bool = false, temporalLayer: TemporalLayer? = nil
  ) -> Packets {
    let room = maximumPayload - (temporalLayer == nil ? 4 : 6)
    let bytes = max(0, frameCount)
    defer { pictureID = (pictureID &+ 1) & 0x7fff }
    return Packets(
      count: bytes / room + (bytes % room == 0 ? 0 : 1), frameCount: bytes, pictureID: pictureID,
      isNonReference: isNonReference, temporalLayer: temporalLayer)
  }
}
