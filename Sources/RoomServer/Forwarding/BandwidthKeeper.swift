import MediaCore
import PeerConnection
import Signaling

/// Keeps what one subscriber is sent within what reaches it: chooses smaller simulcast layers, and pauses streams when
/// not even those fit. Sound always flows. Confined to the room's loop.
struct BandwidthKeeper {
  private var downlink = Downlink()
  private var samples: [(at: Instant, bytes: UInt64)] = []
  private var isLimiting = false
  private var sent = 0

  /// How often it looks.
  static let interval = Duration.milliseconds(200)
  /// The time over which the sent bits are measured.
  private static let window = Duration.seconds(1)

  /// No limit yet.
  init() {}

  /// The limit in force, in bits per second; nil when there is none.
  private(set) var limit: Int?

  /// The subscriber's estimate (REMB).
  mutating func note(estimate bits: UInt64, now: Instant) { downlink.note(estimate: bits, now: now) }

  /// Looks at what was sent and what it led to. `imposed` is a limit from outside, `mayPause` whether the subscriber
  /// takes pauses. True when the shares were divided anew: layers must be chosen and stream states told.
  mutating func tick(
    _ subscriptions: [Subscription], bytesSent: UInt64, imposed: Int?, mayPause: Bool, now: Instant
  ) -> Bool {
    sent = rate(bytesSent, now)
    downlink.note(loss: loss(subscriptions), now: now)
    // The shortest of all streams': a single report that came late says nothing of the network.
    downlink.note(roundTrip: subscriptions.compactMap(\.sender.roundTripTime).min(), now: now)
    let videos = subscriptions.filter { $0.publication.kind == .video }
    let audio = subscriptions.reduce(0) { $0 + ($1.publication.kind == .audio ? $1.publication.bitsPerSecond ?? 0 : 0) }
    _ = downlink.update(sent: sent, nextStep: nextStep(videos, now: now).map { $0 + audio }, now: now)
    limit = [downlink.limit, imposed].compactMap { $0 }.min()
    guard let limit else {
      guard isLimiting else { return false }
      isLimiting = false
      for video in videos {
        video.layerLimit = nil
        video.setPaused(false, .congestion)
      }
      return true
    }
    isLimiting = true
    let demands = videos.map { demand(of: $0, isCautious: true, now: now) }
    let pauses = mayPause && (imposed != nil || downlink.allowsPauses)
    let shares = BitrateAllocation.shares(of: demands, budget: max(0, limit - audio), pauses: pauses)
    for (video, share) in zip(videos, shares) {
      switch share {
      case .paused: video.setPaused(true, .congestion)
      case .upTo(let layer):
        video.setPaused(false, .congestion)
        video.layerLimit = layer
      }
    }
    return true
  }

  /// Bits per second over the last second.
  private mutating func rate(_ bytes: UInt64, _ now: Instant) -> Int {
    samples.append((now, bytes))
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
    guard let first = samples.first, now > first.at else { return 0 }
    return Int(clamping: (bytes &- first.bytes) &* 8_000_000_000 / UInt64((now - first.at).nanoseconds))
  }

  /// The share of packets lost of all streams, each counted by its packets.
  private func loss(_ subscriptions: [Subscription]) -> Double {
    var lost = 0.0
    var total = 0.0
    for subscription in subscriptions {
      let packets = Double(subscription.takePacketCount())
      lost += packets * subscription.sender.fractionLost
      total += packets
    }
    return total > 0 ? lost / total : 0
  }

  /// What a stream costs. Cautious: what isn't sent now counts a little more, so that rates that sway around the limit
  /// don't make it come and go.
  private func demand(of video: Subscription, isCautious: Bool, now: Instant) -> StreamDemand {
    let publication = video.publication
    let isPaused = video.pauses.contains(.congestion)
    let current = video.layerLimit ?? .max
    var layers: [Int?] = []
    if !publication.isMuted, !video.wish.isDisabled, !video.pauses.contains(.command) {
      layers = publication.layerRates(upTo: video.wish, now: now)
      for index in layers.indices where isCautious && (isPaused || index > current) {
        layers[index] = layers[index].map { $0 / 100 * 115 }
      }
    }
    return StreamDemand(
      rank: .init(
        priority: video.wish.priority, isScreen: publication.isScreen, spokenAt: publication.ownerSpokenAt,
        position: publication.position),
      layers: layers)
  }

  /// The bits per second of all video with the next layer or the next stream; nil when all is as wanted.
  private func nextStep(_ videos: [Subscription], now: Instant) -> Int? {
    guard isLimiting else { return nil }
    let ordered = videos.map { (video: $0, demand: demand(of: $0, isCautious: false, now: now)) }
      .sorted { $0.demand.rank < $1.demand.rank }
    var total = 0
    var step: Int?
    var larger: Int?
    for (video, demand) in ordered {
      guard let smallest = demand.layers.compactMap({ $0 }).first else { continue }
      if video.pauses.contains(.congestion) {
        step = step ?? smallest
        continue
      }
      let held = demand.layers.prefix((video.layerLimit ?? .max - 1) + 1).compactMap { $0 }.last ?? smallest
      total += held
      let more = demand.layers.dropFirst((video.layerLimit ?? .max - 1) + 1).compactMap { $0 }.first
      if let more, larger == nil { larger = max(0, more - held) }
    }
    // Streams that are paused go before larger pictures.
    return (step ?? larger).map { total + $0 }
  }
}

extension BandwidthKeeper: CustomStringConvertible {
  /// The limit and what it comes from, for the log.
  var description: String { "limit \(limit.map { "\($0 / 1000)" } ?? "none"), sent \(sent / 1000) kbit/s, \(downlink)" }
}
