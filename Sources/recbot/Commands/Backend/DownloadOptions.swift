import ArgumentParser
import Glibc
import JobsAPI
import Synchronization
import Worker

/// What `jobs download` and `recordings download` have in common.
struct DownloadOptions: ParsableArguments {
  static let discussion = """
    The file gets its name when it is here as a whole, with the right length and SHA-256. Until then it is beside it as \
    NAME.….part: the same command goes on from there. Nothing is overwritten. What was delivered beside the file comes \
    first, under its name: NAME.json, NAME.talkers.vtt, NAME.portrait.webm.
    """

  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp("The file to write, or a folder for it (default: its own name, here).", valueName: "file"))
  var output: String?

  @Option(help: ArgumentHelp("Which file, of a recording that has several (default: all).", valueName: "n"))
  var number: Int?

  /// Downloads the files of a job and what is beside them; prints their paths.
  func run(_ job: String, _ backend: BackendOptions) async throws {
    try await backend.withClient { client in
      let all = try await client.recording(job).recordings
      let wanted = all.filter { entry in number.map { $0 == entry.number } ?? (entry.file.deletedAt == nil) }
      guard !wanted.isEmpty else {
        throw Failure(
          .backendRefused,
          number == nil ? "the files of \(job) were deleted" : "--number: the recording has files 1 to \(all.count)")
      }
      var taken: Set<String> = []
      var faults: [String] = []
      for entry in wanted {
        var path = path(of: entry)
        if !taken.insert(path).inserted { path = Self.numbered(path, entry.number) }
        // Before anything is fetched for it. What is beside it comes first: when the file has its name, all is here.
        guard access(path, F_OK) != 0 else { throw Self.failure(.exists(path)) }
        for side in entry.file.beside ?? [] {
          let sidePath = Self.path(of: side, beside: path)
          if let fault = try await Self.download(side, of: entry, to: sidePath, client) {
            faults.append("\(sidePath) is not here: \(fault)")
          } else {
            Console.print(backend.json ? try JSONLine.of(["file": sidePath]) : sidePath)
          }
        }
        try await Self.download(entry, to: path, client)
        Console.print(backend.json ? try JSONLine.of(["file": path]) : path)
      }
      guard faults.isEmpty else { throw Failure(.incomplete, faults.joined(separator: "; ")) }
    }
  }

  /// Where a file goes.
  private func path(of entry: RecordingPage.Entry) -> String {
    let safe = Self.safe(entry.file.name)
    guard let output else { return safe }
    var status = stat()
    let isFolder = output.hasSuffix("/") || stat(output, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    return isFolder ? (output.hasSuffix("/") ? output : output + "/") + safe : output
  }

  /// Where what is beside a file goes. The storyboard names its image as it was delivered, so this one keeps its name.
  private static func path(of side: JobSideFile, beside path: String) -> String {
    let usual = side.kind.path(beside: path)
    guard side.kind == .storyboardImage, let last = side.location.split(separator: "/").last else { return usual }
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    return folder + safe(String(last))
  }

  /// What somebody else's name for a file is here: a name, and no path.
  private static func safe(_ name: String) -> String {
    let name = RoomText.oneLine(name, limit: 200)
    return name.hasPrefix(".") ? "_" + name : name
  }

  private static func numbered(_ path: String, _ number: Int) -> String {
    path.hasSuffix(".webm") ? "\(path.dropLast(5))-\(number).webm" : "\(path)-\(number)"
  }

  /// Fetches what is beside a file; gives why it can't be had from the backend, in one line. That costs the file nothing.
  private static func download(
    _ side: JobSideFile, of entry: RecordingPage.Entry, to path: String, _ client: BackendClient
  ) async throws -> String? {
    let download = FileDownload(entry, beside: side, to: path, client: client)
    if await download.isHere() { return nil }
    do throws(DownloadError) {
      try await download.run(progress: progress(of: path, side.size))
      return nil
    } catch {
      switch error {
      case .exists, .disk: throw failure(error)
      case .damaged(let text): return text
      case .backend(let error): return RoomText.oneLine("\(error)", limit: 500)
      }
    }
  }

  /// Tells now and then how much is here.
  private static func progress(of path: String, _ size: Int64) -> @Sendable (Int64) -> Void {
    let told = Mutex(ContinuousClock.now)
    let pause: Duration = Console.errorIsTerminal ? .milliseconds(250) : .seconds(10)
    return { count in
      let isDue = told.withLock { last in
        guard ContinuousClock.now - last >= pause else { return false }
        last = .now
        return true
      }
      guard isDue else { return }
      let line = "\(path): \(SizeText.of(count)) of \(SizeText.of(size)), \(size > 0 ? count * 100 / size : 100) %"
      if Console.errorIsTerminal { Console.status(line) } else { Console.error(line + ".") }
    }
  }

  private static func failure(_ error: DownloadError) -> any Error {
    switch error {
    case .exists(let path): Failure(.outputExists, "\(path) exists already; choose another name with -o")
    case .disk(let text): Failure(.outputNotWritable, text)
    case .damaged(let text): Failure(.notDelivered, text)
    case .backend(let error): error
    }
  }

  private static func download(_ entry: RecordingPage.Entry, to path: String, _ client: BackendClient) async throws {
    let size = entry.file.size
    do throws(DownloadError) {
      try await FileDownload(entry, to: path, client: client).run(progress: progress(of: path, size))
    } catch {
      throw Self.failure(error)
    }
    Console.errorOverStatus(
      "Downloaded \(SizeText.of(size)), \(TimeText.length(entry.file.duration)) of \(entry.room).")
  }
}

/// Sizes as people read them.
enum SizeText {
  /// Such as `3.4 MB`, in powers of ten.
  static func of(_ bytes: Int64) -> String {
    var (value, unit) = (max(0, bytes) * 10, "bytes")
    guard bytes >= 1000 else { return "\(bytes) bytes" }
    for next in ["kB", "MB", "GB", "TB"] where value >= 10_000 { (value, unit) = (value / 1000, next) }
    return "\(value / 10).\(value % 10) \(unit)"
  }
}
