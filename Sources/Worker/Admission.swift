import JobsAPI

/// How many recordings a machine takes, by what they have cost so far. Pure: what is measured comes in as arguments.
///
/// A new recording is counted with the estimate until it has been measured for a while: people who join later make it
/// dearer, so the highest cost of the last minutes counts, and it fades slowly.
public struct Admission: Hashable, Sendable {
  /// What one recording costs.
  public struct Cost: Hashable, Sendable {
    /// Processor time, in cores.
    public var cores: Double
    /// Resident memory, in bytes.
    public var memory: Int64
    /// Makes a cost; see the properties.
    public init(cores: Double, memory: Int64) {
      self.cores = cores
      self.memory = memory
    }
  }

  /// What recordings may use in all.
  public struct Limits: Hashable, Sendable {
    /// Processor time, in cores.
    public var cores: Double
    /// Memory, in bytes.
    public var memory: Int64
    /// Makes limits.
    public init(cores: Double, memory: Int64) {
      self.cores = cores
      self.memory = memory
    }
  }

  /// What is counted before anything has been measured: a room of some people at 720p and 30 pictures a second.
  public static let firstEstimate = Cost(cores: 0.75, memory: 256 << 20)
  /// For so long a recording counts with the estimate at least.
  public static let settlingTime = Duration.seconds(20)
  /// What part of the machine recordings may use: the rest is for uploads, joins of parts, and bursts.
  public static let share = 0.85

  /// Upper bounds.
  public var limits: Limits
  /// Exactly so many at once, whatever they cost; nil: by their cost.
  public var fixed: Int?
  /// What one more recording is expected to cost.
  public private(set) var estimate: Cost
  private var recordings: [String: Recording] = [:]

  private struct Recording: Hashable {
    var startedAt: Timestamp
    var cost: Cost?
    var isSettled = false
  }

  /// Starts with nothing measured.
  public init(limits: Limits, fixed: Int? = nil) {
    self.limits = limits
    self.fixed = fixed
    estimate = Self.firstEstimate
  }

  /// A recording begins.
  public mutating func start(_ name: String, now: Timestamp) {
    recordings[name] = Recording(startedAt: now)
  }

  /// A recording is over.
  public mutating func end(_ name: String) { recordings[name] = nil }

  /// What a recording cost lately. Its own cost goes up at once and down slowly; the estimate follows the dearest.
  public mutating func measure(_ name: String, _ cost: Cost, now: Timestamp) {
    guard var recording = recordings[name], cost.cores.isFinite, cost.cores >= 0, cost.memory >= 0 else { return }
    if let before = recording.cost {
      recording.cost = Cost(
        cores: max(cost.cores, before.cores * 0.9 + cost.cores * 0.1),
        memory: max(cost.memory, before.memory - before.memory / 10 + cost.memory / 10))
    } else {
      recording.cost = cost
    }
    recording.isSettled = now - recording.startedAt >= Self.settlingTime
    recordings[name] = recording
    guard recording.isSettled else { return }
    let settled = recordings.values.filter(\.isSettled).compactMap(\.cost)
    guard let cores = settled.map(\.cores).max(), let memory = settled.map(\.memory).max() else { return }
    // A lone cheap recording, of an empty room for example, says little about the next one.
    estimate = Cost(
      cores: max(cores, estimate.cores * 0.95 + cores * 0.05, 0.05),
      memory: max(memory, estimate.memory - estimate.memory / 20 + memory / 20, 16 << 20))
  }

  /// What all recordings together use, those that are new with the estimate.
  public var used: Cost {
    recordings.values.reduce(into: Cost(cores: 0, memory: 0)) { sum, recording in
      let floor = recording.isSettled ? Cost(cores: 0, memory: 0) : estimate
      sum.cores += max(recording.cost?.cores ?? 0, floor.cores)
      sum.memory += max(recording.cost?.memory ?? 0, floor.memory)
    }
  }

  /// How many run.
  public var running: Int { recordings.count }

  /// How many more can be taken now. A machine that runs none takes one, however small it is.
  public var free: Int {
    if let fixed { return max(0, fixed - running) }
    let used = used
    let cores = (limits.cores * Self.share - used.cores) / estimate.cores
    let memory = (Double(limits.memory) * Self.share - Double(used.memory)) / Double(estimate.memory)
    let room = Int(max(0, min(cores, memory, 64)))
    return running == 0 ? max(1, room) : room
  }

  /// How many can run at once.
  public var capacity: Int { fixed ?? running + free }
}
