import Foundation
import MediaCore
import RecbotKit
import Synchronization

/// People who show prepared files: what they publish is encoded already.
final class PlayedStage: PeopleStage {
  private struct Person {
    var name: String
    var file: PreparedFile
  }

  private let people: [Person]
  private let place: PeoplesRoom
  private let rooms = Mutex<[Room]>([])

  /// Reads a folder: each `NAME.webm` is a person, and `NAME_….webm` beside it is the same picture in another size. `participants`: so many,
  /// who begin again with the first file after the last; nil: one for each file.
  init(folder: String, participants: Int?, place: PeoplesRoom) throws {
    let groups = try Self.groups(in: folder)
    let count = participants ?? groups.count
    guard count <= PeopleCommand.limit else {
      throw Failure(
        .usage, "\(folder) has \(count) people; say with --participants how many come, \(PeopleCommand.limit) at most")
    }
    self.place = place
    people = try (0..<count).map { number in
      let (name, paths) = groups[number % groups.count]
      let round = number / groups.count
      do throws(FileError) {
        return Person(
          name: round > 0 ? "\(name)-\(round + 1)" : name, file: try PreparedFile(paths: paths, repeats: true))
      } catch {
        throw Failure(.usage, "--play: \(error)")
      }
    }
  }

  var count: Int { people.count }

  /// The files of each person, by name.
  private static func groups(in folder: String) throws -> [(name: String, paths: [String])] {
    let files: [String]
    do {
      files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".webm") }
    } catch {
      throw Failure(.usage, "--play: the folder \(folder) cannot be read; give one with a NAME.webm for each person")
    }
    let names = files.map { String($0.dropLast(5)) }.sorted()
    guard !names.isEmpty else {
      throw Failure(.usage, "--play: \(folder) holds no .webm file; give a folder with a NAME.webm for each person")
    }
    // The name without an underscore, or without a person before it, is a person's.
    func owner(of name: String) -> String? { names.first { name.hasPrefix($0 + "_") } }
    return names.filter { owner(of: $0) == nil }.map { person in
      let all = [person] + names.filter { owner(of: $0) == person }
      return (person, all.map { "\(folder)/\($0).webm" })
    }
  }

  func begin() async throws {
    let threads = RoomThreads(name: "people")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for person in people { group.addTask { [self] in try await join(person, threads) } }
      try await group.waitForAll()
    }
  }

  private func join(_ person: Person, _ threads: RoomThreads) async throws {
    let token = try place.token(identity: person.name, name: person.name)
    let room = try await Room.connect(url: place.url, token: token, options: place.options(threads))
    rooms.withLock { $0.append(room) }
    if let video = person.file.video { try await room.localParticipant.publish(EncodedVideoTrack(frames: video)) }
    if let audio = person.file.audio {
      try await room.localParticipant.publish(EncodedAudioTrack(name: "mic", frames: audio))
    }
  }

  func end() async {
    await withTaskGroup(of: Void.self) { group in
      for room in rooms.withLock({ $0 }) { group.addTask { await room.disconnect() } }
    }
  }
}
