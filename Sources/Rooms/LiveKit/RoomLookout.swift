import Signaling
import Synchronization
import WebClient

/// Asks a LiveKit server for one room (`RoomService.ListRooms`), again and again over one connection that is kept, so
/// that it costs little to ask often. One question at a time. Used on any thread.
final class RoomLookout: Sendable {
  /// Whether the room is there. False also for a server that cannot say so now; nil for one that never will: it doesn't
  /// know the question, or doesn't allow it.
  typealias Answer = @Sendable (Bool?) -> Void

  /// How long an answer may take.
  private static let patience = Duration.seconds(3)
  /// The longest answer that is read, in bytes.
  private static let longestAnswer = 64 << 10

  private struct State {
    var task: Task<Void, Never>?
    var isClosed = false
  }

  private let url: SignalURL
  private let tlsCAFile: String?
  private let state = Mutex(State())

  init(url: SignalURL, tlsCAFile: String?) {
    self.url = url
    self.tlsCAFile = tlsCAFile
  }

  /// Asks; `answer` is called once on another thread, unless it is closed before. Without effect while the answer to
  /// another question is awaited.
  func ask(for room: String, token: String, answer: @escaping Answer) {
    state.withLock { state in
      guard !state.isClosed, state.task == nil else { return }
      state.task = Task {
        let isThere = await isThere(room, token)
        let isAwaited = self.state.withLock { state in
          state.task = nil
          return !state.isClosed
        }
        if isAwaited { answer(isThere) }
      }
    }
  }

  /// Ends it. No answer comes any more.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.task?.cancel()
      state.task = nil
    }
  }

  private func isThere(_ room: String, _ token: String) async -> Bool? {
    let list = Livekit_ListRoomsRequest.with { $0.names = [room] }
    let request = ServerRequest(
      method: .POST, target: "/twirp/livekit.RoomService/ListRooms", token: token,
      contentType: "application/protobuf", body: SignalCoding.encode(list, asText: false), mayReuse: true)
    do {
      let answer = try await ask(request)
      switch answer.status {
      case 200:
        let list = SignalCoding.decode(Livekit_ListRoomsResponse.self, answer.body, isText: false)
        return list.map { $0.rooms.contains { $0.name == room } }
      case 408, 429, 500, 502, 503, 504: return false
      default: return nil
      }
    } catch is RoomError {
      return nil
    } catch {
      return false
    }
  }

  /// A connection that was closed just when it was used again is no answer: another one is asked.
  private func ask(_ request: ServerRequest) async throws -> WholeAnswer {
    func once() async throws -> WholeAnswer {
      try await request.answer(of: url, tlsCAFile: tlsCAFile, within: Self.patience, atMost: Self.longestAnswer)
    }
    do {
      return try await once()
    } catch WholeAnswer.Fault.web(.unanswered) {
      return try await once()
    }
  }
}
