import Codecs
import MediaCore
import Session

/// The decoders of all video tracks, and the newest pictures of each. Confined to the recording's thread.
struct VideoTracks {
  /// What `decode` found.
  enum Outcome {
    /// A picture, or a frame that makes none.
    case decoded
    /// Nothing could be made of the frame; a keyframe is needed. `error`: what the decoder said, the first time of a track.
    case needsKeyframe(error: CodecError?)
    /// The frame is of a form that can't be shown, such as "H.265 (10 bits 4:2:0)", and no keyframe will help.
    case unsupported(String)

    /// True when there is nothing to complain of.
    var isDecoded: Bool { if case .decoded = self { true } else { false } }
  }

  private struct Entry {
    /// Nil before the first frame.
    var decoder: (any VideoDecoder)?
    var codec: Codec?
    // The pictures of a burst, the newest before it, and one to decode into.
    var pool = PicturePool(limit: 8)
    /// Those that plans may still name, the oldest first: of this burst, and the newest before it.
    var pictures: [(id: FrameID, picture: Picture)] = []
    /// The burst of the last one.
    var burst: UInt64 = 0
    /// The form that can't be shown, as long as no other keyframe comes.
    var unsupported: String?
    /// True when what its decoder had to say has been told.
    var isFailureTold = false
  }

  private var entries: [TrackID: Entry] = [:]
  /// The number of this burst.
  private var burst: UInt64 = 0
  /// Frames that could not be decoded.
  private(set) var errors: UInt64 = 0

  /// Outputs of other instants begin: of a track's pictures only the newest is needed any more.
  mutating func beginBurst() { burst &+= 1 }

  /// Decodes the next frame of its track.
  mutating func decode(_ id: FrameID, _ frame: EncodedFrame, of track: TrackID) -> Outcome {
    var entry = entries.removeValue(forKey: track) ?? Entry()
    defer { entries[track] = entry }
    if entry.codec != frame.codec {
      // A publisher may change its codec in the middle of a track.
      entry.codec = frame.codec
      entry.decoder = VideoDecoders.make(frame.codec)
      entry.unsupported = nil
    }
    guard let decoder = entry.decoder else { return .decoded }
    if let form = entry.unsupported, !frame.isKeyframe { return .unsupported(form) }
    entry.unsupported = nil
    var failure: CodecError?
    do {
      let bytes = frame.payload.bytes
      if let picture = try decoder.decode(bytes, isKeyframe: frame.isKeyframe, into: &entry.pool) {
        picture.rotation = frame.rotation
        if entry.burst != burst {
          entry.burst = burst
          entry.pictures.removeFirst(max(0, entry.pictures.count - 1))
        }
        entry.pictures.append((id, picture))
      }
    } catch  where error.reason == .unsupported {
      let form = "\(frame.codec.title) (\(error.text))"
      entry.unsupported = form
      return .unsupported(form)
    } catch {
      errors += 1
      if !entry.isFailureTold { failure = error }
      entry.isFailureTold = true
    }
    return decoder.needsKeyframe ? .needsKeyframe(error: failure) : .decoded
  }

  /// Leaves a frame out: there is no time for it.
  mutating func skip(_ track: TrackID) { entries[track]?.decoder?.reset() }

  /// The newest picture of a track that is not newer than the frame that a plan names.
  func picture(_ frame: FrameID, of track: TrackID) -> (id: FrameID, picture: Picture)? {
    entries[track]?.pictures.last { $0.id.rawValue <= frame.rawValue }
  }

  /// Lets the decoder of a track go.
  mutating func release(_ track: TrackID) { entries[track] = nil }
}
