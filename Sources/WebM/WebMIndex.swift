import MediaCore

/// What is collected while recording and written when it ends: Cues, Chapters and Tags.
struct WebMIndex {
  private struct Chapter {
    var start: SessionTime
    var end: SessionTime?
    var title: String
  }

  /// A place to seek to.
  struct Cue {
    /// The frame's time, in ticks of the file: milliseconds in those that are recorded.
    var time: Int64
    /// Its track's number.
    var track: UInt64
    /// Where its Cluster begins, in the Segment's data.
    var position: Int64
    /// Where its block begins, in the Cluster's data.
    var relativePosition: Int64
  }

  private var cues: [Cue] = []
  private var chapters: [Chapter] = []
  /// Tags of the whole file, in the order in which they were set first.
  private(set) var tags: [WebMConfiguration.Tag] = []
  private var chapterBytes: Int64 = 0
  private var tagBytes: Int64 = 0

  init() { cues.reserveCapacity(4096) }

  /// More bytes than `parts` take. At any time, so that room for them can be kept: IDs, sizes and numbers are counted at
  /// their longest.
  var sizeLimit: Int64 { 128 + Int64(cues.count) * 64 + chapterBytes + tagBytes }

  /// Number of Cues.
  var cueCount: Int { cues.count }

  /// Adds a Cue.
  mutating func addCue(_ cue: Cue) { cues.append(cue) }

  /// Forgets Cues of Clusters that did not reach the file.
  mutating func removeCues(from position: Int64) {
    while let last = cues.last, last.position >= position { cues.removeLast() }
  }

  /// Adds a chapter; see `WebMWriter.addChapter`.
  mutating func addChapter(start: SessionTime, end: SessionTime?, title: String) {
    let title = WebMHead.prefix(of: title, bytes: 512)
    chapters.append(Chapter(start: max(.zero, start), end: end, title: title))
    chapterBytes += 96 + Int64(title.utf8.count)
  }

  /// Sets or takes away a tag; see `WebMWriter.setTag`.
  mutating func setTag(_ name: String, _ value: String) {
    let name = WebMHead.prefix(of: name, bytes: 512)
    let value = WebMHead.prefix(of: value, bytes: 65_536)
    guard !name.isEmpty else { return }
    if let index = tags.firstIndex(where: { $0.name == name }) {
      if value.isEmpty { tags.remove(at: index) } else { tags[index].value = value }
    } else if !value.isEmpty {
      tags.append(WebMConfiguration.Tag(name: name, value: value))
    }
    tagBytes = tags.reduce(0) { $0 + 48 + Int64($1.name.utf8.count + $1.value.utf8.count) }
  }

  /// The level 1 elements that have content; tags only when they have no room in the head. `duration` ends chapters that
  /// nothing else ends, in milliseconds.
  func parts(duration: Int64, hasTags: Bool) -> [(id: UInt32, bytes: EBMLBuffer)] {
    var parts: [(id: UInt32, bytes: EBMLBuffer)] = []
    func add(_ id: UInt32, _ body: (inout EBMLBuffer) -> Void) {
      var bytes = EBMLBuffer()
      bytes.putMaster(id, body)
      parts.append((id, bytes))
    }
    if !cues.isEmpty { add(ElementID.cues, putCues) }
    if !chapters.isEmpty { add(ElementID.chapters) { putChapters(&$0, duration: duration) } }
    if hasTags, !tags.isEmpty { add(ElementID.tags) { Self.putTags(&$0, tags) } }
    return parts
  }

  /// RFC 9559 section 5.1.5.
  private func putCues(_ buffer: inout EBMLBuffer) {
    for cue in cues {
      buffer.putMaster(ElementID.cuePoint) { point in
        point.putUnsigned(ElementID.cueTime, UInt64(max(0, cue.time)))
        point.putMaster(ElementID.cueTrackPositions) { positions in
          positions.putUnsigned(ElementID.cueTrack, cue.track)
          positions.putUnsigned(ElementID.cueClusterPosition, UInt64(max(0, cue.position)))
          positions.putUnsigned(ElementID.cueRelativePosition, UInt64(max(0, cue.relativePosition)))
        }
      }
    }
  }

  /// RFC 9559 section 5.1.7. Chapter times are in nanoseconds.
  private func putChapters(_ buffer: inout EBMLBuffer, duration: Int64) {
    let sorted = chapters.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
    buffer.putMaster(ElementID.editionEntry) { edition in
      for (position, chapter) in sorted.map(\.element).enumerated() {
        let next = position + 1 < sorted.count ? sorted[position + 1].element.start : .zero + .milliseconds(duration)
        let end = max(chapter.start, chapter.end ?? next)
        edition.putMaster(ElementID.chapterAtom) { atom in
          atom.putUnsigned(ElementID.chapterUID, UInt64(position + 1))
          atom.putUnsigned(ElementID.chapterTimeStart, UInt64(chapter.start.nanoseconds))
          atom.putUnsigned(ElementID.chapterTimeEnd, UInt64(end.nanoseconds))
          atom.putMaster(ElementID.chapterDisplay) { display in
            display.putString(ElementID.chapString, chapter.title)
            display.putString(ElementID.chapLanguage, "und")
          }
        }
      }
    }
  }

  /// RFC 9559 section 5.1.8: one Tag for the whole Segment (empty Targets).
  static func putTags(_ buffer: inout EBMLBuffer, _ tags: [WebMConfiguration.Tag]) {
    buffer.putMaster(ElementID.tag) { tag in
      tag.putMaster(ElementID.targets) { _ in }
      for entry in tags {
        tag.putMaster(ElementID.simpleTag) { simple in
          simple.putString(ElementID.tagName, entry.name)
          simple.putString(ElementID.tagString, entry.value)
        }
      }
    }
  }
}
