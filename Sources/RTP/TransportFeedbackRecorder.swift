import MediaCore

/// The receiver's side of transport-wide congestion control: remembers when the packets of one transport arrived and
/// makes feedback messages of it (draft-holmer-rmcat-transport-wide-cc-extensions-01).
public struct TransportFeedbackRecorder: Sendable {
  /// Time from one message to the next.
  public var interval = Duration.milliseconds(100)
  /// Most packets that one message tells about, so that a message stays below 1200 bytes.
  static let maximumSpan: Int64 = 380
  private static let capacity: Int64 = 4096

  private let sender: SSRC
  private var media: SSRC?
  private var unwrapper = SequenceUnwrapper()
  // Arrival times by sequence number; `numbers` says whose time it is.
  private var numbers: [Int64]
  private var times: [Instant]
  private var next: Int64?
  private var highest: Int64 = 0
  private var feedbackCount: UInt8 = 0
  private var lastSent: Instant?

  /// A recorder that reports as `sender`.
  public init(sender: SSRC) {
    self.sender = sender
    numbers = Array(repeating: .min, count: Int(TransportFeedbackRecorder.capacity))
    times = Array(repeating: .distantPast, count: Int(TransportFeedbackRecorder.capacity))
  }

  private static func slot(_ number: Int64) -> Int { Int(number & (capacity - 1)) }

  /// Notes the arrival of a packet of any stream of the transport, at `now`.
  public mutating func received(transportSequence: UInt16, ssrc: SSRC, at now: Instant) {
    media = ssrc
    let number = unwrapper.unwrap(transportSequence)
    guard let next else {
      self.next = number
      highest = number
      lastSent = lastSent ?? now
      note(number, now)
      return
    }
    if number <= highest - TransportFeedbackRecorder.capacity { return }
    if number < next {
      // Overtaken by others and reported as missing: report again from here.
      guard next - number <= 500, numbers[TransportFeedbackRecorder.slot(number)] != number else { return }
      self.next = number
    }
    highest = max(highest, number)
    if highest - (self.next ?? number) >= TransportFeedbackRecorder.capacity {
      self.next = highest - TransportFeedbackRecorder.capacity + 1
    }
    note(number, now)
  }

  private mutating func note(_ number: Int64, _ now: Instant) {
    let slot = TransportFeedbackRecorder.slot(number)
    guard numbers[slot] != number else { return }
    numbers[slot] = number
    times[slot] = now
  }

  /// When the next message is due; nil when there is nothing to report.
  public var deadline: Instant? {
    guard let next, next <= highest else { return nil }
    return (lastSent ?? .distantPast) + interval
  }

  /// The next message when it is due at `now`; call until it answers nil. A long time since the last message, or
  /// many packets, make several messages.
  public mutating func poll(at now: Instant) -> TransportFeedback? {
    guard let deadline, now >= deadline else { return nil }
    return flush(at: now)
  }

  /// The next message about what has arrived so far, due or not; nil when there is nothing to report.
  public mutating func flush(at now: Instant) -> TransportFeedback? {
    guard let first = next, let media, first <= highest else { return nil }
    let last = min(highest, first + TransportFeedbackRecorder.maximumSpan - 1)
    var arrivals: [TransportFeedback.Arrival] = []
    var reference: Int64?
    var before: Int64 = 0
    var end = first
    let deltaUnit = TransportFeedback.deltaUnit.nanoseconds
    let referenceUnit = TransportFeedback.referenceUnit.nanoseconds
    for number in first...last {
      let slot = TransportFeedbackRecorder.slot(number)
      guard numbers[slot] == number else { continue }
      let units = times[slot].nanoseconds / deltaUnit
      if reference == nil {
        reference = times[slot].nanoseconds / referenceUnit
        before = (reference ?? 0) * (referenceUnit / deltaUnit)
      }
      guard let delta = Int16(exactly: units - before) else { break }
      before = units
      arrivals.append(
        TransportFeedback.Arrival(sequenceNumber: UInt16(truncatingIfNeeded: number), delta: delta))
      end = number + 1
    }
    guard let reference, !arrivals.isEmpty else {
      // A stretch without any arrival has no reference time; it is told as the head of a later message.
      next = last + 1
      return last < highest ? flush(at: now) : nil
    }
    let feedback = TransportFeedback(
      sender: sender, media: media, baseSequenceNumber: UInt16(truncatingIfNeeded: first),
      statusCount: UInt16(truncatingIfNeeded: end - first),
      referenceTime: Int32(truncatingIfNeeded: (reference << 40) >> 40), feedbackCount: feedbackCount,
      arrivals: arrivals)
    feedbackCount &+= 1
    next = end
    if end > highest { lastSent = now }
    return feedback
  }
}
