import MediaCore

/// Makes times of RTP timestamps: since the first frame of a track.
struct FrameClock {
  private var first: (time: Int64, codec: Codec)?
  private var base = Duration.zero
  private var last = Duration.zero

  init() {}

  mutating func time(of frame: EncodedFrame) -> Duration {
    if first?.codec != frame.codec {
      // Another codec may have another clock; it goes on where the last ended.
      (first, base) = ((frame.rtpTime, frame.codec), last)
    }
    let ticks = frame.rtpTime &- (first?.time ?? 0)
    last = base + .nanoseconds(MediaTime(ticks: ticks, rate: frame.codec.clockRate).nanoseconds)
    return last
  }
}
