import FoundationEssentials
import MediaCore

/// Which of the two peers of a room one is (RFC 3264's offerer and answerer).
public enum PeerRole: String, Codable, Hashable, Sendable, CaseIterable {
  /// Makes the offers.
  case host
  /// Answers them.
  case guest

  /// The peer that this one talks to.
  public var other: PeerRole { self == .host ? .guest : .host }
}

/// Takes a seat in a room of a mailbox (`PUT …/seat`), or takes it again. It is the newest of its identity that sits.
public struct SeatRequest: Codable, Hashable, Sendable {
  /// Made up by the client, new for every run of it: tells what it stored from what an earlier run stored.
  public var session: String
  /// The wanted seat; absent for the free one, the host's if both are.
  public var role: PeerRole?
  /// Display name; absent for the token's.
  public var name: String?
  /// What the client had stored already, when it takes its seat again because the mailbox has forgotten it.
  public var description: MailboxDescription?

  /// Makes a request; see the properties.
  public init(session: String, role: PeerRole?, name: String? = nil, description: MailboxDescription? = nil) {
    self.session = session
    self.role = role
    self.name = name
    self.description = description
  }

  private enum CodingKeys: String, CodingKey {
    case session
    case role = "as"
    case name
    case description
  }
}

/// A session description with its candidates, as one peer leaves it for the other.
public struct MailboxDescription: Codable, Hashable, Sendable {
  /// The W3C's `RTCSdpType`, as far as it is used here.
  public enum Kind: String, Codable, Hashable, Sendable {
    /// Of the host.
    case offer
    /// Of the guest.
    case answer
  }

  /// New for every attempt: whatever refers to another one is out of date.
  public var id: String
  /// Offer or answer.
  public var kind: Kind
  /// The description's text (RFC 8866).
  public var sdp: String
  /// Of an offer: the session of the guest that it is meant for.
  public var recipient: String?
  /// Of an answer: the `id` of the offer.
  public var answers: String?
  /// Of an offer: the `id` of the offer before, when the same connection goes on (an ICE restart).
  public var continues: String?
  /// Candidates so far, `candidate:…` (RFC 8839 section 5.1), of the bundle's transport.
  public var candidates: [String]

  /// Makes a description; see the properties.
  public init(
    id: String, kind: Kind, sdp: String, recipient: String? = nil, answers: String? = nil, continues: String? = nil,
    candidates: [String] = []
  ) {
    self.id = id
    self.kind = kind
    self.sdp = sdp
    self.recipient = recipient
    self.answers = answers
    self.continues = continues
    self.candidates = candidates
  }

  private enum CodingKeys: String, CodingKey {
    case id
    case kind = "type"
    case sdp
    case recipient = "to"
    case answers
    case continues
    case candidates
  }

  /// Reads it; a description without `candidates` has none yet.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(String.self, forKey: .id)
    kind = try container.decode(Kind.self, forKey: .kind)
    sdp = try container.decode(String.self, forKey: .sdp)
    recipient = try container.decodeIfPresent(String.self, forKey: .recipient)
    answers = try container.decodeIfPresent(String.self, forKey: .answers)
    continues = try container.decodeIfPresent(String.self, forKey: .continues)
    candidates = try container.decodeIfPresent([String].self, forKey: .candidates) ?? []
  }
}

/// More candidates of a description that is stored already (`POST …/candidates`).
public struct MailboxCandidates: Codable, Hashable, Sendable {
  /// The description's.
  public var id: String
  /// `candidate:…`
  public var candidates: [String]

  /// Makes a list; see the properties.
  public init(id: String, candidates: [String]) {
    self.id = id
    self.candidates = candidates
  }
}

/// A room of a mailbox as one of its peers sees it: the answer to every request.
public struct MailboxView: Codable, Hashable, Sendable {
  /// What is stored for the one who asks.
  public struct Own: Codable, Hashable, Sendable {
    /// The description's.
    public var id: String
    /// How many candidates it has.
    public var candidates: Int

    /// Makes it.
    public init(id: String, candidates: Int) {
      self.id = id
      self.candidates = candidates
    }
  }

  /// Whoever sits opposite.
  public struct Seat: Codable, Hashable, Sendable {
    /// The identity of the token.
    public var identity: String
    /// Display name; may be empty.
    public var name: String
    /// The peer's own name of this visit: another value means that it began anew.
    public var session: String
    /// True when the peer said goodbye. One that only disappears has no seat any more after a while.
    public var hasLeft: Bool
    /// What the peer has stored.
    public var description: MailboxDescription?

    /// Makes it.
    public init(
      identity: String, name: String, session: String, hasLeft: Bool = false, description: MailboxDescription? = nil
    ) {
      self.identity = identity
      self.name = name
      self.session = session
      self.hasLeft = hasLeft
      self.description = description
    }

    private enum CodingKeys: String, CodingKey {
      case identity, name, session
      case hasLeft = "left"
      case description
    }
  }

  /// A STUN or TURN server that the peers should use (W3C `RTCIceServer`).
  public struct Server: Codable, Hashable, Sendable {
    /// `stun:…`, `turn:…`
    public var urls: [String]
    /// Long-term credential for TURN; empty for STUN.
    public var username: String
    /// The password that belongs to `username`; empty for STUN.
    @Redacted public var credential: String

    /// Makes it.
    public init(urls: [String], username: String, credential: String) {
      self.urls = urls
      self.username = username
      self.credential = credential
    }
  }

  /// Grows with every change in the room.
  public var revision: UInt64
  /// The seat of the one who asks. It can change as long as the peer asked for either.
  public var role: PeerRole
  /// What is stored for the one who asks; absent for nothing.
  public var own: Own?
  /// Who sits opposite; absent for nobody.
  public var other: Seat?
  /// Absent for none.
  public var iceServers: [Server]?

  /// Makes a view; see the properties.
  public init(revision: UInt64, role: PeerRole, own: Own? = nil, other: Seat? = nil, iceServers: [Server]? = nil) {
    self.revision = revision
    self.role = role
    self.own = own
    self.other = other
    self.iceServers = iceServers
  }
}

/// What the two peers tell each other on the data channel `recbot`, about once a second and at every change. Absent
/// members say nothing.
public struct PeerMessage: Codable, Hashable, Sendable {
  /// Label of the data channel; the host opens it.
  public static let channel = "recbot"
  /// The longest message that is read, in bytes.
  public static let maximumSize = 4096

  /// Display name.
  public var name: String?
  /// Whether the sender's camera is on.
  public var camera: Bool?
  /// Whether the sender's microphone is on.
  public var microphone: Bool?
  /// Whether the sender records what it receives.
  public var recording: Bool?

  /// Makes a message; see the properties.
  public init(name: String? = nil, camera: Bool? = nil, microphone: Bool? = nil, recording: Bool? = nil) {
    self.name = name
    self.camera = camera
    self.microphone = microphone
    self.recording = recording
  }
}

/// Messages of a mailbox and of its peers as JSON (RFC 8259).
public enum MailboxCoding {
  /// The largest request body, in bytes.
  public static let maximumBody = 64 << 10

  /// The largest answer, in bytes.
  public static let maximumAnswer = 512 << 10

  /// Reads a message; nil when it isn't one, or has more than `maximumAnswer`. Unknown members are no error.
  public static func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) -> Message? {
    try? BoundedJSON.decode(type, from: bytes, limits: JSONLimits(bytes: maximumAnswer))
  }

  /// The JSON of a message; empty when it can't be written.
  public static func encode(_ message: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(message) else { return [] }
    return Array(data)
  }
}
