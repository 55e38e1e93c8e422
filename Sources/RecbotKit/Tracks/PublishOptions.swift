import MediaCore
import Rooms

/// One encoding of a track that is published in several sizes (simulcast, RFC 8853).
public typealias EncodedVideoLayer = LocalTrackDescription.Layer

/// How pictures are published.
public struct VideoPublishOptions: Hashable, Sendable {
  /// What pictures are encoded as.
  public enum Codec: Hashable, Sendable {
    /// RFC 6386; every receiver has it.
    case vp8
    /// Better at the same rate, and dearer; in one size only.
    case vp9

    /// The codec of the wire.
    var codec: MediaCore.Codec { self == .vp8 ? .vp8 : .vp9 }
  }

  /// What the pictures are encoded as.
  public var codec = Codec.vp8
  /// Whether smaller encodings go beside the full size, of which each receiver gets what it needs: of at least 480 columns a
  /// half, of at least 960 a quarter too. VP8 only.
  public var isSimulcast = true
  /// What the full size takes at most, bits per second; nil: by its size.
  public var bitrate: Int?
  /// The most pictures a second; more are left out. 1...120.
  public var maximumFrameRate = 30
  /// What is done to the pictures before they are encoded; `LocalTrackPublication.process(_:)` changes it.
  public var processor: VideoProcessor?
  /// Whether the track is disabled at first.
  public var isMuted = false

  /// The defaults.
  public init() {}

  /// The encodings, from the smallest to the largest.
  func layers(of size: Dimensions) -> [EncodedVideoLayer] {
    let long = max(size.width, size.height)
    let divisors = !isSimulcast || codec == .vp9 || long < 480 ? [1] : long < 960 ? [2, 1] : [4, 2, 1]
    return divisors.map { divisor in
      let layer = Self.part(size, divisor)
      let full = bitrate ?? layer.width * layer.height * 3 * divisor * divisor
      return .init(
        width: layer.width, height: layer.height, bitrate: min(50_000_000, max(60_000, full / (divisor * divisor))))
    }
  }

  /// A part of a size; even where it is not the whole.
  static func part(_ size: Dimensions, _ divisor: Int) -> Dimensions {
    guard divisor > 1 else { return size }
    func side(_ length: Int) -> Int { max(2, (length / divisor + 1) & ~1) }
    return Dimensions(width: side(size.width), height: side(size.height))
  }
}

/// How sound is published.
public struct AudioPublishOptions: Hashable, Sendable {
  /// Bits per second, 6000...510000.
  public var bitrate = 48_000
  /// Whether it is made for speech rather than music.
  public var isForSpeech = false
  /// Whether packets carry a coarser copy of the sound before them, for receivers that lost it (Opus in-band FEC).
  public var isForwardErrorCorrecting = true
  /// Whether silence is left out, but for a packet each 400 ms (RFC 6716 section 2.1.9, DTX); what is quieter by 25 dB than the loudest and no
  /// voice counts as silence, so music wants false. Of no account in a two-party room: there everything is sent.
  public var isDiscontinuous = true
  /// What is done to the sound before it is encoded; `LocalTrackPublication.process(_:)` changes it.
  public var processor: AudioProcessor?
  /// Whether the track is disabled at first.
  public var isMuted = false

  /// The defaults.
  public init() {}
}
