import Glibc
import Platform
import Testing

@Suite struct FileWritingTests {
  /// Runs `body` with the path of a new file, which is removed afterwards.
  private func withFile(_ body: (_ path: String, _ descriptor: Int32) throws -> Void) throws {
    var name = Array("/tmp/file-writing-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    try #require(descriptor >= 0)
    let path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
      close(descriptor)
      unlink(path)
    }
    try body(path, descriptor)
  }

  private func content(_ descriptor: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  @Test func bytesStandWhereTheyArePut() throws {
    try withFile { _, descriptor in
      #expect([UInt8](1...3).withUnsafeBytes { FileWriting.append($0, to: descriptor) } == nil)
      #expect([UInt8](4...5).withUnsafeBytes { FileWriting.append($0, to: descriptor) } == nil)
      #expect([UInt8(9)].withUnsafeBytes { FileWriting.put($0, at: 1, to: descriptor) } == nil)
      #expect([UInt8]().withUnsafeBytes { FileWriting.append($0, to: descriptor) } == nil)
      #expect(content(descriptor) == [1, 9, 3, 4, 5])
    }
  }

  /// A pipe takes a part, then nothing until somebody reads.
  @Test func whatIsTakenInPartsIsWrittenWhole() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
    DetachedThread.start(name: "writer") {
      #expect(bytes.withUnsafeBytes { FileWriting.append($0, to: writer) } == nil)
      close(writer)
    }
    var seen: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 10_000)
    while true {
      let count = read(reader, &chunk, chunk.count)
      guard count > 0 else { break }
      seen += chunk[..<count]
    }
    close(reader)
    #expect(seen == bytes)
  }

  @Test func whatIsWrongIsTold() throws {
    try withFile { path, _ in
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      #expect([UInt8(1)].withUnsafeBytes { FileWriting.append($0, to: descriptor) } == EBADF)
      #expect([UInt8(1)].withUnsafeBytes { FileWriting.put($0, at: 0, to: descriptor) } == EBADF)
      let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
      defer { close(full) }
      #expect([UInt8(1)].withUnsafeBytes { FileWriting.append($0, to: full) } == ENOSPC)
    }
  }

  @Test func aPathsFolderIsWhatIsBeforeItsName() throws {
    #expect(FileWriting.folder(of: "a.webm") == ".")
    #expect(FileWriting.folder(of: "/a.webm") == "/")
    #expect(FileWriting.folder(of: "x/y/a.webm") == "x/y")
    try withFile { path, _ in #expect(FileWriting.syncFolder(of: path) == nil) }
    #expect(FileWriting.syncFolder(of: "/nowhere/at/all") == nil)
  }
}
