import Foundation
import Hummingbird
import Jobs
import JobsAPI
import NIOCore

/// An error of a Twirp service: a code of the specification (version 7), which has its HTTP status, and a text.
struct TwirpProblem: Error, Hashable, Sendable {
  /// The codes that are used here.
  enum Code: String, Sendable {
    case malformed
    case invalidArgument = "invalid_argument"
    case notFound = "not_found"
    case badRoute = "bad_route"
    case unauthenticated
    case failedPrecondition = "failed_precondition"
    case resourceExhausted = "resource_exhausted"
    case unimplemented
    case unavailable
    case `internal`

    /// The status that belongs to the code.
    var status: HTTPResponse.Status {
      switch self {
      case .malformed, .invalidArgument: .badRequest
      case .notFound, .badRoute: .notFound
      case .unauthenticated: .unauthorized
      case .failedPrecondition: .preconditionFailed
      case .resourceExhausted: .tooManyRequests
      case .unimplemented: .notImplemented
      case .unavailable: .serviceUnavailable
      case .internal: .internalServerError
      }
    }
  }

  var code: Code
  var text: String

  init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }

  /// The token lacks the grant.
  static let denied = TwirpProblem(.unauthenticated, "permissions denied")
  static let noEgress = TwirpProblem(.notFound, "egress does not exist")

  /// A field of the request that can't be used.
  static func invalid(_ text: String) -> TwirpProblem { TwirpProblem(.invalidArgument, text) }
  /// Something that LiveKit's recorder does and this one does not.
  static func unimplemented(_ text: String) -> TwirpProblem { TwirpProblem(.unimplemented, text) }

  /// What an error of the layers below means to the sender.
  init(_ error: any Error) {
    switch error {
    case let error as TwirpProblem: self = error
    case StoreError.notFound: self = .noEgress
    case StoreError.invalid(let problems): self = .invalid(problems.joined(separator: "; "))
    case StoreError.refused(.impossibleCommand):
      self.init(.failedPrecondition, "the command makes no sense in the egress's state, or too many wait")
    case StoreError.refused: self.init(.failedPrecondition, "the egress is over")
    case SQLError.unavailable, SQLError.closed:
      self.init(.unavailable, "the database is not available for the moment; try again")
    case let error as Refusal:
      switch error.status {
      case .serviceUnavailable: self.init(.unavailable, error.problem.error.message)
      case .contentTooLarge: self.init(.resourceExhausted, error.problem.error.message)
      default: self.init(.malformed, error.problem.error.message)
      }
    default: self.init(.internal, "something that should not happen; the log has more")
    }
  }

  private struct Body: Encodable {
    var code: String
    var msg: String
  }

  /// As it is sent.
  var response: Response { .json(Body(code: code.rawValue, msg: text), status: code.status) }
}
