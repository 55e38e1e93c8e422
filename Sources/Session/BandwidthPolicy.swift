import MediaCore

/// Decides how many videos the connection can carry. Pure: what it says depends only on the reports and their times.
///
/// The connection counts as too narrow when packets stand in a queue on the way, with loss (a full queue) or for long
/// (a deep one). Loss alone does not count: it is repaired by retransmission, and fewer pictures would not cure it.
/// Then only as many videos may come as fit into nine tenths of what came, each as large as it was before.
/// Recovery is tried step by step, and the longer the more often it has failed.
public struct BandwidthPolicy: Sendable {
  /// The numbers of the policy.
  public struct Settings: Sendable, Hashable {
    /// A queue of this length, together with loss, is a sign of congestion…
    public var queueDelay = Duration.milliseconds(50)
    /// …from this loss on, in 1/1000.
    public var lossPerMille = 20
    /// A queue of this length is one without any loss.
    public var longQueueDelay = Duration.milliseconds(250)
    /// So many reports in a row must say so; one while a step up is being tried, since that is what it is made for.
    public var reports = 2
    /// After a reduction, nothing more is decided for so long: the queue must drain first.
    public var settling = Duration.seconds(4)
    /// After so long without congestion, more videos are tried.
    public var recovery = Duration.seconds(5)
    /// The next step follows after so long without congestion.
    public var nextStep = Duration.seconds(4)
    /// `recovery` doubles with each step that failed, up to this.
    public var longestRecovery = Duration.seconds(120)

    /// The defaults.
    public init() {}
  }

  private let settings: Settings
  /// How many videos may come; nil: all.
  public private(set) var limit: Int?
  private var congested = 0
  private var settledAt = SessionTime.zero
  private var goodSince: SessionTime?
  /// When the last step up was made; nil when it has proved good, or none was made.
  private var triedAt: SessionTime?
  private var recovery: Duration
  /// What a video takes, bits a second, a running mean; 0 when unknown.
  private var streamRate: Int64 = 0
  private var bandwidth: Int64 = 0
  private var told: Int?

  /// Starts without a limit.
  public init(settings: Settings = Settings()) {
    self.settings = settings
    recovery = settings.recovery
  }

  /// Takes a report. `videos`: how many there are that should be received now.
  public mutating func update(_ report: NetworkReport, videos: Int, at now: SessionTime) {
    bandwidth = report.estimate ?? report.incoming
    if report.flowingVideos > 0 {
      let rate = report.incomingVideo / Int64(report.flowingVideos)
      // While packets stand in a queue, less comes of a video than it takes: the rest is dropped, or sent again.
      if streamRate == 0 {
        streamRate = rate
      } else if report.queueDelay < settings.queueDelay || rate > streamRate {
        streamRate += (rate - streamRate) / 4
      }
    }
    let isCongested = isCongested(report)
    congested = isCongested ? congested + 1 : 0
    if isCongested { goodSince = nil } else { goodSince = goodSince ?? now }
    if congested >= (triedAt == nil ? settings.reports : 1), now >= settledAt, videos > 0 {
      reduce(report, videos: videos, at: now)
    } else if let since = goodSince {
      recover(videos: videos, since: since, at: now)
    }
  }

  /// The connection was lost or is back: what was measured before says nothing any more; the limit stays.
  public mutating func interrupted(at now: SessionTime) {
    congested = 0
    goodSince = nil
    settledAt = now + settings.settling
  }

  /// What has changed since the last alert, if the number of videos that can be received has. `videos` as in `update`;
  /// `paused` of them are held back by the service.
  public mutating func alert(videos: Int, paused: Int) -> BandwidthAlert? {
    let free = max(0, videos - paused)
    let number = min(limit ?? free, free)
    let isLimited = number < videos
    // People who come and go change the number too, but not what can be received.
    let now = isLimited ? number : nil
    guard now != told else { return nil }
    told = now
    return BandwidthAlert(
      bandwidth: Int(bandwidth / 1000), streamBandwidth: Int(streamRate / 1000), numberOfVideos: number,
      isLimited: isLimited)
  }

  private func isCongested(_ report: NetworkReport) -> Bool {
    // The service's own word is late and knows nothing of queues; it makes us look closer.
    let isPoor = report.quality == .poor || report.quality == .lost
    let queue = isPoor ? settings.queueDelay / 2 : settings.queueDelay
    if report.queueDelay >= settings.longQueueDelay { return true }
    return report.queueDelay >= queue && report.lossPerMille >= settings.lossPerMille
  }

  private mutating func reduce(_ report: NetworkReport, videos: Int, at now: SessionTime) {
    let carried = report.incoming / 10 * 9
    let capacity = min(report.estimate ?? carried, carried)
    let current = min(limit ?? videos, videos)
    let fits = streamRate > 0 ? max(0, capacity - report.incomingAudio) / streamRate : 0
    limit = max(0, min(Int(clamping: fits), current - 1))
    congested = 0
    settledAt = now + settings.settling
    if triedAt != nil {
      recovery = min(settings.longestRecovery, recovery + recovery)
      triedAt = nil
    }
  }

  private mutating func recover(videos: Int, since: SessionTime, at now: SessionTime) {
    if let tried = triedAt, now - tried >= settings.recovery {
      triedAt = nil
      recovery = settings.recovery
    }
    guard let limit else { return }
    let began = max(since, settledAt)
    let patience = triedAt == nil ? recovery : settings.nextStep
    guard now - max(began, triedAt ?? began) >= patience else { return }
    let next = limit + max(1, limit / 4)
    triedAt = now
    // With room for all there is nothing left to limit; a step that proves wrong brings the limit back.
    self.limit = next >= videos ? nil : next
  }
}
