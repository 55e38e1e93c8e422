import JobsAPI

/// What is kept of an API key. The secret is not: only its hash stands in the database.
public struct APIKey: Codable, Hashable, Sendable {
  /// What every key begins with.
  public static let prefix = "rbk_"
  /// Its name in lists; part of the key itself.
  public var id: String
  /// Whom it is for: the owner of the jobs that are submitted with it.
  public var name: String
  /// What it allows.
  public var grants: [String]
  /// The only rooms that it is good for, as a name with `*` for any text; nil: all.
  public var rooms: String?
  /// When it ends; nil: when it is removed.
  public var expiresAt: Timestamp?
  /// When it was made.
  public var createdAt: Timestamp

  /// Makes a record; see the properties.
  public init(
    id: String, name: String, grants: [String], rooms: String? = nil, expiresAt: Timestamp? = nil,
    createdAt: Timestamp
  ) {
    self.id = id
    self.name = name
    self.grants = grants
    self.rooms = rooms
    self.expiresAt = expiresAt
    self.createdAt = createdAt
  }

  enum CodingKeys: String, CodingKey {
    case id, name, grants, rooms
    case expiresAt = "expires_at"
    case createdAt = "created_at"
  }
}
