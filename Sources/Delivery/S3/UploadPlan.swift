/// How a file is cut into parts.
struct UploadPlan: Hashable, Sendable {
  /// What S3 takes (Amazon S3 multipart upload limits).
  static let smallestPart: Int64 = 5 << 20
  static let largestPart: Int64 = 5 << 30
  static let mostParts: Int64 = 10_000

  /// Bytes of the file.
  var size: Int64
  /// Bytes of each part but the last: some stores want them all alike.
  var partSize: Int64

  /// Cuts a file of `size` bytes into parts of the wished size, or larger ones when there would be too many.
  init(size: Int64, wished: Int64) {
    self.size = max(0, size)
    let partSize = min(max(wished, Self.smallestPart), Self.largestPart)
    // The smallest whole number of MiB with which the parts are few enough.
    let needed = (self.size + Self.mostParts - 1) / Self.mostParts
    self.partSize = needed <= partSize ? partSize : (needed + 0xf_ffff) & ~0xf_ffff
  }

  /// Number of parts; 1 also for an empty file.
  var count: Int { Int(max(1, (size + partSize - 1) / partSize)) }

  /// True when the file is sent in one request.
  var isSingle: Bool { size <= partSize }

  /// Where part `number` (from 1) lies in the file.
  func range(_ number: Int) -> Range<Int64> {
    let start = min(size, Int64(number - 1) * partSize)
    return start..<min(size, start + partSize)
  }
}
