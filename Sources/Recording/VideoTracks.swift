import Codecs
import Dispatch
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
    let decoder = TrackDecoder()
    /// Those that plans may still name, the oldest first: of this burst, and the newest before it.
    var pictures: [(id: FrameID, picture: Picture)] = []
    /// The burst of the last one.
    var burst: UInt64 = 0
    /// True when what its decoder had to say has been told.
    var isFailureTold = false

    /// In a burst that follows, only the newest picture before it is needed.
    mutating func begin(_ burst: UInt64) {
      guard self.burst != burst else { return }
      self.burst = burst
      pictures.removeFirst(max(0, pictures.count - 1))
    }
  }

  /// Frames of one track that are decoded one after another, beside those of others.
  private struct Lane {
    let decoder: TrackDecoder
    var frames: [(id: FrameID, frame: EncodedFrame)] = []
    var outcomes: [TrackDecoder.Outcome] = []

    mutating func decode() { outcomes = frames.map { decoder.decode($0.frame) } }
  }

  private var entries: [TrackID: Entry] = [:]
  /// The number of this burst.
  private var burst: UInt64 = 0
  /// What came of frames of this burst that were decoded ahead.
  private var decodedAhead: [FrameID: TrackDecoder.Outcome] = [:]
  /// Frames that could not be decoded.
  private(set) var errors: UInt64 = 0

  /// Outputs of other instants begin: of a track's pictures only the newest is needed any more.
  mutating func beginBurst() {
    burst &+= 1
    decodedAhead.removeAll(keepingCapacity: true)
  }

  /// Decodes the frames of a burst that has begun ahead of `decode`, the tracks side by side on all processors. Those behind what ends
  /// decoders are left to `decode`.
  mutating func decodeAhead(_ outputs: [SessionOutput]) {
    var lanes: [Lane] = []
    var places: [TrackID: Int] = [:]
    for output in outputs {
      if output.endsDecoders { break }
      guard case .decode(let id, let frame, let track, _) = output else { continue }
      let place = places[track] ?? lanes.count
      if place == lanes.count {
        places[track] = place
        var entry = entries[track] ?? Entry()
        entry.begin(burst)
        entries[track] = entry
        lanes.append(Lane(decoder: entry.decoder))
      }
      lanes[place].frames.append((id, frame))
    }
    guard lanes.count > 1 else { return }
    // Each call has a lane for itself, and none goes on after the last.
    lanes.withUnsafeMutableBufferPointer { buffer in
      nonisolated(unsafe) let lanes = buffer
      DispatchQueue.concurrentPerform(iterations: lanes.count) { lanes[$0].decode() }
    }
    for lane in lanes {
      for (frame, outcome) in zip(lane.frames, lane.outcomes) { decodedAhead[frame.id] = outcome }
    }
  }

  /// Decodes the next frame of its track.
  mutating func decode(_ id: FrameID, _ frame: EncodedFrame, of track: TrackID) -> Outcome {
    var entry = entries.removeValue(forKey: track) ?? Entry()
    defer { entries[track] = entry }
    let found = decodedAhead.removeValue(forKey: id) ?? entry.decoder.decode(frame)
    if let form = found.unsupported { return .unsupported(form) }
    if let picture = found.picture {
      entry.begin(burst)
      entry.pictures.append((id, picture))
    }
    let error = entry.isFailureTold ? nil : found.error
    if found.error != nil {
      errors += 1
      entry.isFailureTold = true
    }
    return found.needsKeyframe ? .needsKeyframe(error: error) : .decoded
  }

  /// Leaves a frame out: there is no time for it.
  mutating func skip(_ track: TrackID) { entries[track]?.decoder.skip() }

  /// The newest picture of a track that is not newer than the frame that a plan names.
  func picture(_ frame: FrameID, of track: TrackID) -> (id: FrameID, picture: Picture)? {
    entries[track]?.pictures.last { $0.id.rawValue <= frame.rawValue }
  }

  /// Lets the decoder of a track go.
  mutating func release(_ track: TrackID) { entries[track] = nil }

  /// Lets all decoders go.
  mutating func releaseAll() { entries.removeAll() }
}
