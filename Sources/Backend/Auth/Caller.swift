import JobsAPI
import MediaCore

/// Who asks, and what that one may do.
public struct Caller: Hashable, Sendable {
  /// The name under which jobs are kept: `sub` of a token, or the name of an API key.
  public var name: String
  /// What the caller may do.
  public var grants: Set<Grant>
  /// The only rooms that the caller may have to do with, as a name with `*` for any text; nil: all.
  public var rooms: String?

  /// Makes a caller; see the properties.
  public init(name: String, grants: Set<Grant>, rooms: String? = nil) {
    self.name = name
    self.grants = grants
    self.rooms = rooms
  }

  /// True when the caller may do this.
  public func may(_ grant: Grant) -> Bool { grants.contains(grant) || grants.contains(.admin) }

  /// True when the caller may have to do with this room.
  public func mayUse(room: String) -> Bool { rooms.map { Glob.matches($0, room) } ?? true }

  /// The owner whose jobs the caller sees; nil: everybody's.
  public var visibleOwner: String? { grants.contains(.admin) ? nil : name }

  /// True when the caller may see what belongs to this owner and room.
  public func maySee(owner: String, room: String) -> Bool {
    (visibleOwner.map { $0 == owner } ?? true) && mayUse(room: room)
  }
}
