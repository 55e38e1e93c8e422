import Foundation
import Glibc
import MediaCore

/// What must be known to go on with a multipart upload after a crash; kept beside the file that is sent.
struct UploadJournal: Codable, Hashable, Sendable {
  var endpoint: String
  var bucket: String
  var key: String
  var upload: String
  var partSize: Int64

  enum CodingKeys: String, CodingKey {
    case endpoint, bucket, key, upload
    case partSize = "part_size"
  }

  /// Where the journal of a file is.
  static func path(of file: String) -> String { file + ".upload" }

  /// The journal of a file, if there is one that can be read. Blocks.
  static func read(for file: String) -> UploadJournal? {
    guard let data = FileManager.default.contents(atPath: path(of: file)), data.count <= 1 << 16 else { return nil }
    return try? BoundedJSON.decode(UploadJournal.self, from: Array(data), limits: JSONLimits(bytes: 1 << 16))
  }

  /// Writes the journal: there is the old one, or the new one, never half of it. Blocks.
  func write(for file: String) throws(DeliveryError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return }
    try AtomicFile.write(Array(data), to: Self.path(of: file))
  }

  /// Removes the journal of a file. Blocks.
  static func remove(for file: String) { unlink(path(of: file)) }
}
