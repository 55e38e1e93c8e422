/// Follows a file that `WebMWriter` is writing and says how much of it is final: everything up to the end of the last
/// Cluster that has its size. The head (first page) is written once more when the recording ends; so is the size of the
/// Cluster under way, and what lies behind it.
public struct ClusterTail: Sendable, Hashable {
  /// Bytes of the first page, which is written once more when the recording ends.
  public static let headSize = Int64(WebMHead.size)

  /// Bytes of the file that will not change any more, the first page apart; 0 before the first Cluster.
  public private(set) var end: Int64 = 0
  /// True when the file says that it was ended: its Segment has a size. Then nothing of it changes any more.
  public private(set) var hasEnded = false

  /// Nothing known yet.
  public init() {}

  /// Looks at what has been added.
  ///
  /// - Parameter read: fills the buffer with the file's bytes from an offset; false when they are not all there.
  public mutating func advance(_ read: (UnsafeMutableRawBufferPointer, Int64) -> Bool) {
    if end == 0 { end = Self.headSize }
    while let (id, size) = Self.element(at: end, read), id == ElementID.cluster, let size {
      // The Cluster is there to its last byte before its size is set; the check is for files of others.
      let next = end + 12 + size
      var last: UInt8 = 0
      let isThere = withUnsafeMutableBytes(of: &last) { read($0, next - 1) }
      guard isThere else { break }
      end = next
    }
    if let (id, size) = Self.element(at: WebMHead.segmentDataStart - 12, read), id == ElementID.segment {
      hasEnded = size != nil
    }
    if end == Self.headSize { end = 0 }
  }

  /// The ID of an element with a four-byte ID and an eight-byte size, and the size; nil for one that is unknown yet.
  private static func element(
    at offset: Int64, _ read: (UnsafeMutableRawBufferPointer, Int64) -> Bool
  ) -> (id: UInt32, size: Int64?)? {
    var bytes = (UInt64(0), UInt64(0))
    let isRead = withUnsafeMutableBytes(of: &bytes) { read(UnsafeMutableRawBufferPointer(rebasing: $0[..<12]), offset) }
    guard isRead else { return nil }
    let id = UInt32(truncatingIfNeeded: UInt64(bigEndian: bytes.0) >> 32)
    let size = UInt64(bigEndian: bytes.0) << 32 | UInt64(bigEndian: bytes.1) >> 32
    // A length descriptor of eight bytes (RFC 8794 section 4); all ones: unknown.
    guard size >> 56 == 1 else { return (id, nil) }
    let value = size & 0xff_ffff_ffff_ffff
    return (id, value == 0xff_ffff_ffff_ffff || value > 1 << 48 ? nil : Int64(value))
  }
}
