import Digests
import Glibc
import Platform

/// Puts a finished file under a folder: by a second name where that is possible, else as a copy that is compared.
struct LocalDelivery: Sendable {
  let root: String
  let file: String
  let name: String
  let progress: @Sendable (DeliveryProgress) -> Void

  /// Blocks for the disk. Throws `.exists`, `.file`.
  func run() throws(DeliveryError) -> DeliveredFile {
    let source = try SourceFile(file)
    let size = source.size
    let hash = try hash(source, size)
    let folder = try openFolder()
    defer { close(folder) }
    let last = String(name.split(separator: "/").last ?? "")
    let location = (root.hasPrefix("/") ? root : Self.workingFolder() + "/" + root) + "/" + name
    let delivered = DeliveredFile(location: location, size: size, sha256: Hexadecimal.text(hash))
    if linkat(AT_FDCWD, file, folder, last, AT_SYMLINK_FOLLOW) != 0 {
      switch errno {
      case EEXIST: try compare(folder, last, hash, location)
      // Another file system, or one without second names.
      default: try copy(source, size, hash, to: folder, last, location)
      }
    }
    guard fsync(folder) == 0 || errno != EIO else { throw SourceFile.failed(location, "is not durable") }
    progress(DeliveryProgress(sent: size, total: size))
    return delivered
  }

  /// Looks whether files can be put under a folder, which is made if it isn't there. Blocks. Throws `.file`.
  static func check(_ root: String) throws(DeliveryError) {
    if mkdir(root, 0o700) != 0, errno != EEXIST { throw SourceFile.failed(root, "cannot be made") }
    guard access(root, W_OK | X_OK) == 0 else { throw SourceFile.failed(root, "cannot be written") }
  }

  /// Opens the folder of the file below the root; makes what is missing. No symbolic link leads out of the root.
  private func openFolder() throws(DeliveryError) -> Int32 {
    if mkdir(root, 0o700) != 0, errno != EEXIST { throw SourceFile.failed(root, "cannot be made") }
    var folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw SourceFile.failed(root, "cannot be opened") }
    for component in name.split(separator: "/").dropLast() {
      let component = String(component)
      if mkdirat(folder, component, 0o700) != 0, errno != EEXIST {
        let error = SourceFile.failed("\(root)/\(name)", "its folder cannot be made")
        close(folder)
        throw error
      }
      let next = openat(folder, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      let error = SourceFile.failed("\(root)/\(name)", "its folder cannot be opened")
      close(folder)
      guard next >= 0 else { throw error }
      folder = next
    }
    return folder
  }

  private func hash(_ source: SourceFile, _ size: Int64) throws(DeliveryError) -> [UInt8] {
    var hasher = Digest(.sha256)
    try chunks(size) { (buffer, offset) throws(DeliveryError) in
      try source.read(buffer, at: offset)
      hasher.update(UnsafeRawBufferPointer(buffer))
    }
    return hasher.value
  }

  private func chunks(
    _ size: Int64, _ body: (UnsafeMutableRawBufferPointer, Int64) throws(DeliveryError) -> Void
  ) throws(DeliveryError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < size {
      let count = Int(min(Int64(buffer.count), size - offset))
      try body(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), offset)
      offset += Int64(count)
    }
  }

  /// There is something of that name: the same content, or it stays as it is.
  private func compare(_ folder: Int32, _ last: String, _ hash: [UInt8], _ location: String) throws(DeliveryError) {
    let other = DeliveryError(.exists, "\(location): there is another file of that name; it is not overwritten")
    var status = stat()
    guard fstatat(folder, last, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw other
    }
    let there = try SourceFile("/proc/self/fd/\(folder)/\(last)")
    guard try self.hash(there, there.size) == hash else { throw other }
  }

  private func copy(
    _ source: SourceFile, _ size: Int64, _ hash: [UInt8], to folder: Int32, _ last: String, _ location: String
  ) throws(DeliveryError) {
    let temporary = ".\(last.prefix(64)).\(getpid()).part"
    unlinkat(folder, temporary, 0)
    let descriptor = openat(folder, temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_RDWR, 0o600)
    guard descriptor >= 0 else { throw SourceFile.failed(location, "cannot be created") }
    defer {
      close(descriptor)
      unlinkat(folder, temporary, 0)
    }
    try chunks(size) { (buffer, offset) throws(DeliveryError) in
      try source.read(buffer, at: offset)
      if let number = FileWriting.put(UnsafeRawBufferPointer(buffer), at: offset, to: descriptor) {
        throw SourceFile.failed(location, "cannot be written", number)
      }
      progress(DeliveryProgress(sent: offset + Int64(buffer.count), total: size))
    }
    guard fsync(descriptor) == 0 else { throw SourceFile.failed(location, "is not durable") }
    let written = try SourceFile("/proc/self/fd/\(descriptor)")
    guard try self.hash(written, size) == hash else {
      throw DeliveryError(.checksum, "\(location): what was written is not what is read; check the disk")
    }
    // Makes the name or fails; never replaces anything.
    if linkat(folder, temporary, folder, last, 0) == 0 { return }
    if errno == EEXIST { return try compare(folder, last, hash, location) }
    // A file system without second names. Renaming replaces: look first.
    var status = stat()
    if fstatat(folder, last, &status, AT_SYMLINK_NOFOLLOW) == 0 { return try compare(folder, last, hash, location) }
    guard renameat(folder, temporary, folder, last) == 0 else {
      throw SourceFile.failed(location, "cannot be given its name")
    }
  }

  private static func workingFolder() -> String {
    guard let pointer = getcwd(nil, 0) else { return "." }
    defer { free(pointer) }
    return String(cString: pointer)
  }
}
