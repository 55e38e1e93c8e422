public import MediaCore

/// What carrying out a `SessionOutput.decode` has found, for the core to decide by.
public struct SessionFinding: Sendable, Hashable {
  /// What came of the frame.
  public enum Outcome: Sendable, Hashable {
    /// A picture, or rightly none.
    case decoded
    /// Nothing: its track goes on with the next keyframe.
    case needsKeyframe
    /// Nothing, and no keyframe helps: its pictures come in this form, such as "H.265 (10 bits 4:2:0)".
    case unsupported(String)
  }

  /// The frame.
  public var frame: FrameID
  /// Its track.
  public var track: TrackID
  /// What came of it.
  public var outcome: Outcome

  /// Makes a finding; see the properties.
  public init(_ frame: FrameID, of track: TrackID, _ outcome: Outcome) {
    self.frame = frame
    self.track = track
    self.outcome = outcome
  }
}

extension SessionCore {
  /// Takes what carrying out an output has found; it counts from the next plan on. A form that can't be shown is told once.
  public mutating func take(_ finding: SessionFinding) {
    guard let state = tracks[finding.track] else { return }
    switch finding.outcome {
    case .decoded: tracks[finding.track]?.unsupported = nil
    case .needsKeyframe:
      // A keyframe that was given to the decoder since then has mended it, or has a finding of its own.
      guard finding.frame.rawValue >= state.newestKeyframe?.rawValue ?? 0 else { return }
      tracks[finding.track]?.needsKeyframe = true
      request(keyframeOf: finding.track, at: clock.next)
    case .unsupported(let form):
      guard state.unsupported != form else { return }
      tracks[finding.track]?.unsupported = form
      tracks[finding.track]?.forgetPicture(now: clock.next)
      note(.unsupportedCodec(finding.track, state.track.participant, state.track.source, form), at: clock.next)
    }
  }
}
