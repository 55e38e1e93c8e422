import JobsAPI
import Testing

/// What a backend asks of a worker for a file.
@Suite struct FileRequestTests {
  @Test func aRequestIsTakenAsItWasSigned() {
    let key = FileRequest.key(from: "the workers' secret")
    let request = FileRequest(verb: .read(3..<9), folderID: "folder", location: "/a b/ü&=?.webm", size: 10, until: 1000)
    let target = request.target(key: key)
    func read(_ target: String, isRemoval: Bool = false, key other: [UInt8]? = nil, now: Int64 = 999) -> FileRequest? {
      FileRequest(target: target[...], isRemoval: isRemoval, key: other ?? key, now: now)
    }
    #expect(read(target) == request)
    #expect(read(target, now: 1000) == nil && read(target, now: 300) == nil)
    #expect(read(target, key: FileRequest.key(from: "another")) == nil && read(target, isRemoval: true) == nil)
    for (part, other) in [
      ("start=3", "start=0"), ("end=9", "end=10"), ("until=1000", "until=1001"), ("size=10", "size=11"),
    ] {
      #expect(read(target.replacing(part, with: other)) == nil, "\(other)")
    }
    #expect(read(target + "&start=3") == nil && read("/files?") == nil && read("/files") == nil)
    let removal = FileRequest(verb: .remove, folderID: "folder", location: "/a", size: 10, until: 1000)
    #expect(read(removal.target(key: key), isRemoval: true) == removal && read(removal.target(key: key)) == nil)
    for range in [Int64(-1)..<5, 0..<11] {
      let request = FileRequest(verb: .read(range), folderID: "f", location: "/a", size: 10, until: 1000)
      #expect(read(request.target(key: key)) == nil)
    }
  }
}
