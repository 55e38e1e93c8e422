import Foundation
import MediaCore

/// What makes a schedule fire.
public enum ScheduleTrigger: Hashable, Sendable {
  /// Once, at this moment.
  case at(Timestamp)
  /// Again and again, by the clocks of a time zone (an IANA name such as `Europe/Berlin`).
  case cron(CronExpression, zone: String)
  /// When a room whose name matches begins; `*` stands for any text.
  case room(glob: String)
}

/// What becomes of times that passed while no backend ran.
public enum CatchUp: String, Word, Hashable, Sendable {
  /// What it is called in errors.
  public static let what = "rule"
  /// They are left out.
  case none
  /// The latest one is made up for.
  case latest
  /// Each is made up for.
  case all
}

/// A recording that is made again and again, or once at a given time, or whenever a room begins.
public struct Schedule: Codable, Hashable, Sendable {
  /// Its name.
  public var id: String
  /// Who made it.
  public var owner: String
  /// When it fires.
  public var trigger: ScheduleTrigger
  /// What is recorded. Its `startAt` and `deadline` are set by the schedule.
  public var request: JobRequest
  /// The bot is in the room so many seconds before the time.
  public var leadTime: Int64
  /// Each recording is over so many seconds after the time; nil: when the room ends.
  public var length: Int64?
  /// What becomes of missed times.
  public var catchUp: CatchUp
  /// Missed times that are older than so many seconds are left out in any case.
  public var catchUpWithin: Int64
  /// False: it doesn't fire.
  public var isEnabled: Bool
  /// The next time at which it fires; nil when there is none, and for rooms.
  public var nextFire: Timestamp?
  /// When it was made.
  public var createdAt: Timestamp

  /// Makes a schedule; the store gives it its name.
  public init(
    owner: String, trigger: ScheduleTrigger, request: JobRequest, leadTime: Int64 = 30, length: Int64? = nil,
    catchUp: CatchUp = .latest, catchUpWithin: Int64 = 600, isEnabled: Bool = true
  ) {
    id = ""
    self.owner = owner
    self.trigger = trigger
    self.request = request
    self.leadTime = leadTime
    self.length = length
    self.catchUp = catchUp
    self.catchUpWithin = catchUpWithin
    self.isEnabled = isEnabled
    createdAt = Timestamp(microseconds: 0)
  }

  enum CodingKeys: String, CodingKey {
    case id, owner, trigger, request, catchUp = "catch_up"
    case leadTimeSeconds = "lead_time_seconds"
    case lengthSeconds = "length_seconds"
    case catchUpWithinSeconds = "catch_up_within_seconds"
    // As they are kept, and as an earlier version had them.
    case length
    case leadTime = "lead_time"
    case catchUpWithin = "catch_up_within"
    case isEnabled = "enabled"
    case nextFire = "next_fire"
    case createdAt = "created_at"
  }

  /// Reads a schedule, in either form.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    id = try values.decode(String.self, forKey: .id)
    owner = try values.decode(String.self, forKey: .owner)
    trigger = try values.decode(ScheduleTrigger.self, forKey: .trigger)
    request = try values.decode(JobRequest.self, forKey: .request)
    leadTime = try values.decodeFirst(Int64.self, .leadTimeSeconds, .leadTime) ?? 30
    length = try values.decodeFirst(Int64.self, .lengthSeconds, .length)
    catchUp = try values.decode(CatchUp.self, forKey: .catchUp)
    catchUpWithin = try values.decodeFirst(Int64.self, .catchUpWithinSeconds, .catchUpWithin) ?? 600
    isEnabled = try values.decode(Bool.self, forKey: .isEnabled)
    nextFire = try values.decodeIfPresent(Timestamp.self, forKey: .nextFire)
    createdAt = try values.decode(Timestamp.self, forKey: .createdAt)
  }

  /// Writes the schedule for who reads it.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    let isNamed = encoder.isForCallers
    try values.encode(id, forKey: .id)
    try values.encode(owner, forKey: .owner)
    try values.encode(trigger, forKey: .trigger)
    try values.encode(request, forKey: .request)
    try values.encode(leadTime, forKey: isNamed ? .leadTimeSeconds : .leadTime)
    try values.encodeIfPresent(length, forKey: isNamed ? .lengthSeconds : .length)
    try values.encode(catchUp, forKey: .catchUp)
    try values.encode(catchUpWithin, forKey: isNamed ? .catchUpWithinSeconds : .catchUpWithin)
    try values.encode(isEnabled, forKey: .isEnabled)
    try values.encodeIfPresent(nextFire, forKey: .nextFire)
    try values.encode(createdAt, forKey: .createdAt)
  }

  /// What is wrong with it, one line each.
  public func problems(now: Timestamp) -> [String] {
    var problems = request.problems(now: now)
    if !(0...86_400).contains(leadTime) { problems.append("lead_time_seconds: 0 to 86400") }
    if let length, !(1...(31 * 86_400)).contains(length) {
      problems.append("length_seconds: 1 s to 31 days, in seconds")
    }
    if !(0...(31 * 86_400)).contains(catchUpWithin) {
      problems.append("catch_up_within_seconds: 0 s to 31 days, in seconds")
    }
    switch trigger {
    case .cron(_, let zone) where TimeZone(identifier: zone) == nil:
      problems.append("zone: '\(zone.prefix(60))' is not a time zone; give an IANA name such as Europe/Berlin")
    case .cron(let expression, _) where fire(after: now) == nil:
      problems.append("cron: '\(expression.text.prefix(60))' never fires: there is no such day")
    case .at(let moment) where fire(after: now - .seconds(1)) == nil:
      problems.append("at: \(moment) lies in the past")
    case .room(let glob) where glob.isEmpty || glob.utf8.count > 256: problems.append("room: 1 to 256 bytes")
    default: break
    }
    return problems
  }

  /// The first time after a moment at which it fires. Pure.
  public func fire(after time: Timestamp) -> Timestamp? {
    switch trigger {
    case .at(let moment): moment > time ? moment : nil
    case .cron(let expression, let zone):
      TimeZone(identifier: zone).flatMap { expression.next(after: time, in: $0) }
    case .room: nil
    }
  }

  /// When it must be looked at for a fire time: early enough to be in the room.
  public func dueTime(of fire: Timestamp) -> Timestamp { fire - .seconds(leadTime) }

  /// The fire times that are due at `now`, from `nextFire` on, missed ones as `catchUp` says, and the next one after
  /// them. Pure.
  public func due(at now: Timestamp) -> (fires: [Timestamp], next: Timestamp?) {
    var missed: [Timestamp] = []
    var fires: [Timestamp] = []
    var next = nextFire
    // Years of missed minutes are not counted one by one.
    let oldest = now - .seconds(catchUpWithin)
    if let first = next, dueTime(of: first) <= now, first < oldest { next = fire(after: oldest - .seconds(1)) }
    // Of those only the last counts, unless each is made up for: it is looked for, and not come upon one by one.
    let late = now - .seconds(60)
    if catchUp != .all, let first = next, first < late {
      let last = latestFire(from: first, before: late)
      missed = [last]
      next = fire(after: last)
    }
    while let moment = next, dueTime(of: moment) <= now, missed.count + fires.count < 1000 {
      // A minute late is in time: a backend that restarts must not lose a recording to its own start.
      if moment < late { missed.append(moment) } else { fires.append(moment) }
      next = fire(after: moment)
    }
    switch catchUp {
    case .none: break
    case .latest: if fires.isEmpty, let last = missed.last { fires = [last] }
    case .all: fires = missed + fires
    }
    return (fires, next)
  }

  /// The last time at which it fires between one of them and a later moment.
  private func latestFire(from first: Timestamp, before end: Timestamp) -> Timestamp {
    var (low, high) = (first, end)
    // Times are whole minutes, so that nothing lies between two that are a second apart.
    while high - low > .seconds(1) {
      let middle = low + (high - low) / 2
      if let later = fire(after: middle), later < end { low = later } else { high = middle }
    }
    return low
  }

  /// The job of a fire time.
  public func request(for fire: Timestamp, now: Timestamp) -> JobRequest {
    var request = request
    request.startAt = max(dueTime(of: fire), now)
    if let length { request.deadline = max(fire, now) + .seconds(length) }
    return request
  }

  /// True when a room's name matches; always false for schedules of other kinds.
  public func matches(room: String) -> Bool {
    guard case .room(let glob) = trigger else { return false }
    return Glob.matches(glob, room)
  }
}

extension ScheduleTrigger: Codable {
  private enum CodingKeys: String, CodingKey, CaseIterable {
    case at, cron, zone, room
  }

  /// One of `{"at": …}`, `{"cron": …, "zone": …}` (UTC unless said) and `{"room": …}`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    let given = [CodingKeys.at, .cron, .room].filter { values.contains($0) }
    guard given.count == 1 else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "give one of at, cron and room"))
    }
    switch given[0] {
    case .at: self = .at(try values.decode(Timestamp.self, forKey: .at))
    case .room: self = .room(glob: try values.decode(String.self, forKey: .room))
    default:
      let text = try values.decode(String.self, forKey: .cron)
      do throws(CronExpression.Problem) {
        self = .cron(try CronExpression(text), zone: try Self.zone(values))
      } catch {
        throw DecodingError.dataCorruptedError(
          forKey: .cron, in: values, debugDescription: error.description)
      }
    }
  }

  private static func zone(
    _ values: KeyedDecodingContainer<CodingKeys>
  ) throws(CronExpression.Problem) -> String {
    do { return try values.decodeIfPresent(String.self, forKey: .zone) ?? "UTC" } catch {
      throw CronExpression.Problem(description: "zone: not a text")
    }
  }

  /// As it is read.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .at(let moment): try values.encode(moment, forKey: .at)
    case .cron(let expression, let zone):
      try values.encode(expression.text, forKey: .cron)
      try values.encode(zone, forKey: .zone)
    case .room(let glob): try values.encode(glob, forKey: .room)
    }
  }
}
