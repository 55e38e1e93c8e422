import MediaCore
import Session

/// The bot's own name of a track that it publishes: one for each, never used again on its connection.
public struct LocalTrackID: Hashable, Sendable, Comparable {
  /// Counts from 1.
  public let rawValue: Int
  /// Wraps a number.
  public init(_ rawValue: Int) { self.rawValue = rawValue }
  /// Orders by age.
  public static func < (a: LocalTrackID, b: LocalTrackID) -> Bool { a.rawValue < b.rawValue }
}

/// What a track says of itself when it is published.
public struct LocalTrackDescription: Hashable, Sendable {
  /// One encoding of a video track that is published in several sizes (simulcast, RFC 8853).
  public struct Layer: Hashable, Sendable {
    /// Columns of its pictures.
    public var width: Int
    /// Rows of its pictures.
    public var height: Int
    /// What it takes at most, bits per second.
    public var bitrate: Int

    /// Makes a layer; see the properties.
    public init(width: Int, height: Int, bitrate: Int) {
      (self.width, self.height, self.bitrate) = (width, height, bitrate)
    }
  }

  /// The publisher's name of it, as others see it.
  public var name: String
  /// Camera, microphone, screen…
  public var source: TrackSource
  /// The codec that is sent.
  public var codec: Codec
  /// Of video, the encodings from the smallest to the largest, at most three; one: no simulcast. None for sound.
  public var layers: [Layer]
  /// Whether it is disabled from the beginning.
  public var isMuted = false
  /// Of sound, whether silence may be left out (RFC 6716 section 2.1.9, DTX). The room is told.
  public var isDiscontinuous = true

  /// Makes a description; see the properties.
  public init(name: String, source: TrackSource, codec: Codec, layers: [Layer] = []) {
    (self.name, self.source, self.codec, self.layers) = (name, source, codec, layers)
  }

  /// LiveKit's names of the layers, from the smallest to the largest: quarter, half and full, of two the first
  /// two, as its own clients name them.
  var rids: [RID] { layers.count > 1 ? ["q", "h", "f"].prefix(layers.count).map { RID($0) } : [] }
}

/// What becomes of the tracks that are published.
public enum PublishingEvent: Hashable, Sendable {
  /// The room has the track, under this name. Also again, under another name, after the session had to be joined anew.
  case published(LocalTrackID, TrackID)
  /// The connection that carried it is lost; it is published again with the session.
  case interrupted(LocalTrackID)
  /// Somebody with the right to do so has disabled the track (true), or allows it to be enabled.
  case muted(LocalTrackID, Bool)
  /// Somebody needs a keyframe: of one layer, or of all (nil).
  case keyframeWanted(LocalTrackID, layer: Int?)
  /// The track is not published, and will not be: the room refuses it, or has taken it away.
  case ended(LocalTrackID, RoomError)
}

/// What was sent of a track on its present connection.
public struct SendingStatistics: Hashable, Sendable {
  /// Packets of media, of all layers, without those that were sent again.
  public var packets = 0
  /// Bytes of media in them, without headers.
  public var bytes = 0
  /// Packets that the server asked for and got again.
  public var retransmitted = 0
  /// The part that was lost on the way to the server by its last report, 0...1.
  public var fractionLost = 0.0
  /// To the server and back by its last report; nil before.
  public var roundTripTime: Duration?

  /// Nothing sent yet.
  public init() {}
}

/// A room connection that sends tracks, too. May be called on any thread.
public protocol TrackPublisher: RoomClient {
  /// Tells the room that a track is disabled or enabled. What is sent of it the caller decides.
  func setMuted(_ track: LocalTrackID, _ isMuted: Bool)
  /// Sends an encoded frame, if the track is published and the way there stands: a layer's number counts from the smallest.
  /// `rtpTime` is in ticks of the codec's clock, `capturedAt` of `MonotonicClock`; `audioLevel` in -dBov (RFC 6464).
  func send(
    _ frame: MediaBuffer, of track: LocalTrackID, layer: Int, rtpTime: UInt32, capturedAt: Instant, audioLevel: UInt8?,
    isVoice: Bool)
  /// What was sent of a track; nil while it is not published.
  func statistics(of track: LocalTrackID) async -> SendingStatistics?
}

/// A connection to a room whose server takes tracks at any time, and messages over data channels (RFC 8831). May be called on any thread.
public protocol RoomPublisher: TrackPublisher {
  /// Publishes a track from now on, also after every return of the connection, until it is withdrawn; a `PublishingEvent` tells
  /// what becomes of it. In a room that is joined later it waits for that.
  func publish(_ track: LocalTrackDescription) -> LocalTrackID
  /// Withdraws a track; no event follows.
  func unpublish(_ track: LocalTrackID)
  /// Sends a message to the others, or to some. Returns when it is on its way.
  func send(_ message: OutgoingMessage) async throws(RoomError)
}
