import Glibc
import NIOCore
import Platform

/// The finished files in the folders that belong to a data folder. A file is named by its location, as jobs have it; what
/// lies elsewhere, or is reached only over a symbolic link, is not there.
///
/// Every data folder has a name of its own, in its file `folder-id`: by it a file is known to lie here, and not under the
/// same path on another machine.
public struct KeptFiles: Hashable, Sendable {
  /// The data folder's name.
  public let folderID: String
  /// The folders, absolute.
  private let roots: [String]

  /// Takes a data folder, which gets a name when it has none. Blocks for the disk. Throws `.file`.
  ///
  /// - Parameter roots: the folders of finished files, absolute: the data folder's own, and that of files which wait for
  ///   the store.
  public init(dataFolder: String, roots: [String]) throws(DeliveryError) {
    self.roots = roots.map { root in String(root.reversed().drop { $0 == "/" }.reversed()) }
    folderID = try Self.name(of: dataFolder)
  }

  /// Opens a file, on a thread that may block. Throws `.file`; `ENOENT` and everything that is no regular file of these
  /// folders give nil.
  public func open(_ location: String) async throws(DeliveryError) -> KeptFile? {
    try await BlockingWork.run { () throws(DeliveryError) in try opened(location) }
  }

  /// Removes a file, on a thread that may block; false when there is none. Throws `.file`.
  public func remove(_ location: String) async throws(DeliveryError) -> Bool {
    try await BlockingWork.run { () throws(DeliveryError) in try removed(location) }
  }

  private func opened(_ location: String) throws(DeliveryError) -> KeptFile? {
    guard let (folder, name) = try openFolder(of: location) else { return nil }
    defer { close(folder) }
    let descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      if Self.isAbsence { return nil }
      throw SourceFile.failed(location, "cannot be opened")
    }
    return SourceFile(descriptor: descriptor, path: location).map(KeptFile.init)
  }

  private func removed(_ location: String) throws(DeliveryError) -> Bool {
    guard try opened(location) != nil, let (folder, name) = try openFolder(of: location) else { return false }
    defer { close(folder) }
    guard unlinkat(folder, name, 0) == 0 else {
      if errno == ENOENT { return false }
      throw SourceFile.failed(location, "cannot be removed")
    }
    return true
  }

  /// Opens the folder of a file below one of the roots, step by step: no symbolic link is followed.
  private func openFolder(of location: String) throws(DeliveryError) -> (folder: Int32, name: String)? {
    guard let root = roots.first(where: { location.hasPrefix($0 + "/") }), !location.utf8.contains(0) else {
      return nil
    }
    let steps = location.dropFirst(root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard let name = steps.last, steps.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else { return nil }
    var folder = Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for step in steps.dropLast() where folder >= 0 {
      let next = openat(folder, String(step), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      let number = errno
      close(folder)
      errno = number
      folder = next
    }
    guard folder >= 0 else {
      if Self.isAbsence { return nil }
      throw SourceFile.failed(location, "its folder cannot be opened")
    }
    return (folder, String(name))
  }

  /// True when the system call that has just failed found nothing, or no such thing as is served.
  private static var isAbsence: Bool { [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, ENXIO].contains(errno) }

  // MARK: The folder's name

  private static func name(of folder: String) throws(DeliveryError) -> String {
    let path = "\(folder)/folder-id"
    if let name = read(path) { return name }
    let letters = Array("0123456789abcdefghjkmnpqrstvwxyz")
    var random = SystemRandomNumberGenerator()
    let name = String((0..<26).map { _ in letters[Int(random.next() & 31)] })
    // Whoever comes first names it; a file that is half written has another name.
    let temporary = "\(path).\(name)"
    try AtomicFile.write(Array((name + "\n").utf8), to: temporary)
    defer { unlink(temporary) }
    if link(temporary, path) != 0, errno != EEXIST { throw SourceFile.failed(path, "cannot be made") }
    guard let name = read(path) else {
      throw DeliveryError(.file, "\(path): is no data folder's name; remove it, and it is made again")
    }
    return name
  }

  private static func read(_ path: String) -> String? {
    let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count > 0, let text = String(validating: bytes[..<count], as: UTF8.self)?.split(separator: "\n").first,
      (16...40).contains(text.count), text.utf8.allSatisfy({ (48...57).contains($0) || (97...122).contains($0) })
    else { return nil }
    return String(text)
  }
}

/// A finished file, open: it can be read to its end also when it is removed meanwhile.
public final class KeptFile: Sendable {
  private let source: SourceFile
  /// Bytes of the file when it was opened.
  public let size: Int64

  init(_ source: SourceFile) {
    self.source = source
    size = source.size
  }

  /// Reads a part, on a thread that may block. Throws `.file`, also when the file has become shorter.
  public func read(_ range: Range<Int64>) async throws(DeliveryError) -> ByteBuffer {
    let source = source
    return try await BlockingWork.run { () throws(DeliveryError) in try source.bytes(range) }
  }
}
