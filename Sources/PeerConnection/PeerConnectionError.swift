import SDP

/// Where an offer/answer exchange stands (RFC 8829 section 3.2).
public enum SignalingState: String, Hashable, Sendable {
  /// No exchange is under way.
  case stable
  /// A local offer waits for its answer.
  case haveLocalOffer
  /// A remote offer waits for `createAnswer`.
  case haveRemoteOffer
  /// `close` was called.
  case closed
}

/// Why an operation of a peer connection failed. The connection stays as it was before the call.
public enum PeerConnectionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is not a session description.
  case malformedDescription(SDPError)
  /// The operation does not fit the state of the exchange.
  case wrongState(operation: String, state: SignalingState)
  /// The description is well-formed, but cannot be used; the text says why.
  case unusableDescription(String)
  /// The transport could not be made; the text is its own.
  case transport(String)

  /// One sentence for logs and error messages.
  public var description: String {
    switch self {
    case .malformedDescription(let error): error.description
    case .wrongState(let operation, let state): "\(operation) is not possible in the state \(state.rawValue)."
    case .unusableDescription(let why): "The session description cannot be used: \(why)."
    case .transport(let why): "The media transport failed: \(why)."
    }
  }
}
