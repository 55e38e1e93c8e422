import JobsAPI

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
    case .refused(let status, _): status == 429 || status == 408 || status >= 500 || isConflict
    case .strange: false
    }
  }

  /// True when the job belongs to somebody else, or is over: nothing of it may be touched any more. Only a backend can
  /// say so, in its own words: a proxy that answers 404 while the backend moves must not end recordings.
  public var isFenced: Bool {
    guard case .refused(let status, let body) = self else { return false }
    return status == 404 && body.code == "not_found" || status == 409 && ["fenced", "is_over"].contains(body.code)
  }

  /// True when no backend said it: a proxy between here and there did, or something else that has its address now.
  var isForeign: Bool {
    switch self {
    case .away: false
    case .refused(let status, let body): body.code == "http\(status)"
    case .strange: true
    }
  }

  /// True when a report was overtaken by another one: nobody need be told.
  var isOvertaken: Bool {
    guard case .refused(409, let body) = self else { return false }
    return body.code == "impossible_state"
  }

  /// True when another request changed the same at the same time.
  private var isConflict: Bool {
    guard case .refused(409, let body) = self else { return false }
    return body.code == "conflict"
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
