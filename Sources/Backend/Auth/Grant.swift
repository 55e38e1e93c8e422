/// What a caller may do: an entry of the claim `recbot.grants`, or of an API key.
public enum Grant: String, Codable, Hashable, Sendable, CaseIterable {
  /// See jobs.
  case jobsRead = "jobs:read"
  /// Submit and control jobs.
  case jobsWrite = "jobs:write"
  /// See schedules.
  case schedulesRead = "schedules:read"
  /// Make and remove schedules.
  case schedulesWrite = "schedules:write"
  /// Have room tokens made for participants.
  case tokensWrite = "tokens:write"
  /// See and fetch finished recordings.
  case recordingsRead = "recordings:read"
  /// Delete finished recordings.
  case recordingsWrite = "recordings:write"
  /// See events.
  case eventsRead = "events:read"
  /// See the workers.
  case workersRead = "workers:read"
  /// Everything, and for everybody's jobs.
  case admin
}
