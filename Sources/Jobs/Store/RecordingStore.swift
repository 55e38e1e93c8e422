import JobsAPI

/// The finished files of jobs that are over. They stand in the jobs' rows. Any thread.
public struct RecordingStore: Sendable {
  private let database: any SQLDatabase
  private let jobs: JobStore

  init(database: any SQLDatabase, jobs: JobStore) {
    self.database = database
    self.jobs = jobs
  }

  /// Finished files that were not deleted, those of the newest job first, and where the next page begins (nil: there is
  /// none). `after` is what the page before gave: a job and how many of its files were shown.
  public func list(_ filter: JobFilter = JobFilter(), after: String? = nil, limit: Int = 50) async throws
    -> RecordingPage
  {
    let cursor = (after ?? "").split(separator: ":")
    let (job, shown) = (cursor.first.map(String.init) ?? "", cursor.count == 2 ? Int(cursor[1]) ?? 0 : 0)
    let limit = max(1, min(limit, 1000))
    var query = filter.query
    if !job.isEmpty { query.add("id <= ", .text(job)) }
    query.add("state IN ('completed', 'cancelled')")
    let most = query.parameter(.integer(Int64(limit + 1)))
    let conditions = query
    let page = try await database.transaction { connection in
      try connection.query(
        "SELECT body FROM jobs \(conditions.text) ORDER BY id DESC LIMIT CAST(\(most) AS BIGINT)",
        conditions.values
      ).map { try JSONColumn.decode(Job.self, $0.text(0)) }
    }
    var recordings: [RecordingPage.Entry] = []
    var next: String?
    for found in page {
      for (index, file) in found.files.enumerated() where found.id != job || index >= shown {
        guard filter.allows(found), file.deletedAt == nil else { continue }
        if recordings.count == limit { return RecordingPage(recordings: recordings, next: next) }
        recordings.append(
          RecordingPage.Entry(
            job: found.id, room: found.request.room, number: index + 1, file: file,
            finishedAt: found.finishedAt ?? found.updatedAt))
        next = "\(found.id):\(index + 1)"
      }
    }
    guard page.count > limit, let last = page.last else { return RecordingPage(recordings: recordings) }
    return RecordingPage(recordings: recordings, next: "\(last.id):\(last.files.count)")
  }

  /// Keeps that a file of a job that is over was deleted; `number` counts from 1. One that was deleted before stays as it
  /// is. Throws `notFound` when there is no such file.
  @discardableResult
  public func deleted(file number: Int, of job: String) async throws -> Job {
    try await database.transaction { [jobs] connection in
      var found = try jobs.load(job, forUpdate: true, in: connection)
      guard found.state.isFinal, found.files.indices.contains(number - 1) else { throw StoreError.notFound }
      guard found.files[number - 1].deletedAt == nil else { return found }
      found.files[number - 1].deletedAt = try connection.now()
      try jobs.replace(found, in: connection)
      return found
    }
  }

  /// Keeps that a file of a job that is over, or what is beside one, has moved to where it belongs; with the last of them
  /// the job's `deliveryFailed` goes, and the event `delivered` is told. May be repeated: what is known changes nothing.
  /// Throws `notFound` when there is no such job, and `impossibleState` while it goes on: its files are not known yet.
  @discardableResult
  public func moved(_ move: MovedRequest, of job: String) async throws -> Job {
    try await database.transaction { [jobs] connection in
      var found = try jobs.load(job, forUpdate: true, in: connection)
      guard found.state.isFinal else { throw StoreError.refused(.impossibleState) }
      guard found.moves(move) else { return found }
      guard move.isLast else {
        try jobs.replace(found, in: connection)
        return found
      }
      if found.error?.name == "deliveryFailed" { found.error = nil }
      try jobs.replace(found, telling: .delivered, in: connection)
      return found
    }
  }
}

extension Job {
  /// Changes the place of a file, or of what is beside one. False when nothing is at the old place.
  fileprivate mutating func moves(_ move: MovedRequest) -> Bool {
    for index in files.indices where files[index].deletedAt == nil {
      if files[index].location == move.from {
        (files[index].location, files[index].size, files[index].sha256) = (move.to, move.size, move.sha256)
        files[index].dataFolder = nil
        return true
      }
      if let place = files[index].beside?.firstIndex(where: { $0.location == move.from }) {
        files[index].beside?[place].location = move.to
        files[index].beside?[place].size = move.size
        files[index].beside?[place].sha256 = move.sha256
        return true
      }
    }
    return false
  }
}
