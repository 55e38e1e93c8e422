import MediaCore

/// How much reaches one subscriber: its own estimate (REMB, draft-alvestrand-rmcat-remb-03) and the losses that it
/// reports, against what is sent to it. Pure: times are arguments.
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
  static let estimateLife = Duration.seconds(4)
  /// How long an estimate must stay too low.
  static let patience = Duration.milliseconds(400)
  /// After a step down: how long until the next one, for the queues in the network must drain first.
  static let settling = Duration.milliseconds(1500)
  /// The first wait before more is tried.
  static let shortestHold = Duration.seconds(4)
  /// The longest wait before more is tried.
  static let longestHold = Duration.seconds(60)
  /// An attempt that went well for so long has succeeded.
  static let trialTime = Duration.seconds(5)
  /// Below this nothing is limited: a few bits of sound flow anyway.
  static let least = 30_000
  /// The share of packets lost above which congestion is suspected.
  static let suspiciousLoss = 0.12
  /// The share of packets lost that shows that a low estimate is right.
  static let provingLoss = 0.02
  /// So much longer than the shortest ones round trips take when a queue stands in the network.
  static let standingQueue = Duration.milliseconds(60)
  /// An estimate that has grown to less than this share of itself in `trendTime` doesn't rise.
  static let rise = 1.1
  /// The time over which the estimate's trend is seen.
  static let trendTime = Duration.seconds(2)
  /// The shortest round trip is forgotten slowly, for routes change: so much for each second.
  static let baselineDrift = Duration.milliseconds(2)
  /// How long losses are ignored after sending less was no help.
  static let lossPardon = Duration.seconds(120)

  private var estimate: (bits: Int, at: Instant)?
  /// Estimates of the last `trendTime` and the one before, the oldest first.
  private var trend: [(bits: Int, at: Instant)] = []
  private var roundTrip: (now: Duration, shortest: Duration, at: Instant)?
  private var lowSince: Instant?
  private var changedAt = Instant.distantPast
  /// The attempt that is under way: what would be sent, what was sent before, since when.
  private var trial: (level: Int, safe: Int, at: Instant)?
  /// The lowest attempt that failed, and how long to wait before such a one is made again.
  private var failure: (level: Int, hold: Duration)?
  private var loss = 0.0
  private var lossSince: Instant?
  private var lossBefore: (fraction: Double, at: Instant)?
  private var lossIgnoredUntil = Instant.distantPast

  /// Without a limit.
  init() {}

  /// The subscriber's estimate of what it can receive in all.
  mutating func note(estimate bits: UInt64, now: Instant) {
    let bits = Int(clamping: bits)
    if let estimate, now - estimate.at > Self.estimateLife { trend.removeAll() }
    estimate = (bits, now)
    if let newest = trend.last, now - newest.at < Self.trendTime / 16 { return }
    while trend.count > 1, now - trend[1].at >= Self.trendTime { trend.removeFirst() }
    trend.append((bits, now))
  }

  /// False when the estimate has stopped rising; true also while that can't be said.
  private func isRising(at now: Instant) -> Bool {
    guard let estimate, let oldest = trend.first, now - oldest.at >= Self.trendTime else { return true }
    return Double(estimate.bits) > Double(oldest.bits) * Self.rise
  }

  /// The round trip to the subscriber, by the newest reports; nil while it isn't known.
  mutating func note(roundTrip time: Duration?, now: Instant) {
    guard let time else { return }
    var shortest = time
    if let roundTrip {
      let drift = Self.baselineDrift * max(.zero, now - roundTrip.at).microseconds / 1_000_000
      shortest = min(time, roundTrip.shortest + drift)
    }
    roundTrip = (time, shortest, now)
  }

  /// What reaches the subscriber when more is sent than that, as far as it is proven; nil when it isn't.
  private func proven(sent: Int, now: Instant) -> Int? {
    let isLosing = loss > Self.provingLoss
    let isQueueing = roundTrip.map { $0.now - $0.shortest > Self.standingQueue } ?? false
    guard sent > Self.least, isLosing || isQueueing else { return nil }
    if let estimate, now - estimate.at <= Self.estimateLife, estimate.bits < sent / 10 * 9, !isRising(at: now) {
      return estimate.bits
    }
    // A queue that is full: it doesn't grow any more, and only growing ones lower an estimate. Whoever never sent one
    // decides for itself what it takes.
    return isLosing && isQueueing && estimate != nil ? Int(Double(sent) * (1 - loss)) : nil
  }

  /// The share of packets that didn't arrive, of all streams together, by the newest reports.
  mutating func note(loss fraction: Double, now: Instant) {
    loss = fraction
    if fraction > Self.suspiciousLoss { lossSince = lossSince ?? now } else { lossSince = nil }
  }

  /// Looks at what was sent lately (bits per second) and at what would be sent with the next step up (nil when nothing
  /// more is wanted). True when the limit changed.
  mutating func update(sent: Int, nextStep: Int?, now: Instant) -> Bool {
    let before = limit
    let proven = proven(sent: sent, now: now)
    lowSince = proven == nil ? nil : lowSince ?? now
    if let lowSince, let proven, now - lowSince >= Self.patience, now - changedAt >= Self.settling {
      stepDown(to: proven / 10 * 9, now: now)
      allowsPauses = true
    } else {
      watchLoss(sent: sent, now: now)
    }
    if limit != nil, lowSince == nil { stepUp(sent: sent, nextStep: nextStep, now: now) }
    return limit != before
  }

  private mutating func stepDown(to bits: Int, now: Instant) {
    var target = min(limit ?? .max, bits)
    if let trial, now - trial.at < Self.trialTime {
      // The attempt was too much; what flowed before it was not, unless the network has become much worse meanwhile.
      failure = (trial.level, min((failure?.hold ?? Self.shortestHold) * 2, Self.longestHold))
      if bits > trial.safe / 2 { target = max(target, trial.safe / 20 * 21) }
    }
    trial = nil
    limit = max(Self.least, target)
    changedAt = now
    lowSince = nil
  }

  private mutating func watchLoss(sent: Int, now: Instant) {
    if let lossBefore, now - lossBefore.at >= Self.settling * 2 {
      self.lossBefore = nil
      if loss > lossBefore.fraction * 0.7 {
        lossIgnoredUntil = now + Self.lossPardon
        if !allowsPauses { limit = nil }
        changedAt = now
      }
    }
    guard let lossSince, lossBefore == nil, now > lossIgnoredUntil, now - lossSince >= Self.settling,
      now - changedAt >= Self.settling, sent > Self.least
    else { return }
    lossBefore = (loss, now)
    stepDown(to: Int(Double(sent) * max(0.5, 1 - loss)), now: now)
  }

  private mutating func stepUp(sent: Int, nextStep: Int?, now: Instant) {
    guard let limit else { return }
    if let trial {
      guard now - trial.at >= Self.trialTime else { return }
      if let failure, trial.level >= failure.level / 10 * 9 { self.failure = nil }
      self.trial = nil
    }
    guard let nextStep else {
      guard now - changedAt >= Self.shortestHold else { return }
      // Everything fits.
      self.limit = nil
      allowsPauses = false
      failure = nil
      return
    }
    let isLikeFailure = failure.map { nextStep >= $0.level / 10 * 9 } ?? false
    guard now - changedAt >= (isLikeFailure ? failure?.hold ?? Self.shortestHold : Self.shortestHold) else { return }
    // A little more than the step, for the measured rates sway.
    self.limit = max(limit, nextStep / 10 * 11)
    changedAt = now
    trial = (nextStep, sent, now)
  }
}

extension Downlink: CustomStringConvertible {
  /// What its limit comes from, for the log.
  var description: String {
    "estimate \(estimate.map { "\($0.bits / 1000) kbit/s" } ?? "none"), loss \(Int(loss * 1000)) per mille, round trip \(roundTrip.map { "\($0.now.milliseconds) ms (\($0.shortest.milliseconds))" } ?? "unknown"), \(allowsPauses ? "pauses" : "no pauses")"
  }
}
