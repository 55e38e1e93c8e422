import Signaling
import Transport

/// Something that happened to a peer of a two-party room. The numbers say of which request, exchange or connection; what
/// belongs to an older one is ignored.
enum PeerInput: Sendable {
  case join
  case answered(request: Int, Result<MailboxView, MailboxFault>)
  /// The local description is made.
  case described(exchange: Int, sdp: String)
  /// Both descriptions are applied; what the other side sends.
  case applied(exchange: Int, [MediaSection])
  /// Both descriptions are applied; what the other side takes of what the bot sends.
  case agreed(exchange: Int, Set<LocalTrackID>)
  /// A description could not be made or applied.
  case unusable(exchange: Int, String)
  case gathered(generation: Int, String)
  case transport(generation: Int, TransportState)
  /// Something has come from the other side since the last time.
  case heard(generation: Int)
  case channelOpened(generation: Int)
  case message(generation: Int, PeerMessage)
  /// The bot disables a track of its own, or enables it.
  case muted(LocalTrackID, Bool)
  /// This machine's addresses or routes changed.
  case networkChanged
  case leave
  /// `nextDeadline` is reached.
  case timer
}

/// What a peer asks of its transport of signalling.
enum PeerRequest: Hashable, Sendable {
  case request(Int, MailboxRequest)
  /// Make an offer; `described` or `unusable` follows.
  case offer(exchange: Int, restartsICE: Bool)
  /// Take the offer and answer; `described`, `agreed` and `applied`, or `unusable`, follow.
  case answer(exchange: Int, sdp: String)
  /// Take the answer; `agreed` and `applied`, or `unusable`, follow.
  case accept(exchange: Int, sdp: String)
  case say(PeerMessage)
  /// Says what becomes of what the bot sends.
  case tell(PublishingEvent)
}

/// What doesn't change while a peer is in its room.
struct PeerSettings: Sendable {
  var room: String
  /// Nil to take the seat that is free.
  var role: PeerRole?
  /// What the bot says of itself, and sends.
  var profile = PeerProfile.recorder
  /// New for every run.
  var session: String
  /// When to wait, to come back, and to give up.
  var reconnect = ReconnectPolicy.Settings()
  /// Whether TURN servers are known besides those that the mailbox names.
  var hasRelays = false
  /// Whether a new token is made when one is too old.
  var canRenewToken = false
  /// Decides the jitter of waits.
  var seed: UInt64
}
