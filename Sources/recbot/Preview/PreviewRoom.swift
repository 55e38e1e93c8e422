import Layouts
import MediaCore

/// A made-up room for previews. Pure: everything follows from its numbers.
struct PreviewRoom: Hashable {
  /// How many people there are.
  var participants = 5
  /// Numbers of people, from 1.
  var muted: Set<Int> = []
  var withoutVideo: Set<Int> = []
  var upright: Set<Int> = []
  var pinned: [Int] = []
  var spotlight: Int?
  /// Who talks; 0: nobody has talked yet.
  var talker = 1
  /// Who shares a screen; 0: nobody.
  var presenter = 0

  static let cameraSize = (width: 640, height: 360)
  static let screenSize = (width: 1280, height: 720)

  /// Display name of a person, from 1; names come round again with a number.
  static func name(_ person: Int) -> String {
    let round = (person - 1) / DemoScript.names.count
    return DemoScript.names[(person - 1) % DemoScript.names.count] + (round > 0 ? " \(round + 1)" : "")
  }

  static func identity(_ person: Int) -> ParticipantIdentity {
    ParticipantIdentity(name(person).lowercased().replacing(" ", with: "-"))
  }

  static func camera(_ person: Int) -> TileKey { .camera(identity(person)) }

  /// True for the talker, unless nobody can hear them: then they have only been the last to talk.
  func isTalking(_ person: Int) -> Bool { talker == person && !muted.contains(person) }

  /// The room as a layout sees it. Those before the talker have talked before.
  var view: RoomView {
    var sources: [LayoutSource] = []
    for person in 1...max(participants, 1) where person <= participants {
      let hasPicture = !withoutVideo.contains(person)
      let (width, height) = Self.cameraSize
      let isUpright = upright.contains(person)
      sources.append(
        LayoutSource(
          key: Self.camera(person), hasPicture: hasPicture, pictureWidth: isUpright ? height : width,
          pictureHeight: isUpright ? width : height, displayName: Self.name(person), trackName: "camera",
          trackID: "TR_C\(person)"))
      if person == presenter {
        sources.append(
          LayoutSource(
            key: .screenShare(Self.identity(person)), pictureWidth: Self.screenSize.width,
            pictureHeight: Self.screenSize.height, displayName: Self.name(person), trackName: "screen",
            trackID: "TR_S\(person)"))
      }
    }
    let talkers = talker > 0 ? stride(from: talker, through: 1, by: -1).prefix(4).map { Self.camera($0) } : []
    return RoomView(
      sources: sources, talkers: Array(talkers), pinned: pinned.map { Self.camera($0) },
      spotlight: spotlight.map { Self.camera($0) })
  }
}
