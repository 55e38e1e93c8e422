import JobsAPI

/// Schedules as lines for the terminal.
enum ScheduleText {
  /// When it fires, in words.
  static func fires(_ schedule: Schedule) -> String {
    switch schedule.trigger {
    case .at(let moment): "at \(TimeText.short(moment))"
    case .cron(let expression, let zone): "\(expression.text) (\(zone))"
    case .room(let glob): "when a room \(glob) begins"
    }
  }

  /// When it fires next; `off` when it is disabled.
  static func next(_ schedule: Schedule) -> String {
    schedule.isEnabled ? schedule.nextFire.map(TimeText.short) ?? "" : "off"
  }

  /// Everything that one wants to know of a schedule.
  static func lines(_ schedule: Schedule) -> [String] {
    var rows: [(String, String)] = [
      ("schedule", schedule.id), ("fires", fires(schedule)), ("next", next(schedule)),
      ("room", schedule.request.room), ("owner", schedule.owner), ("made", TimeText.short(schedule.createdAt)),
      ("lead time", "\(schedule.leadTime) s"),
    ]
    if let length = schedule.length { rows.append(("length", TimeText.length(length * 1_000_000))) }
    rows.append(("missed times", "\(schedule.catchUp.rawValue), within \(schedule.catchUpWithin) s"))
    if let layout = schedule.request.layout { rows.append(("layout", layout)) }
    for rule in schedule.request.processors ?? [] { rows.append(("processor", rule)) }
    for sink in schedule.request.sinks ?? [] { rows.append(("sink", RoomText.oneLine(sink.name, limit: 120))) }
    for output in schedule.request.outputs {
      rows.append(("output", [output.destination?.rawValue, output.path].compactMap { $0 }.joined(separator: " ")))
    }
    if let webhook = schedule.request.webhook { rows.append(("webhook", webhook.url)) }
    for (name, value) in schedule.request.metadata.sorted(by: { $0.key < $1.key }) { rows.append(("\(name) =", value)) }
    return JobText.aligned(rows)
  }

  /// Enables or disables schedules, and tells when each fires next.
  static func enable(_ isEnabled: Bool, _ names: [String], _ backend: BackendOptions) async throws {
    try await backend.withClient { client in
      for name in names {
        let schedule = try await client.enable(isEnabled, schedule: name)
        Console.print(backend.json ? try JSONLine.of(schedule) : "\(schedule.id)  next: \(next(schedule))")
      }
    }
  }
}
