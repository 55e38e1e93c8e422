extension Job: Codable {
  /// Reads a job: as it is kept, or as callers see it. In that form a lease is no more than the worker's name.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    id = try values.decode(String.self, forKey: .id)
    owner = try values.decode(String.self, forKey: .owner)
    request = try values.decode(JobRequest.self, forKey: .request)
    state = try values.decode(JobState.self, forKey: .state)
    notBefore = try values.decode(Timestamp.self, forKey: .notBefore)
    attempt = try values.decode(Int.self, forKey: .attempt)
    fence = try values.decodeIfPresent(Int64.self, forKey: .fence) ?? 0
    lease = try values.decodeIfPresent(Lease.self, forKey: .lease)
    if lease == nil, let worker = try values.decodeIfPresent(String.self, forKey: .worker) {
      lease = Lease(worker: worker, fence: 0, until: Timestamp(microseconds: 0))
    }
    commands = try values.decode([JobCommand].self, forKey: .commands)
    commandSequence = try values.decodeIfPresent(Int64.self, forKey: .commandSequence) ?? 0
    refusals = try values.decodeIfPresent([CommandRefusal].self, forKey: .refusals)
    steering = try values.decodeIfPresent(JobSteering.self, forKey: .steering) ?? JobSteering()
    parts = try values.decode([JobPart].self, forKey: .parts)
    files = try values.decode([JobFile].self, forKey: .files)
    error = try values.decodeIfPresent(JobError.self, forKey: .error)
    isRecorded = try values.decode(Bool.self, forKey: .isRecorded)
    isCancelling = try values.decode(Bool.self, forKey: .isCancelling)
    origin = try values.decodeIfPresent(JobOrigin.self, forKey: .origin)
    roomSID = try values.decodeIfPresent(String.self, forKey: .roomSID)
    setbacks = try values.decodeIfPresent(Int.self, forKey: .setbacks)
    createdAt = try values.decode(Timestamp.self, forKey: .createdAt)
    updatedAt = try values.decode(Timestamp.self, forKey: .updatedAt)
    finishedAt = try values.decodeIfPresent(Timestamp.self, forKey: .finishedAt)
  }

  /// Writes a job for who reads it: what workers and backends settle among themselves is nobody else's.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(id, forKey: .id)
    try values.encode(owner, forKey: .owner)
    try values.encode(request, forKey: .request)
    try values.encode(state, forKey: .state)
    try values.encode(notBefore, forKey: .notBefore)
    try values.encode(attempt, forKey: .attempt)
    if encoder.isForCallers {
      try values.encodeIfPresent(lease?.worker, forKey: .worker)
      try values.encode(isIncomplete, forKey: .incomplete)
    } else {
      try values.encode(fence, forKey: .fence)
      try values.encodeIfPresent(lease, forKey: .lease)
      try values.encode(commandSequence, forKey: .commandSequence)
      try values.encodeIfPresent(setbacks, forKey: .setbacks)
    }
    try values.encode(commands, forKey: .commands)
    try values.encodeIfPresent(refusals, forKey: .refusals)
    try values.encode(steering, forKey: .steering)
    try values.encode(parts, forKey: .parts)
    try values.encode(files, forKey: .files)
    try values.encodeIfPresent(error, forKey: .error)
    try values.encode(isRecorded, forKey: .isRecorded)
    try values.encode(isCancelling, forKey: .isCancelling)
    try values.encodeIfPresent(origin, forKey: .origin)
    try values.encodeIfPresent(roomSID, forKey: .roomSID)
    try values.encode(createdAt, forKey: .createdAt)
    try values.encode(updatedAt, forKey: .updatedAt)
    try values.encodeIfPresent(finishedAt, forKey: .finishedAt)
  }
}
