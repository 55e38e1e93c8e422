import NIOCore

/// The finished files in folders of this machine, as the backend reads and removes them; the program hands them in. Any
/// task.
public protocol RecordingFolder: Sendable {
  /// An open file.
  associatedtype File: OpenRecording
  /// The name of the data folder that the files belong to.
  var folderID: String { get }
  /// Opens a file by its location, as jobs have it; nil when no such file is there. Never blocks the pool. Throws when it
  /// can't be read; the error's description is one line.
  func open(_ location: String) async throws -> File?
  /// Removes a file; false when there is none. Never blocks the pool. Throws as `open` does.
  func remove(_ location: String) async throws -> Bool
}

/// A finished file, open: it can be read to its end also when it is removed meanwhile. Any task.
public protocol OpenRecording: Sendable {
  /// Bytes of the file when it was opened.
  var size: Int64 { get }
  /// Reads a part of it. Never blocks the pool. Throws also when the file has become shorter.
  func read(_ range: Range<Int64>) async throws -> ByteBuffer
}

/// The store where workers bring finished files, as the backend hands out and removes them; the program hands it in. Any
/// task.
public protocol RecordingBucket: Sendable {
  /// True when a location (`s3://bucket/key`) is one of the store.
  func has(_ location: String) -> Bool
  /// An address from which anybody can fetch the file for so many seconds; with `isHead` for HEAD instead of GET.
  /// `disposition` is the header `Content-Disposition` of the answer. Throws when there is none; the error's description is
  /// one line.
  func address(of location: String, isHead: Bool, disposition: String, seconds: Int64) async throws -> String
  /// Removes a file. One that is not there is no error. Throws when the store can't be asked, or refuses.
  func remove(_ location: String) async throws
}
