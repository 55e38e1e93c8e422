import Glibc
import JobsAPI
import LayoutFiles
import Layouts
import Logging
import MediaCore
import Recording
import Settings

/// What one `--also` asks for: a further file of the same session. Values, but for the layout, which is only found when the
/// size is certain.
struct AlsoWish {
  /// What a word stands for.
  enum Kind: String, CaseIterable {
    case portrait, landscape, square, audio

    /// The size and the layout; nil: sound alone.
    var picture: (canvas: CanvasSize, layout: String)? {
      switch self {
      case .portrait: (CanvasSize(width: 720, height: 1280), "portrait")
      case .landscape: (CanvasSize(width: 1280, height: 720), "grid")
      case .square: (CanvasSize(width: 720, height: 720), "grid")
      case .audio: nil
      }
    }
  }

  /// What can be said of the file.
  enum Option: String, CaseIterable { case layout, size, fps, codec, bitrate }

  /// More files are refused: each costs memory for pictures that wait.
  static let most = 8
  /// The help of the flag.
  static let help =
    "Also write this file of the same session: portrait:FILE, landscape:FILE, square:FILE, audio:FILE (sound alone), or with "
    + "options, such as layout=speaker,size=640x360,fps=15,codec=vp9,bitrate=800k:FILE. May be given several times."

  /// As it was written.
  let text: String
  /// Path of the further file.
  let path: String
  /// The word, if there is one.
  private(set) var kind: Kind?
  private var options: [Option: String] = [:]

  /// Reads `WORD,OPTION=VALUE,…:FILE`.
  init(_ text: String) throws {
    self.text = text
    guard let colon = Self.colon(text) else {
      throw Failure(
        .usage, "--also \(text): write what and where, such as portrait:phone.webm or size=640x360:small.webm")
    }
    path = String(text[text.index(after: colon)...])
    try take(all: text[..<colon])
  }

  /// What a job asks for, as the file of this path.
  init(_ wish: JobFurtherFile, path: String) {
    text = wish.kind?.rawValue ?? "a further file"
    self.path = path
    kind = wish.kind.flatMap { Kind(rawValue: $0.rawValue) }
    options[.layout] = wish.layout
    if let width = wish.width, let height = wish.height { options[.size] = "\(width)x\(height)" }
    options[.codec] = wish.codec?.rawValue
    options[.bitrate] = wish.bitrate.map(String.init)
  }

  /// Reads `WORD,OPTION=VALUE,…` for a job: its files are named after the recording.
  static func job(_ text: String) throws -> JobFurtherFile {
    guard colon(text) == nil else {
      throw Failure(
        .usage,
        "--also \(text): a job's further files are named after its recording, NAME.portrait.webm: give no ':FILE'")
    }
    var wish = AlsoWish(text: text)
    try wish.take(all: text[...])
    guard wish.options[.fps] == nil else {
      throw Failure(.usage, "--also \(text): a job's further files have the recording's pictures a second; give --fps")
    }
    do throws(ValueError) {
      var file = JobFurtherFile(
        kind: wish.kind.flatMap { JobFurtherFile.Kind(rawValue: $0.rawValue) }, layout: wish.options[.layout])
      if let size = wish.options[.size] {
        let found = try Values.size(size)
        (file.width, file.height) = (found.width, found.height)
      }
      if let bitrate = wish.options[.bitrate] { file.bitrate = try Values.bitrate(bitrate) }
      if let codec = wish.options[.codec] { file.codec = try Values.codec(codec) }
      return file
    } catch {
      throw Failure(.usage, "--also \(text): \(error)")
    }
  }

  private init(text: String) {
    self.text = text
    path = ""
  }

  private mutating func take(all words: Substring) throws {
    for part in words.split(separator: ",", omittingEmptySubsequences: false) { try take(String(part)) }
    if kind == .audio, let option = Option.allCases.first(where: { $0 != .bitrate && options[$0] != nil }) {
      throw Failure(.usage, "--also \(text): sound alone has no \(option.rawValue)")
    }
  }

  /// The one before the file: the first that is not that of `layout=twilio:…`.
  private static func colon(_ text: String) -> String.Index? {
    guard let first = text.firstIndex(of: ":") else { return nil }
    guard text[..<first].hasSuffix("layout=twilio") else { return first }
    return text[text.index(after: first)...].firstIndex(of: ":")
  }

  private mutating func take(_ part: String) throws {
    guard let sign = part.firstIndex(of: "=") else {
      let known = Kind.allCases.map(\.rawValue)
      guard let word = Kind(rawValue: part) else {
        let hint = Values.suggestion(for: part, among: known).map { "did you mean '\($0)'?" }
        let all = known.joined(separator: ", ") + ", or options such as size=640x360"
        throw Failure(.usage, "--also \(text): '\(part)' is no kind of file; \(hint ?? "known: \(all)")")
      }
      guard kind == nil else { throw Failure(.usage, "--also \(text): give one of \(known.joined(separator: ", "))") }
      return kind = word
    }
    let name = String(part[..<sign])
    guard let option = Option(rawValue: name) else {
      let error = Values.noWord(name, "option", among: Option.allCases.map(\.rawValue))
      throw Failure(.usage, "--also \(text): \(error)")
    }
    guard options.updateValue(String(part[part.index(after: sign)...]), forKey: option) == nil else {
      throw Failure(.usage, "--also \(text): \(name) is given twice")
    }
  }

  /// The file, beside the recording of these settings. `look` changes the layout that is found.
  func file(
    of recording: RecordingSettings, finder: LayoutFinder, look: (Layout) -> Layout
  ) throws -> FurtherFile {
    do {
      let bitrate = try options[.bitrate].map(Values.bitrate)
      guard kind != .audio else {
        return FurtherFile(path: path, picture: nil, audioBitrate: bitrate ?? recording.audioBitrate)
      }
      let size = try options[.size].map(Values.size)
      let usual = kind?.picture
      let layout = try (options[.layout] ?? usual?.layout).map { name in
        try finder.layouts(for: size ?? usual?.canvas)(name)
      }
      let picture = FurtherFile.Picture(
        canvas: size ?? usual?.canvas ?? layout?.canvas ?? recording.session.canvas, layout: layout.map(look),
        interval: try interval(recording.session.framesPerSecond),
        codec: try options[.codec].map(Values.codec) ?? recording.codec, bitrate: bitrate)
      return FurtherFile(path: path, picture: picture, audioBitrate: recording.audioBitrate)
    } catch let error as ValueError {
      throw Failure(.usage, "--also \(text): \(error)")
    }
  }

  /// Of how many pictures of the recording the file has one.
  private func interval(_ all: Int) throws -> Int {
    guard let text = options[.fps] else { return 1 }
    let wanted = try Values.framesPerSecond(text)
    guard all % wanted == 0 else {
      let possible = (1...all).reversed().filter { all % $0 == 0 }.map(String.init).joined(separator: ", ")
      throw ValueError(
        "fps=\(wanted): the recording has \(all) pictures a second, so a further file can have \(possible)")
    }
    return all / wanted
  }
}

extension PictureOptions {
  /// The further files that `--also` asks for, beside the recording of these settings. What can't be written is refused.
  func further(
    _ wishes: [String], of settings: RecordingSettings, _ configuration: Configuration,
    look: (Layout) -> Layout = { $0 }
  ) throws -> [FurtherFile] {
    guard wishes.count <= AlsoWish.most else {
      throw Failure(.usage, "--also can be given \(AlsoWish.most) times at most")
    }
    let finder = LayoutFinder(store: layouts.store(configuration), theme: try layouts.theme(configuration))
    var known = [settings.output]
    return try wishes.map { text in
      let wish = try AlsoWish(text)
      let file = try wish.file(of: settings, finder: finder, look: look)
      try OutputPath.check(wish.path, flag: "--also")
      guard !known.contains(where: { OutputPath.isSame($0, wish.path) }) else {
        throw Failure(.usage, "--also \(text): another output is that file; give each a name of its own")
      }
      known.append(wish.path)
      return file
    }
  }
}

extension PictureOptions {
  /// The further files of a job's part. One that can't be made (a layout that this worker has in another form, say) is left
  /// out and told: it costs the recording nothing.
  func further(
    of request: JobRequest, _ settings: RecordingSettings, _ configuration: Configuration,
    look: (Layout) -> Layout, logger: Logger
  ) throws -> [FurtherFile] {
    let finder = LayoutFinder(store: layouts.store(configuration), theme: try layouts.theme(configuration))
    let files = request.also ?? []
    return zip(files, JobFurtherFile.names(of: files)).compactMap { file, name in
      let path = JobSideFile.Kind.further(name).path(beside: settings.output)
      do {
        return try AlsoWish(file, path: path).file(of: settings, finder: finder, look: look)
      } catch {
        let reason = (error as? Failure)?.message ?? "\(error)"
        logger.error("a further file cannot be made", metadata: ["file": "\(name)", "reason": "\(reason)"])
        return nil
      }
    }
  }
}

extension Failure {
  /// That a further file is not whole, or not all segments were written, though the recording is whole; nil: all are.
  init?(_ progress: RecordingProgress, _ others: [String] = [], beside output: String) {
    var failed = others + progress.further.compactMap { file in file.failure.map { "\(file.path): \($0)" } }
    if let segments = progress.segments, let failure = segments.failure {
      failed.append("\(segments.folder): \(failure)")
    }
    guard !failed.isEmpty else { return nil }
    self.init(.incomplete, "\(failed.joined(separator: "; ")); \(output) is whole")
  }
}
