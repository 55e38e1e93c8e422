import JobsAPI

/// The parts that a run makes: one for each process that got a picture into its file.
///
///     growing ──► whole       its process said how it ended: the file needs no repair
///            └──► unsettled   its process broke off: the file must be looked at
///                      └──► settled
///
/// Beside that each part is told to the backend whenever more is known of it than was told. A pure value.
struct RunParts: Hashable, Sendable {
  private enum State: Hashable { case growing, whole, unsettled, settled }

  private struct Entry: Hashable {
    let path: String
    var state = State.growing
    /// What is known; nil until there is a picture.
    var part: JobPart?
    var isTold = true
  }

  private var entries: [Entry] = []

  /// A process begins to write a file.
  mutating func begin(_ piece: RunPiece) { entries.append(Entry(path: piece.path)) }

  /// Keeps what is known of a part. True when it is the first that is known.
  mutating func update(_ part: JobPart) -> Bool {
    guard let index = index(part.location) else { return false }
    let isFirst = entries[index].part == nil
    entries[index].part = part
    entries[index].isTold = false
    return isFirst
  }

  /// The file's process ended well. False when no picture came into it.
  mutating func close(_ path: String) -> Bool {
    guard let index = index(path) else { return false }
    entries[index].state = .whole
    return entries[index].part != nil
  }

  /// The file's process broke off.
  mutating func breakOff(_ path: String) {
    if let index = index(path) { entries[index].state = .unsettled }
  }

  /// The file that a process left was looked at.
  mutating func settle(_ path: String) {
    if let index = index(path) { entries[index].state = .settled }
  }

  /// The backend has heard this of a part. More may be known by now.
  mutating func told(_ part: JobPart) {
    if let index = index(part.location), entries[index].part == part { entries[index].isTold = true }
  }

  /// The backend may know nothing of any part.
  mutating func forgetTold() { for index in entries.indices { entries[index].isTold = entries[index].part == nil } }

  /// The parts, in the order in which they began.
  var all: [JobPart] { entries.compactMap(\.part) }
  /// Those of which the backend has not heard the newest.
  var untold: [JobPart] { entries.filter { !$0.isTold }.compactMap(\.part) }
  /// True when every file that a process left was looked at.
  var isSettled: Bool { !entries.contains { $0.state == .unsettled } }
  /// What is known of the part in a file; nil: no picture is known.
  func part(at path: String) -> JobPart? { index(path).flatMap { entries[$0].part } }
  /// True when the file's process ended well.
  func isWhole(_ path: String) -> Bool { index(path).map { entries[$0].state == .whole } ?? false }

  /// These parts and those that the backend knew before, in order of time.
  func all(after known: [JobPart]) -> [JobPart] {
    let here = Set(all.map(\.location))
    return (known.filter { !here.contains($0.location) } + all).sorted { $0.startedAt < $1.startedAt }
  }

  private func index(_ path: String) -> Int? { entries.firstIndex { $0.path == path } }
}
