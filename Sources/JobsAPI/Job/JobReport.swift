/// How a worker says that a job stands.
public struct JobReport: Codable, Hashable, Sendable {
  /// A leased state; nil: as before.
  public var state: JobState?
  /// The part that is being recorded; replaces the one of the same attempt and piece.
  public var part: JobPart?
  /// The newest command that was carried out or refused.
  public var confirmed: Int64
  /// Those of them that were refused; nil: none.
  public var refusals: [CommandRefusal]?
  /// True from the moment at which nothing more is recorded.
  public var isRecorded: Bool
  /// Why a recording that is over, and will be completed, is less than was wanted; nil: it isn't.
  public var error: JobError?
  /// The id of this life of the room, at most 128 bytes; nil: not known.
  public var roomSID: String?
  /// Makes a report; see the properties.
  public init(
    state: JobState? = nil, part: JobPart? = nil, confirmed: Int64 = 0, refusals: [CommandRefusal]? = nil,
    isRecorded: Bool = false, error: JobError? = nil, roomSID: String? = nil
  ) {
    self.refusals = refusals
    self.error = error
    self.roomSID = roomSID
    self.state = state
    self.part = part
    self.confirmed = confirmed
    self.isRecorded = isRecorded
  }

  enum CodingKeys: String, CodingKey {
    case state, part, confirmed, refusals, error
    case roomSID = "room_sid"
    case isRecorded = "recorded"
  }
}
