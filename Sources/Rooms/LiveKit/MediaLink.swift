import MediaCore
import Session
import Signaling
import Transport

/// The media connection of a LiveKit session: a peer connection, one number (generation) for each, for which the server
/// makes the offers. It can live on while signalling is lost. A pure value; times are moments of one monotonic clock.
///
/// | state | `isUp` | `isSilent` | leaves it |
/// | --- | --- | --- | --- |
/// | none, connecting | no | no | `connected` → up; `failed` |
/// | up | yes | no | `disconnected` → down; `fellSilent` → silent |
/// | silent: nothing came though it was asked | yes | yes | `connected`, `spoke` → up; `disconnected` → down |
/// | down | no | as before | `connected` → up; `failed`; the deadline to recover |
///
/// `open` leads to connecting from everywhere. Two deadlines: by when media must be connected after an attempt
/// (`isOverdue`), and by when what was interrupted must be back (`isRecoveryOver`).
struct MediaLink: Sendable {
  /// What a change of the transport comes to.
  enum Change: Hashable, Sendable {
    case none
    case connected
    /// Nothing comes any more, for this reason.
    case interrupted(String)
    /// It is over for this reason; why it was ended the server may still say.
    case closing(String)
    /// The attempt to connect came to nothing.
    case failed(String)
  }

  /// How long the transport may be without answer before the session is resumed; the transport itself says so only
  /// after 10 s.
  static let disconnectedTime = Duration.seconds(1)
  /// How long the server has to say why it closed the media, before the session is resumed.
  static let farewellTime = Duration.milliseconds(700)
  /// The least time between two requests for a sign of life.
  static let probeInterval = Duration.milliseconds(200)
  /// Candidates that are kept while signalling is away.
  static let candidateLimit = 64

  /// The number of the peer connection; 0 before the first.
  private(set) var generation = 0
  /// Whether the transport says that it is connected.
  private(set) var isUp = false
  /// Whether nothing came through it although it was asked; the transport notices that much later.
  private(set) var isSilent = false
  /// When it was last connected; nil before.
  private(set) var connectedAt: Instant?
  /// The server's newest offer.
  private(set) var offer: Livekit_SessionDescription?
  /// The newest answer to it.
  private(set) var answer: Livekit_SessionDescription?
  /// What was gathered while signalling was away.
  private(set) var waitingCandidates: [TrickleCandidate] = []
  /// What came over it; the owner sets it before each event.
  var traffic = MediaTraffic()
  private var deadline: Instant?
  private var recoveryDeadline: Instant?
  /// When the first request that is not answered yet went out.
  private var probedAt: Instant?
  /// When the last one went out.
  private var lastProbeAt: Instant?

  /// Whether media is connected, and something comes.
  var isFlowing: Bool { isUp && !isSilent }

  /// Whether an attempt to connect has time left.
  var isExpected: Bool { deadline != nil }

  /// Whether what was interrupted has time left to recover.
  var isRecovering: Bool { recoveryDeadline != nil }

  /// When something is due by time; nil for never.
  var nextDeadline: Instant? {
    guard let deadline else { return recoveryDeadline }
    return min(deadline, recoveryDeadline ?? deadline)
  }

  /// Whether it was not connected in time.
  func isOverdue(at now: Instant) -> Bool { deadline.map { $0 <= now } ?? false }

  /// Whether what was interrupted is not back in time.
  func isRecoveryOver(at now: Instant) -> Bool { recoveryDeadline.map { $0 <= now } ?? false }

  // MARK: The connection

  /// Another peer connection takes the place of the one before, and has so long to be connected.
  mutating func open(within time: Duration, at now: Instant) {
    generation += 1
    (isUp, isSilent, connectedAt, probedAt) = (false, false, nil, nil)
    (traffic.lastPacketAt, traffic.heardAt) = (nil, nil)
    (offer, answer, waitingCandidates) = (nil, nil, [])
    deadline = now + time
  }

  /// Media must be connected within so long.
  mutating func expect(within time: Duration, at now: Instant) { deadline = now + time }

  /// Nothing is expected: the attempt is over, or the bot is not let in yet.
  mutating func stopExpecting() { deadline = nil }

  /// The time to recover is over.
  mutating func stopRecovering() { recoveryDeadline = nil }

  /// The transport changed. Without signalling nothing can be done but wait.
  mutating func changed(_ state: TransportState, isSignalOpen: Bool, at now: Instant) -> Change {
    switch state {
    case .connected:
      (isUp, isSilent, connectedAt) = (true, false, now)
      (deadline, recoveryDeadline) = (nil, nil)
      return .connected
    case .disconnected:
      isUp = false
      if isSignalOpen { recoveryDeadline = now + Self.disconnectedTime }
      return .interrupted("nothing comes through it")
    case .failed:
      isUp = false
      recoveryDeadline = nil
      guard isSignalOpen else { return .interrupted("media failed") }
      guard deadline == nil else { return .failed("it failed") }
      // A server that sends the bot away closes its media too, and DTLS's farewell may overtake the message that
      // says why: wait a moment for it before coming back.
      recoveryDeadline = now + Self.farewellTime
      return .closing("the server closed it, or it failed")
    case .new, .connecting, .closed: return .none
    }
  }

  // MARK: Negotiation

  /// The server made an offer.
  mutating func take(_ offer: Livekit_SessionDescription) { self.offer = offer }

  /// The offer with this id was answered with `sdp`: the answer as it is sent.
  mutating func answered(_ id: UInt32, _ sdp: String) -> Livekit_SessionDescription {
    let answer = Livekit_SessionDescription.with {
      $0.type = "answer"
      $0.sdp = sdp
      $0.id = id
    }
    self.answer = answer
    return answer
  }

  /// Keeps a candidate until signalling is back.
  mutating func keep(_ candidate: TrickleCandidate) {
    if waitingCandidates.count < Self.candidateLimit { waitingCandidates.append(candidate) }
  }

  /// Signalling is back: what was gathered meanwhile.
  mutating func takeCandidates() -> [TrickleCandidate] {
    defer { waitingCandidates = [] }
    return waitingCandidates
  }

  // MARK: Signs of life

  /// How long it has owed an answer; zero when it owes none. Nil when that cannot be known.
  func unanswered(at now: Instant) -> Duration? {
    guard let heard = traffic.heardAt else { return isUp ? nil : .zero }
    guard let probedAt, heard < probedAt else { return .zero }
    return now - probedAt
  }

  /// Whether the peer is to be asked for a sign of life now; it counts as asked then.
  mutating func probe(at now: Instant) -> Bool {
    guard isUp, lastProbeAt.map({ now - $0 >= Self.probeInterval }) ?? true else { return false }
    if unanswered(at: now) == .zero { probedAt = now }
    lastProbeAt = now
    return true
  }

  /// Nothing came through it although it was asked.
  mutating func fellSilent() { isSilent = true }

  /// Something came again through what was silent.
  mutating func spoke() {
    isSilent = false
    deadline = nil
  }
}
