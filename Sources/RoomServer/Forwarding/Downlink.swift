/// How much reaches one subscriber: its own estimate (REMB, draft-alvestrand-rmcat-remb-03) and the losses that it
/// reports, against what is sent to it. Pure: times are arguments, in nanoseconds on one steady clock.
///
/// While all is well there is no limit, whatever the estimate says. libwebrtc's estimate begins five seconds after the
/// first packet with what came in just then, rises by 8 % a second at most, and doesn't go far above what comes: it may
/// lie far below what is sent without anything being wrong. It says something when it no longer rises, and even then a
/// receiver may just be short of processor time. It is believed when the network shows it too: packets are lost, or
/// round trips take longer than they did, for a queue stands somewhere; both together need no low estimate, but one of
/// any kind: a subscriber that sends none decides for itself what it takes. Then the limit follows the estimate, and
/// streams may be paused to keep it; later, step by step, more is tried, with longer waits after each failure.
///
/// Losses without such an estimate are taken for congestion only if sending less makes them fewer: a wireless
/// network that just loses packets gains nothing from a smaller picture. They never pause anything alone.
struct Downlink {
  /// Bits per second that may be sent; nil for no limit.
  private(set) var limit: Int?
  /// Whether streams may be paused to keep the limit; else they only become smaller.
  private(set) var allowsPauses = false

  /// How long an estimate counts.
  static let estimateLife: Int64 = 4_000_000_000
  /// How long an estimate must stay too low.
  static let patience: Int64 = 400_000_000
  /// After a step down: how long until the next one, for the queues in the network must drain first.
  static let settling: Int64 = 1_500_000_000
  /// The first wait before more is tried.
  static let shortestHold: Int64 = 4_000_000_000
  /// The longest wait before more is tried.
  static let longestHold: Int64 = 60_000_000_000
  /// An attempt that went well for so long has succeeded.
  static let trialTime: Int64 = 5_000_000_000
  /// Below this nothing is limited: a few bits of sound flow anyway.
  static let least = 30_000
  /// The share of packets lost above which congestion is suspected.
  static let suspiciousLoss = 0.12
  /// The share of packets lost that shows that a low estimate is right.
  static let provingLoss = 0.02
  /// So much longer than the shortest ones round trips take when a queue stands in the network, in nanoseconds.
  static let standingQueue: Int64 = 60_000_000
  /// An estimate that has grown to less than this share of itself in `trendTime` doesn't rise.
  static let rise = 1.1
  /// The time over which the estimate's trend is seen, in nanoseconds.
  static let trendTime: Int64 = 2_000_000_000
  /// The shortest round trip is forgotten slowly, for routes change: nanoseconds for each second.
  static let baselineDrift: Int64 = 2_000_000
  /// How long losses are ignored after sending less was no help.
  static let lossPardon: Int64 = 120_000_000_000

  private var estimate: (bits: Int, at: Int64)?
  /// Estimates of the last `trendTime` and the one before, the oldest first.
  private var trend: [(bits: Int, at: Int64)] = []
  private var roundTrip: (now: Int64, shortest: Int64, at: Int64)?
  private var lowSince: Int64?
  private var changedAt: Int64 = .min / 2
  /// The attempt that is under way: what would be sent, what was sent before, since when.
  private var trial: (level: Int, safe: Int, at: Int64)?
  /// The lowest attempt that failed, and how long to wait before such a one is made again.
  private var failure: (level: Int, hold: Int64)?
  private var loss = 0.0
  private var lossSince: Int64?
  private var lossBefore: (fraction: Double, at: Int64)?
  private var lossIgnoredUntil: Int64 = .min

  /// Without a limit.
  init() {}

  /// The subscriber's estimate of what it can receive in all.
  mutating func note(estimate bits: UInt64, now: Int64) {
    let bits = Int(clamping: bits)
    if let estimate, now &- estimate.at > Self.estimateLife { trend.removeAll() }
    estimate = (bits, now)
    if let newest = trend.last, now &- newest.at < Self.trendTime / 16 { return }
    while trend.count > 1, now &- trend[1].at >= Self.trendTime { trend.removeFirst() }
    trend.append((bits, now))
  }

  /// False when the estimate has stopped rising; true also while that can't be said.
  private func isRising(at now: Int64) -> Bool {
    guard let estimate, let oldest = trend.first, now &- oldest.at >= Self.trendTime else { return true }
    return Double(estimate.bits) > Double(oldest.bits) * Self.rise
  }

  /// The round trip to the subscriber in nanoseconds, by the newest reports; nil while it isn't known.
  mutating func note(roundTrip time: Int64?, now: Int64) {
    guard let time else { return }
    var shortest = time
    if let roundTrip {
      let drift = max(0, now &- roundTrip.at) / 1_000 &* Self.baselineDrift / 1_000_000
      shortest = min(time, roundTrip.shortest &+ drift)
    }
    roundTrip = (time, shortest, now)
  }

  /// What reaches the subscriber when more is sent than that, as far as it is proven; nil when it isn't.
  private func proven(sent: Int, now: Int64) -> Int? {
    let isLosing = loss > Self.provingLoss
    let isQueueing = roundTrip.map { $0.now &- $0.shortest > Self.standingQueue } ?? false
    guard sent > Self.least, isLosing || isQueueing else { return nil }
    if let estimate, now &- estimate.at <= Self.estimateLife, estimate.bits < sent / 10 * 9, !isRising(at: now) {
      return estimate.bits
    }
    // A queue that is full: it doesn't grow any more, and only growing ones lower an estimate. Whoever never sent one
    // decides for itself what it takes.
    return isLosing && isQueueing && estimate != nil ? Int(Double(sent) * (1 - loss)) : nil
  }

  /// The share of packets that didn't arrive, of all streams together, by the newest reports.
  mutating func note(loss fraction: Double, now: Int64) {
    loss = fraction
    if fraction > Self.suspiciousLoss { lossSince = lossSince ?? now } else { lossSince = nil }
  }

  /// Looks at what was sent lately (bits per second) and at what would be sent with the next step up (nil when nothing
  /// more is wanted). True when the limit changed.
  mutating func update(sent: Int, nextStep: Int?, now: Int64) -> Bool {
    let before = limit
    let proven = proven(sent: sent, now: now)
    lowSince = proven == nil ? nil : lowSince ?? now
    if let lowSince, let proven, now &- lowSince >= Self.patience, now &- changedAt >= Self.settling {
      stepDown(to: proven / 10 * 9, now: now)
      allowsPauses = true
    } else {
      watchLoss(sent: sent, now: now)
    }
    if limit != nil, lowSince == nil { stepUp(sent: sent, nextStep: nextStep, now: now) }
    return limit != before
  }

  private mutating func stepDown(to bits: Int, now: Int64) {
    var target = min(limit ?? .max, bits)
    if let trial, now &- trial.at < Self.trialTime {
      // The attempt was too much; what flowed before it was not, unless the network has become much worse meanwhile.
      failure = (trial.level, min((failure?.hold ?? Self.shortestHold) * 2, Self.longestHold))
      if bits > trial.safe / 2 { target = max(target, trial.safe / 20 * 21) }
    }
    trial = nil
    limit = max(Self.least, target)
    changedAt = now
    lowSince = nil
  }

  private mutating func watchLoss(sent: Int, now: Int64) {
    if let lossBefore, now &- lossBefore.at >= 2 * Self.settling {
      self.lossBefore = nil
      if loss > lossBefore.fraction * 0.7 {
        lossIgnoredUntil = now &+ Self.lossPardon
        if !allowsPauses { limit = nil }
        changedAt = now
      }
    }
    guard let lossSince, lossBefore == nil, now > lossIgnoredUntil, now &- lossSince >= Self.settling,
      now &- changedAt >= Self.settling, sent > Self.least
    else { return }
    lossBefore = (loss, now)
    stepDown(to: Int(Double(sent) * max(0.5, 1 - loss)), now: now)
  }

  private mutating func stepUp(sent: Int, nextStep: Int?, now: Int64) {
    guard let limit else { return }
    if let trial {
      guard now &- trial.at >= Self.trialTime else { return }
      if let failure, trial.level >= failure.level / 10 * 9 { self.failure = nil }
      self.trial = nil
    }
    guard let nextStep else {
      guard now &- changedAt >= Self.shortestHold else { return }
      // Everything fits.
      self.limit = nil
      allowsPauses = false
      failure = nil
      return
    }
    let isLikeFailure = failure.map { nextStep >= $0.level / 10 * 9 } ?? false
    guard now &- changedAt >= (isLikeFailure ? failure?.hold ?? Self.shortestHold : Self.shortestHold) else { return }
    // A little more than the step, for the measured rates sway.
    self.limit = max(limit, nextStep / 10 * 11)
    changedAt = now
    trial = (nextStep, sent, now)
  }
}

extension Downlink: CustomStringConvertible {
  /// What its limit comes from, for the log.
  var description: String {
    "estimate \(estimate.map { "\($0.bits / 1000) kbit/s" } ?? "none"), loss \(Int(loss * 1000)) per mille, round trip \(roundTrip.map { "\($0.now / 1_000_000) ms (\($0.shortest / 1_000_000))" } ?? "unknown"), \(allowsPauses ? "pauses" : "no pauses")"
  }
}
