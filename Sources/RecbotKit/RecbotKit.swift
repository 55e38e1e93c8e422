// The names of other modules that are part of the library's face.
import FrameEncryption
import Logging
import MediaCore
import Rooms
import Session
import Signaling
import Transport

/// What went wrong between the bot and a room; each has a stable name, a cause, and a remedy.
public typealias RoomError = Rooms.RoomError
/// Where tokens come from, and a token that is replaced from time to time.
public typealias TokenSource = Rooms.TokenSource
/// A token that somebody else makes, and replaces before it ends.
public typealias RenewedToken = Rooms.RenewedToken
/// When to wait, to come back, and to give up.
public typealias ReconnectSettings = Rooms.ReconnectPolicy.Settings
/// What was sent of a track on its present connection.
public typealias SendingStatistics = Rooms.SendingStatistics
/// The keys of a room whose media is encrypted end to end: a passphrase or key for everybody, or one for each participant.
public typealias FrameKeys = FrameEncryption.FrameKeys
/// Which of the two sides of a two-party room one is: the host makes the offers, the guest answers them.
public typealias PeerRole = Signaling.PeerRole
/// A STUN or TURN server.
public typealias ICEServer = Transport.ICEServer
/// A participant as its token names it; the same when it leaves and comes back.
public typealias ParticipantIdentity = MediaCore.ParticipantIdentity
/// The room's name of one publication.
public typealias TrackID = MediaCore.TrackID
/// Sound or pictures.
public typealias MediaKind = MediaCore.MediaKind
/// Camera, microphone, screen…
public typealias TrackSource = Session.TrackSource
/// What an application sent through the room.
public typealias DataMessage = Session.DataMessage
/// What somebody wrote to the others.
public typealias ChatMessage = Session.ChatMessage
/// What somebody said, written down.
public typealias Caption = Session.Caption
/// How the connection does; about each second.
public typealias NetworkReport = Session.NetworkReport
/// Why the bot is not in the room any more.
public typealias DisconnectReason = Session.SessionEnd
/// What is done to pictures and to sound before anybody sees or hears them.
public typealias TrackProcessors = MediaCore.TrackProcessors
/// What can be done to pictures.
public typealias VideoProcessor = MediaCore.VideoProcessor
/// What can be done to sound.
public typealias AudioProcessor = MediaCore.AudioProcessor

// What the recorder of this package says of a room, beside the library's face.

/// Which room to join, how, and what to receive of it.
package typealias RoomOptions = Rooms.RoomOptions
/// What kind of room it is: a LiveKit server's, or one of two people.
package typealias RoomKind = Rooms.RoomKind
/// Whose tracks of a room are received.
package typealias RoomSelection = Rooms.RoomSelection
/// How a room's connection stands, and what is done about an error.
package typealias RoomStatus = Rooms.RoomStatus
/// When a lost connection is tried again.
package typealias ReconnectPolicy = Rooms.ReconnectPolicy
