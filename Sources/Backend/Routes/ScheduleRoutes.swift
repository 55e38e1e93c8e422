import Hummingbird
import Jobs
import JobsAPI
import WebClient

/// `POST /v1/schedules`: a schedule without what the backend sets.
struct ScheduleRequest: Decodable, Sendable {
  var trigger: ScheduleTrigger
  var request: JobRequest
  var leadTime: Int64?
  var length: Int64?
  var catchUp: CatchUp?
  var catchUpWithin: Int64?
  var isEnabled: Bool?

  enum CodingKeys: String, CodingKey, CaseIterable {
    case trigger, request
    case leadTimeSeconds = "lead_time_seconds"
    case lengthSeconds = "length_seconds"
    case catchUp = "catch_up"
    case catchUpWithinSeconds = "catch_up_within_seconds"
    case isEnabled = "enabled"
    // As an earlier version had them.
    case length
    case leadTime = "lead_time"
    case catchUpWithin = "catch_up_within"
    // What a schedule has that the backend made; it makes them anew.
    case id, owner, nextFire = "next_fire", createdAt = "created_at"
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    trigger = try values.decode(ScheduleTrigger.self, forKey: .trigger)
    request = try values.decode(JobRequest.self, forKey: .request)
    leadTime =
      try values.decodeIfPresent(Int64.self, forKey: .leadTimeSeconds)
      ?? values.decodeIfPresent(Int64.self, forKey: .leadTime)
    length =
      try values.decodeIfPresent(Int64.self, forKey: .lengthSeconds)
      ?? values.decodeIfPresent(Int64.self, forKey: .length)
    catchUp = try values.decodeIfPresent(CatchUp.self, forKey: .catchUp)
    catchUpWithin =
      try values.decodeIfPresent(Int64.self, forKey: .catchUpWithinSeconds)
      ?? values.decodeIfPresent(Int64.self, forKey: .catchUpWithin)
    isEnabled = try values.decodeIfPresent(Bool.self, forKey: .isEnabled)
  }

  /// The schedule of a caller.
  func schedule(owner: String) -> Schedule {
    var request = request
    // The room's own name takes its place when it begins.
    if case .room(let glob) = trigger, request.room.isEmpty { request.room = glob }
    request.egress = nil
    return Schedule(
      owner: owner, trigger: trigger, request: request, leadTime: leadTime ?? 30, length: length,
      catchUp: catchUp ?? .latest, catchUpWithin: catchUpWithin ?? 600, isEnabled: isEnabled ?? true)
  }
}

/// Schedules and rules.
struct ScheduleRoutes: RouteGroup {
  let schedules: ScheduleStore
  let workers: WorkerStore
  /// Knows which addresses webhooks may go to.
  let client: GuardedWebClient

  func add(to routes: Routes) {
    routes.caller(.post, "/v1/schedules", .schedulesWrite) { call, caller in
      let schedule = try await call.decode(ScheduleRequest.self).schedule(owner: caller.name)
      try JobRoutes.check(schedule.request, of: caller, in: call.core, client)
      try await call.core.check(layout: schedule.request.layout, "request.layout", in: workers)
      // A pattern is within the caller's own when it matches it as a text: every `*` of it fell under one of theirs.
      if case .room(let glob) = schedule.trigger { try call.core.check(caller, mayUse: glob) }
      let addition = try await schedules.addition(of: schedule, key: try call.idempotencyKey())
      return .json(addition.schedule, status: addition.isRepetition ? .ok : .created)
    }
    routes.caller(.get, "/v1/schedules", .schedulesRead) { call, caller in
      let limit = try call.pageSize()
      let found = try await schedules.list(
        owner: caller.visibleOwner, after: try call.query("after"), limit: limit + 1)
      let page = found.prefix(limit)
      return .json(
        SchedulePage(
          schedules: page.filter { caller.mayUse(room: $0.request.room) },
          next: found.count > limit ? page.last?.id : nil))
    }
    routes.caller(.get, "/v1/schedules/{id}", .schedulesRead) { call, caller in
      .json(try await found(by: call, caller))
    }
    for (word, isEnabled) in [("enable", true), ("disable", false)] {
      routes.caller(.post, "/v1/schedules/{id}/\(word)", .schedulesWrite) { call, caller in
        let schedule = try await found(by: call, caller)
        return .json(try await schedules.enable(isEnabled, schedule: schedule.id))
      }
    }
    routes.caller(.delete, "/v1/schedules/{id}", .schedulesWrite) { call, caller in
      let schedule = try await found(by: call, caller)
      try await schedules.remove(schedule.id)
      return Response(status: .noContent)
    }
    routes.caller(.get, "/v1/schedules/{id}/next", .schedulesRead) { call, caller in
      let count = try call.number("count", in: 1...100, default: 5)
      let schedule = try await found(by: call, caller)
      var times: [Timestamp] = []
      var next = schedule.isEnabled ? schedule.nextFire : nil
      while let time = next, times.count < count {
        times.append(time)
        next = schedule.fire(after: time)
      }
      return .json(FireTimes(times: times))
    }
  }

  private func found(by call: Call, _ caller: Caller) async throws -> Schedule {
    do {
      let schedule = try await schedules.schedule(try call.parameter("id"))
      guard caller.maySee(owner: schedule.owner, room: schedule.request.room) else { throw StoreError.notFound }
      return schedule
    } catch StoreError.notFound {
      throw Refusal.notFound("schedule")
    }
  }
}
