import MediaCore
import NIOHTTP1
import Platform
import Signaling
import WebClient

/// The mailbox of the embedded room server: `/mailbox/v1/…` over HTTP/1.1, watched by requests that wait for a change.
/// Used on any thread; `completion` is called on another one.
public final class HTTPMailbox: Mailbox {
  private let url: SignalURL
  private let room: String
  private let tokens: TokenSource
  private let tlsCAFile: String?

  /// How long a request may take, and one that waits for a change (the server answers after 20 s at the latest).
  private static let requestTimeout = Duration.seconds(8)
  /// See `requestTimeout`.
  private static let watchTimeout = Duration.seconds(30)
  /// The longest answer that is read, in bytes.
  private static let maximumAnswer = 512 << 10

  /// A mailbox for one room. Throws when the address is none.
  public init(
    url: String, room: String, tokens: TokenSource, tlsCAFile: String? = nil
  ) throws(RoomError) {
    do {
      self.url = try SignalURL(url)
    } catch {
      throw RoomError(.invalidURL, "\(error)")
    }
    self.room = room
    self.tokens = tokens
    self.tlsCAFile = tlsCAFile
  }

  /// Sends the request and reads the answer.
  public func perform(
    _ request: MailboxRequest, completion: @escaping @Sendable (Result<MailboxView, MailboxFault>) -> Void
  ) {
    let token: String
    do throws(RoomError) {
      token = try tokens.token(now: WallClock.seconds, refreshed: nil)
    } catch {
      completion(.failure(.failed(error)))
      return
    }
    let message = message(request, token: token)
    let isSeat = if case .takeSeat = request { true } else { false }
    let limit = if case .watch = request { Self.watchTimeout } else { Self.requestTimeout }
    Task { [url, tlsCAFile] in
      do {
        let answer = try await message.answer(
          of: url, tlsCAFile: tlsCAFile, within: limit, atMost: Self.maximumAnswer)
        completion(Self.result(answer, url, isSeat: isSeat))
      } catch {
        completion(.failure(.failed(Self.error(error, url))))
      }
    }
  }

  // MARK: The wire

  private func message(_ request: MailboxRequest, token: String) -> ServerRequest {
    let path = "/mailbox/v1/\(PercentCoding.encode(room))"
    func session(_ session: String) -> String { "?session=\(PercentCoding.encode(session))" }
    func put(_ method: HTTPMethod, _ target: String, _ body: [UInt8]) -> ServerRequest {
      ServerRequest(method: method, target: target, token: token, contentType: "application/json", body: body)
    }
    func ask(_ method: HTTPMethod, _ target: String) -> ServerRequest {
      ServerRequest(method: method, target: target, token: token)
    }
    return switch request {
    case .takeSeat(let seat): put(.PUT, "\(path)/seat", MailboxCoding.encode(seat))
    case .leave(let own): ask(.DELETE, "\(path)/seat\(session(own))")
    case .put(let own, let description):
      put(.PUT, "\(path)/description\(session(own))", MailboxCoding.encode(description))
    case .clear(let own): ask(.DELETE, "\(path)/description\(session(own))")
    case .add(let own, let candidates):
      put(.POST, "\(path)/candidates\(session(own))", MailboxCoding.encode(candidates))
    case .watch(let own, let revision): ask(.GET, "\(path)\(session(own))&after=\(revision)")
    }
  }

  /// What an answer means.
  private static func result(
    _ answer: WholeAnswer, _ url: SignalURL, isSeat: Bool
  ) -> Result<MailboxView, MailboxFault> {
    if answer.status == 200 {
      guard let view = MailboxCoding.decode(MailboxView.self, from: answer.body) else {
        return .failure(.failed(RoomError(.protocolError, "the mailbox's answer is not what is expected")))
      }
      return .success(view)
    }
    let text = String(decoding: answer.body.prefix(PeerText.longest), as: UTF8.self)
    switch answer.status {
    // A wrong path answers 404 too; only a seat that was taken can be lost.
    case 404 where text.hasPrefix("no seat") && !isSeat: return .failure(.noSeat)
    case 404: return .failure(.failed(RoomError(.notARoomServer, "\(url) has no mailbox")))
    case 410: return .failure(.replaced)
    case 409: return .failure(text.hasPrefix("stale") ? .stale : .occupied(RoomError.oneLine(text)))
    default: return .failure(.failed(.refusedUpgrade(status: answer.status, text: text)))
    }
  }

  /// What it means that there is none.
  private static func error(_ error: any Error, _ url: SignalURL) -> RoomError {
    switch error {
    case WholeAnswer.Fault.web(.late): RoomError(.timeout, url.hostHeader)
    case WholeAnswer.Fault.web(.unanswered), WholeAnswer.Fault.web(.cut), WholeAnswer.Fault.tooLong:
      RoomError(.refused, "\(url.hostHeader) closed the connection without an answer")
    case WholeAnswer.Fault.web(let fault): RoomError(connecting: fault, to: url)
    default: RoomError(connecting: error, to: url)
    }
  }
}
