import MediaCore

/// Cuts VP9 frames of one layer into packets (RFC 9628), in flexible mode: 15-bit picture identifiers, packets of about equal
/// size, each frame predicted from the one before, and a keyframe's size in its first packet.
public struct VP9Packetizer: Sendable {
  /// One frame's packets. Set the RTP marker on the last.
  public struct Packets: Sendable {
    /// Number of packets.
    public let count: Int
    fileprivate let frameCount: Int
    fileprivate let pictureID: UInt16
    fileprivate let keyframe: (width: UInt16, height: UInt16)?

    /// Appends the payload of packet `index` to a buffer that holds its RTP header. False when there is no such
    /// packet, when `frame` isn't the frame that was given before, or when it doesn't fit.
    public func append(_ index: Int, of frame: UnsafeRawBufferPointer, to buffer: MediaBuffer) -> Bool {
      guard index >= 0, index < count, frame.count == frameCount else { return false }
      let from = frameCount * index / count
      let to = frameCount * (index + 1) / count
      guard let part = frame.part(from, to - from) else { return false }
      var cursor = ByteCursor(buffer, offset: buffer.count)
      let hasSize = index == 0 && keyframe != nil
      // I and F always; P, B, E, V where they hold (section 4.2).
      cursor.put8(
        0x90 | (keyframe == nil ? 0x40 : 0) | (index == 0 ? 0x08 : 0) | (index == count - 1 ? 0x04 : 0)
          | (hasSize ? 0x02 : 0))
      cursor.put16(0x8000 | pictureID)
      if keyframe == nil {
        // P_DIFF of 1, and no more.
        cursor.put8(1 << 1)
      }
      if hasSize, let keyframe {
        // One spatial layer, with its resolution (section 4.2.1).
        cursor.put8(0x10)
        cursor.put16(keyframe.width)
        cursor.put16(keyframe.height)
      }
      guard !cursor.overflowed else { return false }
      buffer.setCount(cursor.offset)
      return buffer.append(part)
    }
  }

  /// Bytes of the largest descriptor: a keyframe's first packet.
  private static let descriptorSize = 8
  /// Largest payload in bytes, descriptor included.
  private let maximumPayload: Int
  /// Picture identifier of the next frame, 15 bits.
  public private(set) var pictureID: UInt16

  /// A packetizer for payloads of at most `maximumPayload` bytes (at least 16), beginning with `pictureID`.
  public init(maximumPayload: Int = 1160, pictureID: UInt16 = 0) {
    self.maximumPayload = max(16, maximumPayload)
    self.pictureID = pictureID & 0x7fff
  }

  /// Plans the packets of the next frame, of at least one byte. Its first bytes say whether it is a keyframe, and of which size. `count`:
  /// how many bytes go out, when they are others (encrypted ones).
  public mutating func packetize(_ frame: UnsafeRawBufferPointer, count: Int? = nil) -> Packets {
    let count = count ?? frame.count
    let header = VP9FrameHeader(frame)
    let room = maximumPayload - Self.descriptorSize
    defer { pictureID = (pictureID &+ 1) & 0x7fff }
    return Packets(
      count: (count + room - 1) / room, frameCount: count, pictureID: pictureID,
      keyframe: header.flatMap { header in
        header.isKeyframe ? (UInt16(clamping: header.width), UInt16(clamping: header.height)) : nil
      })
  }
}
