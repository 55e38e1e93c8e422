import Hummingbird
import Jobs
import JobsAPI

/// An answer that says no: status and text. Thrown by handlers.
struct Refusal: Error {
  var status: HTTPResponse.Status
  var problem: APIProblem
  var headers: HTTPFields = [:]

  init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
    self.status = status
    problem = APIProblem(code: code, message: message)
  }

  /// Any defect of a credential, and one that doesn't allow what is asked for. One text on purpose: the sender must not
  /// learn which check failed.
  static var unauthorized: Refusal {
    var refusal = Refusal(.unauthorized, "unauthorized", "the credential is not valid")
    refusal.headers[.wwwAuthenticate] = "Bearer"
    return refusal
  }
  /// Nothing of that name, or not the caller's.
  static func notFound(_ what: String) -> Refusal { Refusal(.notFound, "not_found", "there is no such \(what)") }
  /// A value can't be used; the message begins with the field's name.
  static func invalid(_ message: String) -> Refusal { Refusal(.badRequest, "invalid", message) }

  /// What an error of the layers below means to the sender.
  init(_ error: any Error) {
    switch error {
    case let error as Refusal: self = error
    case let error as StoreError: self.init(error)
    case SQLError.unavailable, SQLError.closed:
      self.init(.serviceUnavailable, "unavailable", "the database is not available for the moment; try again")
      headers[.retryAfter] = "1"
    case SQLError.conflict:
      self.init(.conflict, "conflict", "another request changed the same at the same time; try again")
    default: self.init(.internalServerError, "internal", "something that should not happen; the log has more")
    }
  }

  private init(_ error: StoreError) {
    switch error {
    case .notFound: self = .notFound("job")
    case .keyReused:
      self.init(
        .unprocessableContent, "key_reused", "Idempotency-Key: was used before for another request; take a new one")
    case .invalid(let problems): self = .invalid(problems.joined(separator: "; "))
    case .refused(let refusal): self.init(refusal)
    }
  }

  private init(_ refusal: JobRefusal) {
    switch refusal {
    case .fenced: self.init(.conflict, "fenced", "the job was given to another worker: stop, and touch nothing of it")
    case .isOver: self.init(.conflict, "is_over", "the job is over")
    case .notAvailable: self.init(.conflict, "not_available", "the job can't be taken now")
    case .impossibleState: self.init(.conflict, "impossible_state", "the job can't be in that state now")
    case .impossibleCommand:
      self.init(.conflict, "impossible_command", "the command makes no sense in the job's state, or too many wait")
    }
  }

  /// The answer.
  var response: Response { .json(problem, status: status, headers: headers) }
}

extension BackendCore {
  /// A good credential that doesn't allow this. What is missing stands in the log, where those find it who made the
  /// credential; the sender is told what is said of every other defect.
  func refusal(of caller: Caller, lacking what: String) -> Refusal {
    logger.info(
      "a credential does not allow what was asked for", metadata: ["caller": "\(caller.name)", "lacks": "\(what)"])
    return .unauthorized
  }
}
