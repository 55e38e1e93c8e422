public import MediaCore

/// What is done to one line of sound, block after block: 48 kHz stereo, full scale -1...1. Confined to one thread at a time; a
/// block allocates nothing.
public struct SoundTreatment {
  private enum Way {
    case none
    case silence
    case voiceMask(VoiceMask)
    case loudness(TrackLoudness)
    case denoise(Denoiser)
  }

  private var way: Way

  /// From the next block on this is done; nil: nothing. Without memory for it the sound stays as it is.
  public init(_ processor: AudioProcessor?) {
    way =
      switch processor {
      case nil: .none
      case .silence: .silence
      case .voiceMask: .voiceMask(VoiceMask())
      case .denoise: Denoiser().map(Way.denoise) ?? .none
      case .loudness: TrackLoudness().map(Way.loudness) ?? .none
      }
  }

  /// Does it to a block, in place.
  public mutating func process(_ block: UnsafeMutableBufferPointer<Float>) {
    switch way {
    case .none: break
    case .silence: block.update(repeating: 0)
    case .denoise(let denoiser): denoiser.process(block)
    // Not two of one at a time: that in the enumeration would be copied.
    case .loudness(var loudness):
      way = .silence
      loudness.normalize(block)
      way = .loudness(loudness)
    case .voiceMask(var mask):
      way = .silence
      mask.process(block)
      way = .voiceMask(mask)
    }
  }
}
