import Jobs

/// Why the backend did not do what it was asked.
public enum BackendError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It was not reached, or gave no whole answer; asking again later can help. One line, no secret.
  case away(String)
  /// It said no: the HTTP status, and why.
  case refused(status: Int, APIProblem.Body)
  /// It answered something that is no answer of a recbot backend.
  case strange(String)

  /// True when the same request can succeed later: the backend was not reached, is overloaded, or has a fault.
  public var isPassing: Bool {
    switch self {
    case .away: true
    case .refused(let status, _): status == 429 || status == 408 || status >= 500
    case .strange: false
    }
  }

  /// True when the job belongs to somebody else, or is over: nothing of it may be touched any more.
  public var isFenced: Bool {
    guard case .refused(let status, let body) = self else { return false }
    return status == 404 || (status == 409 && body.code != "impossibleState" && body.code != "impossible_state")
  }

  /// One line.
  public var description: String {
    switch self {
    case .away(let text): "the backend cannot be reached: \(text)"
    case .refused(let status, let body): "the backend refused (\(status) \(body.code)): \(body.message)"
    case .strange(let text): "what answers is no recbot backend: \(text)"
    }
  }
}
