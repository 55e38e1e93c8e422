import MediaCore

/// Carries a plan out in the file itself. What can be read of the media is never moved or changed; at every moment the
/// file plays at least as well as before, and can be repaired again:
///
/// 1. What cannot be read at the end is cut off. A hole gets the head of a Void element, and a Cluster whose size is
///    wrong its size: until then, parsers stop there.
/// 2. Cues and Chapters are appended, each wholly or not at all (see `AppendFile`).
/// 3. All that is made durable. Then the head is changed: in one write where it is one page, as in recbot's own files.
/// 4. Cues and SeekHeads that lead nowhere become Voids.
///
/// Confined to one thread.
struct RepairWriter {
  private let plan: RepairPlan
  private let file: OutputFile

  private var scan: RepairScan { plan.scan }

  init(_ plan: RepairPlan, _ file: OutputFile) {
    self.plan = plan
    self.file = file
  }

  /// Does it. Throws `.write`, `.full`, `.sync`.
  func write() throws(WebMError) {
    if scan.tail > 0 { try file.truncate(to: scan.end) }
    for hole in scan.holes { try makeVoid(hole.position, length: hole.length) }
    for cluster in scan.clusterEnds { try put(plan.sizeEdit(cluster.head, end: cluster.end)) }
    for checksum in scan.brokenChecksums {
      try put(RepairPlan.Edit(position: checksum, bytes: [UInt8(ElementID.void)]))
    }
    let (end, places) = try append()
    try file.syncEverything()
    let edits = plan.headEdits(end: end, appended: places)
    if !edits.isEmpty {
      for edit in try joined(edits) { try put(edit) }
      try file.syncEverything()
    }
    if !plan.stale.isEmpty {
      for head in plan.stale { try makeVoid(head.position, length: (head.end ?? head.dataStart) - head.position) }
      try file.syncEverything()
    }
  }

  /// Puts Cues and Chapters behind the last element. Returns where the file ends, and where they are.
  private func append() throws(WebMError) -> (end: Int64, places: [(id: UInt32, position: Int64)]) {
    var index = WebMIndex()
    if plan.needsCues { for cue in scan.cues.list { index.addCue(cue) } }
    for chapter in plan.chapters { index.addChapter(start: chapter.start, end: chapter.end, title: chapter.title) }
    let parts = index.parts(duration: plan.duration.milliseconds, hasTags: false)
    guard !parts.isEmpty else {
      if scan.reserve < scan.end { try file.truncate(to: scan.reserve) }
      return (scan.reserve, [])
    }
    var output = try AppendFile(continuing: file, end: scan.reserve, limit: scan.end)
    var places: [(id: UInt32, position: Int64)] = []
    for var part in parts {
      places.append((part.id, output.end))
      try output.append(&part.bytes)
    }
    try output.trim()
    return (output.end, places)
  }

  /// Writes the head of a Void over the beginning of what it is to cover.
  private func makeVoid(_ position: Int64, length: Int64) throws(WebMError) {
    var head = EBMLBuffer(capacity: 16)
    RepairPlan.putVoidHead(&head, total: length)
    try put(RepairPlan.Edit(position: position, bytes: head.bytes))
  }

  /// Writes bytes. Where they lie in two pages the later ones come first: the first byte of an element is what counts.
  private func put(_ edit: RepairPlan.Edit) throws(WebMError) {
    let room = Int(AppendFile.pageSize - edit.position % AppendFile.pageSize)
    if edit.bytes.count > room {
      try file.write(edit.bytes, from: room, at: edit.position + Int64(room))
      try file.write(edit.bytes, to: room, at: edit.position)
    } else {
      try file.write(edit.bytes, at: edit.position)
    }
  }

  /// The edits as one, when they lie in one page: then they take effect at once.
  private func joined(_ edits: [RepairPlan.Edit]) throws(WebMError) -> [RepairPlan.Edit] {
    guard let start = edits.map(\.position).min(), let end = edits.map(\.end).max(),
      start / AppendFile.pageSize == (end - 1) / AppendFile.pageSize
    else { return edits }
    var bytes = [UInt8](repeating: 0, count: Int(end - start))
    let source = try ByteSource(descriptor: file.descriptor, path: file.path)
    guard try source.read(into: &bytes, at: start) == bytes.count else { return edits }
    for edit in edits {
      let from = Int(edit.position - start)
      bytes.replaceSubrange(from..<from + edit.bytes.count, with: edit.bytes)
    }
    return [RepairPlan.Edit(position: start, bytes: bytes)]
  }
}
