import MediaCore
import Platform
import Session
import Signaling
import SwiftProtobuf
import WebClient

/// What somebody whose token says `roomAdmin` may ask of a LiveKit server (its `RoomService`). May be used on any thread.
public struct RoomModeration: Sendable {
  /// How long an answer may take.
  private static let patience = Duration.seconds(10)
  /// The longest answer that is read, in bytes.
  private static let longestAnswer = 64 << 10

  private let options: RoomOptions
  private let room: String

  /// Of a room of this name, with the address and the tokens that the room is joined with.
  public init(_ options: RoomOptions, room: String) { (self.options, self.room) = (options, room) }

  /// Disables somebody's track, or enables it again where the server allows that. Throws `notPermitted` without the right,
  /// `rejected` for what is not there, and what is wrong with the connection.
  public func mute(
    _ track: TrackID, of identity: ParticipantIdentity, _ isMuted: Bool = true
  ) async throws(RoomError) {
    try await call(
      "MutePublishedTrack",
      Livekit_MuteRoomTrackRequest.with {
        ($0.room, $0.identity, $0.trackSid, $0.muted) = (room, identity.rawValue, track.rawValue, isMuted)
      })
  }

  /// Sends somebody out of the room. Throws as `mute`.
  public func remove(_ identity: ParticipantIdentity) async throws(RoomError) {
    try await call(
      "RemoveParticipant",
      Livekit_RoomParticipantIdentity.with { ($0.room, $0.identity) = (room, identity.rawValue) })
  }

  private func call(_ method: String, _ message: some Message & Sendable) async throws(RoomError) {
    let url: SignalURL
    do {
      url = try SignalURL(options.url)
    } catch {
      throw RoomError(.invalidURL, "\(error)")
    }
    let request = ServerRequest(
      method: .POST, target: "/twirp/livekit.RoomService/\(method)",
      token: try options.tokens.token(now: WallClock.seconds, refreshed: nil), contentType: "application/protobuf",
      body: SignalCoding.encode(message, asText: false))
    let answer: WholeAnswer
    do {
      answer = try await request.answer(
        of: url, tlsCAFile: options.tlsCAFile, within: Self.patience, atMost: Self.longestAnswer)
    } catch let error as RoomError {
      throw error
    } catch {
      throw RoomError(.refused, "\(method): \(error)")
    }
    switch answer.status {
    case 200: return
    case 401, 403:
      throw RoomError(
        .notPermitted, "\(method): HTTP \(answer.status)", httpStatus: answer.status,
        advice: "Give a token whose grants have roomAdmin for this room")
    default:
      throw RoomError(
        .rejected, "\(method): HTTP \(answer.status), \(String(decoding: answer.body, as: UTF8.self))",
        httpStatus: answer.status)
    }
  }
}
