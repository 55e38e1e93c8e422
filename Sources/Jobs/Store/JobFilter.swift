import JobsAPI
import MediaCore

/// Which jobs a list shows.
public struct JobFilter: Sendable, Hashable {
  /// Only of this caller.
  public var owner: String?
  /// Only in this room.
  public var room: String?
  /// Only in rooms of such names, with `*` for any text.
  public var rooms: String?
  /// Only those that are not final.
  public var isActive = false
  /// Everything.
  public init(owner: String? = nil, room: String? = nil, rooms: String? = nil, isActive: Bool = false) {
    self.owner = owner
    self.room = room
    self.rooms = rooms
    self.isActive = isActive
  }

  /// True when a job is one of those.
  public func allows(_ job: Job) -> Bool {
    (owner.map { $0 == job.owner } ?? true) && (room.map { $0 == job.request.room } ?? true)
      && (rooms.map { Glob.matches($0, job.request.room) } ?? true) && (!isActive || !job.state.isFinal)
  }

  /// The same as conditions on rows of `jobs`; they may find more than is meant, never less.
  var query: SQLConditions {
    var query = SQLConditions()
    if let owner { query.add("owner = ", .text(owner)) }
    if let room { query.add("room = ", .text(room)) }
    if let rooms { query.add("room LIKE ", .text(Self.likePattern(rooms)), " ESCAPE '!'") }
    if isActive { query.add(JobStore.isActive) }
    return query
  }

  /// A name with `*` as the pattern of LIKE with the escape character `!`. LIKE may find more than is meant (SQLite's
  /// doesn't tell letters by case), never less.
  private static func likePattern(_ glob: String) -> String {
    glob.unicodeScalars.map { "!%_".unicodeScalars.contains($0) ? "!\($0)" : $0 == "*" ? "%" : "\($0)" }.joined()
  }
}
