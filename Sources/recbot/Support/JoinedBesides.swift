import Foundation
import Glibc
import JobsAPI
import MediaCore
import Recording
import Session
import WebM

/// What `recbot concat` writes beside the joined file: one manifest and one file of who talks when, of those beside the parts.
struct JoinedBesides {
  /// Bytes of all parts' documents that are read. What is more counts as not there.
  private static let mostOfAll = 128 << 20
  /// Where the manifest goes; nil: none is wanted.
  let manifest: String?
  /// Where the file of who talks when goes; nil: none is wanted.
  let talkers: String?

  /// Writes them. Gives one line for each that could not be written: the recording stays all the same. Blocks.
  func write(_ summary: Concatenation.Summary, of output: String, title: String, date: Int64?) -> [String] {
    let parts = parts(of: summary)
    let name = output.split(separator: "/").last.map(String.init) ?? output
    var faults: [String] = []
    func write(_ text: String, to path: String, _ what: String) {
      do {
        try ManifestJoin.write(text, to: path)
      } catch {
        faults.append("\(what) is not written: \(error)")
      }
    }
    if let manifest {
      let file = ManifestJoin.File(
        name: name, bytes: Int64(clamping: summary.file.size), length: summary.file.duration.milliseconds,
        title: title, start: date)
      write(parts.manifest(of: file), to: manifest, "the manifest")
    }
    if let talkers { write(parts.talkers(), to: talkers, "the file of who talks when") }
    return faults
  }

  private func parts(of summary: Concatenation.Summary) -> ManifestJoin {
    var room = Self.mostOfAll
    return ManifestJoin(
      summary.parts.enumerated().map { index, part in
        let next = index + 1 < summary.parts.count ? summary.parts[index + 1].start : .zero + summary.file.duration
        // Sound and pictures of a part end a moment apart: that is no gap.
        let end = summary.gaps.first { $0.start > part.start && $0.start <= next }?.start ?? next
        func bytes(_ kind: JobSideFile.Kind, _ most: Int) -> [UInt8]? {
          let bytes = Self.bytes(kind.path(beside: part.path), most: min(most, room))
          room -= bytes?.count ?? 0
          return bytes
        }
        return ManifestJoin.Part(
          start: part.start.milliseconds, end: end.milliseconds,
          manifest: manifest.flatMap { _ in bytes(.manifest, QualityReport.longest) },
          talkers: talkers.flatMap { _ in bytes(.talkers, ManifestJoin.longestTalkers) })
      })
  }

  /// A file's content; nil when there is none, or it is longer.
  private static func bytes(_ path: String, most: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= most,
      let data = try? file.read(upToCount: most)
    else { return nil }
    return Array(data)
  }
}
