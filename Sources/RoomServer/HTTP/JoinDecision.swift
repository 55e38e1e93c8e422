import NIOHTTP1
import Platform
import Synchronization

/// What the gate says about the request of one connection: decided once, though it is asked for when an upgrade is
/// offered and again when it is carried out, or refused. Used on the connection's event loop.
final class JoinDecision: Sendable {
  typealias Outcome = Result<JoinRequest, JoinGate.Refusal>

  private struct Decision {
    var target: String
    var authorization: String?
    var outcome: Outcome
  }

  private let look: @Sendable (HTTPRequestHead) -> Outcome
  private let decision = Mutex<Decision?>(nil)

  convenience init(gate: JoinGate) {
    self.init { head in
      do throws(JoinGate.Refusal) {
        return .success(
          try gate.admit(
            authorization: head.headers["authorization"].first, query: RequestTarget(head.uri).query,
            now: WallClock.seconds))
      } catch {
        return .failure(error)
      }
    }
  }

  /// `look` says what is decided about a request.
  init(look: @escaping @Sendable (HTTPRequestHead) -> Outcome) { self.look = look }

  /// Decides about a request, and keeps that for who takes it.
  func decide(_ head: HTTPRequestHead) -> Outcome {
    let outcome = look(head)
    decision.withLock {
      $0 = Decision(target: head.uri, authorization: head.headers["authorization"].first, outcome: outcome)
    }
    return outcome
  }

  /// What was decided about this request, or is now: good for one use, so that a later request with the same token is
  /// looked at anew.
  func take(_ head: HTTPRequestHead) -> Outcome {
    let kept = decision.withLock { decision in
      defer { decision = nil }
      return decision
    }
    if let kept, kept.target == head.uri, kept.authorization == head.headers["authorization"].first {
      return kept.outcome
    }
    return look(head)
  }
}
