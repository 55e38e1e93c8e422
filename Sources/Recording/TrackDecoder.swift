import Codecs
import MediaCore

/// Decodes the frames of one video track, whatever their codec. Confined to one thread at a time.
final class TrackDecoder {
  /// What came of a frame.
  struct Outcome {
    /// Nil also for a frame that makes none.
    var picture: Picture?
    /// What the decoder had to say against the frame.
    var error: CodecError?
    /// The form that can't be shown, such as "H.265 (10 bits 4:2:0)"; no keyframe will help.
    var unsupported: String?
    /// True when only a keyframe can be decoded next.
    var needsKeyframe = false
  }

  /// Nil before the first frame, and for a codec without pictures.
  private var decoder: (any VideoDecoder)?
  private var codec: Codec?
  // The pictures of a burst, the newest before it, and one to decode into.
  private var pool = PicturePool(limit: 8)
  /// The form that can't be shown, as long as no other keyframe comes.
  private var unsupported: String?

  /// Decodes the next frame.
  func decode(_ frame: EncodedFrame) -> Outcome {
    if codec != frame.codec {
      // A publisher may change its codec in the middle of a track.
      codec = frame.codec
      decoder = VideoDecoders.make(frame.codec)
      unsupported = nil
    }
    guard let decoder else { return Outcome() }
    if let form = unsupported, !frame.isKeyframe { return Outcome(unsupported: form) }
    unsupported = nil
    var outcome = Outcome()
    do {
      outcome.picture = try decoder.decode(frame.payload.bytes, isKeyframe: frame.isKeyframe, into: &pool)
      outcome.picture?.rotation = frame.rotation
    } catch  where error.reason == .unsupported {
      unsupported = "\(frame.codec.title) (\(error.text))"
      return Outcome(unsupported: unsupported)
    } catch {
      outcome.error = error
    }
    outcome.needsKeyframe = decoder.needsKeyframe
    return outcome
  }

  /// Leaves a frame out: only a keyframe can be decoded next.
  func skip() { decoder?.reset() }
}
