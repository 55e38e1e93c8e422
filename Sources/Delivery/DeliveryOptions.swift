/// How a store is dealt with. The defaults suit the stores that are known.
public struct DeliveryOptions: Hashable, Sendable {
  /// Bytes of a part of a multipart upload, 5 MiB to 5 GiB; larger ones are taken for files that would otherwise have
  /// more than 10,000 parts. Files that are not larger than one part are sent in one request.
  public var partSize: Int64 = 8 << 20
  /// Parts that are sent at once, 1 to 16. Each needs memory for one part.
  public var parallelParts = 2
  /// How often a request is tried before it is given up; at least 1.
  public var attempts = 8
  /// The pause before the second attempt, in milliseconds; it doubles each time, up to `longestPause`, and is
  /// shortened at random (so that many workers do not come back at once).
  public var firstPause: Int64 = 500
  /// The longest pause between attempts that is not the store's own wish, in milliseconds.
  public var longestPause: Int64 = 30_000
  /// How long the store may be silent before an attempt counts as failed, in milliseconds.
  public var silence: Int64 = 30_000

  /// The defaults.
  public init() {}
}
