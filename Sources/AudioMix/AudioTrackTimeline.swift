/// Places the decoded sound of one track on the output's clock: 48 kHz stereo, interleaved, `Float` with full scale 1.
///
/// Stretches of sound come in with the position that their timestamps ask for and go out as one unbroken line of
/// samples:
/// - a stretch that begins where the one before ended (within `driftTolerance`) is joined to it sample by sample. What
///   is left as an error is worked off by stretching or shrinking the sound by at most 0.5 % (5 ms per second), so
///   that a publisher's clock may run wrong by far more than crystals do and nothing is ever skipped. Where positions
///   jump within that tolerance, the two are cross-faded, since sound may be missing in between;
/// - any other stretch is anchored anew at the position that it asks for, with a fade of 5 ms;
/// - where sound ends, its last 5 ms are mirrored and faded out behind the end, so that there is no click and no need
///   to know beforehand that it ends; then there is exact silence;
/// - what comes too late for the reader, or lies beyond the end of the buffer, is dropped and counted.
///
/// The output depends only on the stretches and their order, not on how calls of `insert` and `read` are interleaved,
/// as long as every stretch comes before the reader gets to the end of the one before it. Memory is bounded and nothing is allocated after
/// `init`. Confined to one thread at a time.
public final class AudioTrackTimeline {
  /// Samples per second.
  public static let sampleRate = 48_000
  /// Errors below this many samples are worked off slowly, others lead to a new anchor: 40 ms.
  public static let driftTolerance: Int64 = 1920
  /// From this many samples on, a position that does not continue the one before may mean that sound is missing:
  /// 2.5 ms, the shortest Opus frame.
  public static let jumpSamples: Int64 = 120
  /// Length of the fades, samples: 5 ms.
  public static let fadeSamples = 240

  /// What happened so far.
  public struct Statistics: Hashable, Sendable {
    /// Times that sound began anew: the first stretch, after silence, and when timestamps jumped.
    public var anchors = 0
    /// Times that a stretch was joined with a cross-fade, as its position did not continue the one before.
    public var softJoins = 0
    /// Samples dropped because the reader had been there already.
    public var lateSamples = 0
    /// Samples dropped because they lay beyond the end of the buffer.
    public var overflowSamples = 0
    /// Samples that stretching has added (positive) or shrinking has taken away (negative), net.
    public var correctedSamples = 0
  }

  /// What happened so far.
  public private(set) var statistics = Statistics()
  /// The next sample that `read` gives out.
  public private(set) var readPosition: Int64
  /// Samples that the buffer holds, from `readPosition` on.
  public let capacity: Int
  /// How far the actual position of the latest stretch is from the one that it asked for, samples; positive when it
  /// asked for a later one.
  public private(set) var positionError: Int64 = 0

  // A ring of stereo samples: position p is at p modulo `ringSize`. What has been read is zero again, so sound is
  // always added to what is there.
  private let ring: UnsafeMutablePointer<Float>
  private let ringSize: Int
  // The last samples that were written, for the mirrored end; in order, `tailCount` of them.
  private let tail: UnsafeMutablePointer<Float>
  private var tailCount = 0
  private let scratch: UnsafeMutablePointer<Float>
  // The last samples of the input before resampling, for interpolation across stretches.
  private var last = (Float(0), Float(0), Float(0), Float(0))
  // Where the next sample of the current stretch of sound goes; meaningful while `isOpen`.
  private var writePosition: Int64 = 0
  private var isOpen = false
  // Where the next stretch should ask to be, if nothing is missing before it.
  private var expectedPosition: Int64 = 0
  // Behind the last sample of the ring that may be other than zero.
  private var writtenEnd: Int64
  private var fadeInLeft = 0
  private var drift = DriftCorrector()

  /// The longest stretch that is taken as one: 120 ms, the longest Opus packet. Longer ones are cut.
  static let longestStretch = 5760

  /// Makes a timeline whose first sample read is `position`, with room for `capacity` samples (at least 250 ms).
  public init(position: Int64 = 0, capacity: Int = 96_000) {
    self.capacity = max(12_000, capacity)
    readPosition = position
    writtenEnd = position
    // Room for a fade behind the last sample.
    ringSize = self.capacity + Self.fadeSamples
    ring = .allocate(capacity: ringSize * 2)
    ring.initialize(repeating: 0, count: ringSize * 2)
    tail = .allocate(capacity: Self.fadeSamples * 2)
    tail.initialize(repeating: 0, count: Self.fadeSamples * 2)
    scratch = .allocate(capacity: (Self.longestStretch + 64) * 2)
    scratch.initialize(repeating: 0, count: (Self.longestStretch + 64) * 2)
  }

  deinit {
    ring.deallocate()
    tail.deallocate()
    scratch.deallocate()
  }

  /// Adds decoded sound.
  ///
  /// - Parameters:
  ///   - samples: interleaved stereo; an odd last float is ignored. Values that are no numbers become silence.
  ///   - position: where its first sample belongs on the output's clock, as its timestamp says.
  public func insert(_ samples: UnsafeBufferPointer<Float>, at position: Int64) {
    guard position.magnitude < 1 << 60 else { return }
    var offset = 0
    let count = samples.count / 2
    while offset < count {
      let length = min(Self.longestStretch, count - offset)
      let part = UnsafeBufferPointer(rebasing: samples[(offset * 2)..<((offset + length) * 2)])
      insertStretch(part, count: length, at: position &+ Int64(offset))
      offset += length
    }
  }

  /// Gives out the next samples and moves on. Allocates nothing.
  ///
  /// - Parameter output: interleaved stereo; all of it is overwritten, an odd last float is left alone.
  public func read(into output: UnsafeMutableBufferPointer<Float>) {
    guard let base = output.baseAddress else { return }
    var done = 0
    let count = output.count / 2
    while done < count {
      let length = min(count - done, capacity)
      closeIfReached(readPosition &+ Int64(length))
      var from = slot(readPosition)
      var left = length
      var to = base + done * 2
      while left > 0 {
        let run = min(left, ringSize - from)
        to.update(from: ring + from * 2, count: run * 2)
        (ring + from * 2).update(repeating: 0, count: run * 2)
        to += run * 2
        left -= run
        from = 0
      }
      readPosition &+= Int64(length)
      done += length
    }
  }

  /// Moves on by so many samples as `read` does, throwing the sound away.
  func skip(_ count: Int) {
    guard count > 0 else { return }
    if !isDrained {
      closeIfReached(readPosition &+ Int64(count))
      for offset in 0..<min(count, ringSize) {
        let index = slot(readPosition &+ Int64(offset)) * 2
        ring[index] = 0
        ring[index + 1] = 0
      }
    }
    readPosition &+= Int64(count)
  }

  /// True when everything that was inserted has been read.
  public var isDrained: Bool { !isOpen && readPosition >= writtenEnd }

  /// Samples that were given and will not be read.
  var dropped: Int { statistics.lateSamples + statistics.overflowSamples }

  // MARK: - Placing

  private func insertStretch(_ samples: UnsafeBufferPointer<Float>, count: Int, at position: Int64) {
    if position &+ Int64(count) <= readPosition {
      // Wholly late: nothing that is still to be read may be disturbed by it.
      statistics.lateSamples &+= count
      return
    }
    if isOpen {
      positionError = position &- writePosition
      if positionError.magnitude < UInt64(Self.driftTolerance) {
        if (position &- expectedPosition).magnitude >= UInt64(Self.jumpSamples) {
          // Either sound is missing here, or only the clock was corrected. Both are heard as one line in this way.
          statistics.softJoins &+= 1
          addMirroredEnd()
          fadeInLeft = Self.fadeSamples
        }
        expectedPosition = position &+ Int64(count)
        write(resample(samples, count: count, change: drift.change(error: positionError, count: count)))
        return
      }
      if position >= writePosition { close() }
    }
    // Anchored anew. Sound that lies there already gives way within one fade.
    fadeOutWritten(from: max(position, readPosition))
    positionError = 0
    statistics.anchors &+= 1
    drift = DriftCorrector()
    isOpen = true
    writePosition = position
    expectedPosition = position &+ Int64(count)
    fadeInLeft = Self.fadeSamples
    tailCount = 0
    last = (0, 0, 0, 0)
    write(resample(samples, count: count, change: 0))
  }

  /// Fills `scratch` with the stretch made longer by `change` samples; returns its new length.
  private func resample(_ samples: UnsafeBufferPointer<Float>, count: Int, change: Int) -> Int {
    guard let input = samples.baseAddress, count > 0 else { return 0 }
    let length = max(1, count + change)
    if length == count {
      for index in 0..<(count * 2) { scratch[index] = clean(input[index]) }
    } else {
      stretch(input, count: count, to: length)
      statistics.correctedSamples &+= length - count
    }
    let lastIndex = (count - 1) * 2
    let beforeLast = max(0, count - 2) * 2
    last = (
      clean(input[beforeLast]), clean(input[beforeLast + 1]), clean(input[lastIndex]), clean(input[lastIndex + 1])
    )
    return length
  }

  /// Catmull-Rom interpolation of the stretch, seen as continuing from the last sample before it: output k of n lies
  /// at input (k + 1) * count / n - 1, so the last one is the stretch's own last sample and the next stretch joins on.
  private func stretch(_ input: UnsafePointer<Float>, count: Int, to length: Int) {
    for channel in 0..<2 {
      let before2 = channel == 0 ? last.0 : last.1
      let before1 = channel == 0 ? last.2 : last.3
      func sample(_ index: Int) -> Float {
        if index >= count {
          // The stretch that follows isn't there yet: a straight line stands for it.
          let end = clean(input[(count - 1) * 2 + channel])
          return count < 2 ? end : 2 * end - clean(input[(count - 2) * 2 + channel])
        }
        if index >= 0 { return clean(input[index * 2 + channel]) }
        return index == -1 ? before1 : before2
      }
      for k in 0..<length {
        let scaled = (k + 1) * count
        let whole = scaled / length
        let t = Float(scaled - whole * length) / Float(length)
        let index = whole - 1
        let p0 = sample(index - 1)
        let p1 = sample(index)
        let p2 = sample(index + 1)
        let p3 = sample(index + 2)
        let a = -0.5 * p0 + 1.5 * p1 - 1.5 * p2 + 0.5 * p3
        let b = p0 - 2.5 * p1 + 2 * p2 - 0.5 * p3
        let c = 0.5 * (p2 - p0)
        scratch[k * 2 + channel] = ((a * t + b) * t + c) * t + p1
      }
    }
  }

  /// Adds `length` samples of `scratch` to the ring at `writePosition`, what fits of them, and moves on.
  private func write(_ length: Int) {
    var first = 0
    if writePosition < readPosition {
      // What remains begins in the middle of sound, so it fades in from there.
      first = Int(min(Int64(length), readPosition &- writePosition))
      statistics.lateSamples &+= first
    }
    let room = readPosition &+ Int64(capacity) &- writePosition
    let stop = max(first, Int(min(Int64(length), max(0, room))))
    if stop > first {
      fadeIn(from: first, to: stop)
      add(scratch + first * 2, count: stop - first, at: writePosition &+ Int64(first))
      remember(from: first, to: stop)
      writtenEnd = max(writtenEnd, writePosition &+ Int64(stop))
    }
    writePosition &+= Int64(stop)
    if stop < length {
      statistics.overflowSamples &+= length - stop
      close()
    }
  }

  private func fadeIn(from first: Int, to stop: Int) {
    guard fadeInLeft > 0 else { return }
    let steps = min(fadeInLeft, stop - first)
    for step in 0..<steps {
      let gain = (Float(Self.fadeSamples - fadeInLeft + step) + 0.5) / Float(Self.fadeSamples)
      scratch[(first + step) * 2] *= gain
      scratch[(first + step) * 2 + 1] *= gain
    }
    fadeInLeft -= steps
  }

  /// Keeps the last samples written, for the mirrored end.
  private func remember(from first: Int, to stop: Int) {
    let taken = min(stop - first, Self.fadeSamples)
    let kept = min(tailCount, Self.fadeSamples - taken)
    // Moves down within the same block, lowest first.
    for index in 0..<(kept * 2) { tail[index] = tail[(tailCount - kept) * 2 + index] }
    (tail + kept * 2).update(from: scratch + (stop - taken) * 2, count: taken * 2)
    tailCount = kept + taken
  }

  // MARK: - Ending

  /// Ends the sound when the reader is about to go beyond what has been written.
  private func closeIfReached(_ position: Int64) {
    if isOpen, writePosition < position { close() }
  }

  /// Ends the sound at `writePosition` with its mirrored end.
  private func close() {
    isOpen = false
    addMirroredEnd()
  }

  private func addMirroredEnd() {
    for step in 0..<tailCount {
      let gain = (Float(tailCount - step) - 0.5) / Float(tailCount)
      let from = (tailCount - 1 - step) * 2
      scratch[step * 2] = tail[from] * gain
      scratch[step * 2 + 1] = tail[from + 1] * gain
    }
    let late = max(0, readPosition &- writePosition)
    guard late < Int64(tailCount) else { return }
    add(scratch + Int(late) * 2, count: tailCount - Int(late), at: writePosition &+ late)
    writtenEnd = max(writtenEnd, writePosition &+ Int64(tailCount))
  }

  /// Fades out whatever has been written from `position` on, not before `readPosition`, and takes the rest away.
  private func fadeOutWritten(from position: Int64) {
    guard position < writtenEnd else { return }
    for step in 0..<Int(writtenEnd &- position) {
      let gain = max(0, (Float(Self.fadeSamples - step) - 0.5) / Float(Self.fadeSamples))
      let index = slot(position &+ Int64(step)) * 2
      ring[index] *= gain
      ring[index + 1] *= gain
    }
    writtenEnd = min(writtenEnd, position &+ Int64(Self.fadeSamples))
  }

  // MARK: - Ring

  private func add(_ samples: UnsafePointer<Float>, count: Int, at position: Int64) {
    // Behind everything that was written there are zeros only, which is the usual case.
    let isFresh = position >= writtenEnd
    var from = samples
    var left = count
    var to = slot(position)
    while left > 0 {
      let run = min(left, ringSize - to)
      let target = ring + to * 2
      if isFresh {
        target.update(from: from, count: run * 2)
      } else {
        for index in 0..<(run * 2) { target[index] += from[index] }
      }
      from += run * 2
      left -= run
      to = 0
    }
  }

  private func slot(_ position: Int64) -> Int {
    let rest = Int(position % Int64(ringSize))
    return rest < 0 ? rest + ringSize : rest
  }
}

/// The sample, or silence for what is no number (comparisons with it are false) or far beyond full scale.
@inline(__always)
private func clean(_ value: Float) -> Float { value.magnitude <= 8 ? value : 0 }
