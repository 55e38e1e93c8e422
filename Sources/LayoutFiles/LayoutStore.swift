import Glibc
import Layouts
import Settings

/// Finds layouts: those that are part of recbot, and files.
public struct LayoutStore: Sendable {
  /// A layout that can be asked for by name.
  public struct Entry: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// What it is for.
    public var summary: String
    /// The file, or `built in`.
    public var origin: String
  }

  /// A folder whose files `NAME.yaml` (or `.yml`, `.json`) go before the built-in layouts of that name.
  public let folder: String?

  /// - Parameter folder: nil: `layouts` in the current folder, when there is one.
  public init(folder: String? = nil) { self.folder = folder ?? (LayoutStore.isFolder("layouts") ? "layouts" : nil) }

  /// The built-in layouts' texts by name, as they stand in `layouts/`.
  static let gallery: [(name: String, text: String)] = [
    ("grid", PackageResources.grid_yaml), ("speaker", PackageResources.speaker_yaml),
    ("single-speaker", PackageResources.single_speaker_yaml), ("presentation", PackageResources.presentation_yaml),
    ("pip", PackageResources.pip_yaml), ("side-by-side", PackageResources.side_by_side_yaml),
    ("interview", PackageResources.interview_yaml), ("gallery-row", PackageResources.gallery_row_yaml),
    ("audio-only", PackageResources.audio_only_yaml), ("portrait", PackageResources.portrait_yaml),
  ].map { ($0.0, String(decoding: $0.1, as: UTF8.self)) }

  /// The names of the built-in layouts, as they are shown.
  public static var builtInNames: [String] { gallery.map(\.name) }

  /// All layouts that can be asked for by name: the built-in ones in their order, then the folder's others by name.
  /// A file that cannot be used is listed with the reason.
  public func entries() -> [Entry] {
    var names = LayoutStore.gallery.map(\.name)
    for file in folder.map(LayoutStore.files(in:)) ?? [] {
      let name = String(file[..<(file.lastIndex(of: ".") ?? file.endIndex)])
      if !names.contains(name) { names.append(name) }
    }
    return names.map { name in
      let origin = file(named: name) ?? "built in"
      do {
        return Entry(name: name, summary: try layout(name).summary, origin: origin)
      } catch {
        return Entry(name: name, summary: "cannot be used: \(error)", origin: origin)
      }
    }
  }

  /// Reads a layout.
  ///
  /// - Parameters:
  ///   - text: a name, optionally with `-dark` or `-light` after it; a file (`.yaml`, `.yml` or `.json`); or
  ///     `twilio:FILE` with Twilio's `video_layout`.
  ///   - theme: instead of the layout's own, and of what the name says.
  ///   - canvas: the size it will be used for; nil: the layout's own, else usual ones.
  public func layout(
    _ text: String, theme: ThemeName? = nil, canvas: CanvasSize? = nil
  ) throws(LayoutError) -> Layout {
    var layout = try find(text, canvas: canvas)
    if let theme { layout.theme = theme }
    return layout
  }

  private func find(_ text: String, canvas: CanvasSize?) throws(LayoutError) -> Layout {
    if text.hasPrefix("twilio:") {
      let file = String(text.dropFirst("twilio:".count))
      return try TwilioReader.read(LayoutStore.contents(file), file: file, canvas: canvas)
    }
    if text.contains("/") || LayoutStore.suffixes.contains(where: { text.hasSuffix($0) }) {
      return try read(text, canvas: canvas)
    }
    if let layout = try named(text, canvas: canvas) { return layout }
    for theme in ThemeName.allCases where text.hasSuffix("-\(theme.rawValue)") {
      if var layout = try named(String(text.dropLast(theme.rawValue.count + 1)), canvas: canvas) {
        layout.theme = theme
        layout.name = text
        return layout
      }
    }
    let known = LayoutStore.gallery.map(\.name) + (folder.map(LayoutStore.names(in:)) ?? [])
    let hint = Values.suggestion(for: text, among: known).map { "did you mean '\($0)'?" }
    throw LayoutError(
      "there is no layout '\(text)'; \(hint ?? "known layouts: \(known.joined(separator: ", ")), or a file")")
  }

  private func named(_ name: String, canvas: CanvasSize?) throws(LayoutError) -> Layout? {
    if let file = file(named: name) { return try read(file, canvas: canvas) }
    guard let entry = LayoutStore.gallery.first(where: { $0.name == name }) else { return nil }
    return try LayoutReader.read(entry.text, file: "layouts/\(name).yaml", name: name, canvas: canvas)
  }

  private func read(_ file: String, canvas: CanvasSize?) throws(LayoutError) -> Layout {
    let base = file.split(separator: "/").last.map(String.init) ?? file
    let name = base.lastIndex(of: ".").map { String(base[..<$0]) } ?? base
    return try LayoutReader.read(LayoutStore.contents(file), file: file, name: name, canvas: canvas)
  }

  /// The text that a layout was read from: a file's, or the built-in one.
  public func source(of text: String) throws(LayoutError) -> String {
    for name in [text]
      + ThemeName.allCases.map({ text.hasSuffix("-\($0)") ? String(text.dropLast("\($0)".count + 1)) : text })
    {
      if let file = file(named: name) { return try LayoutStore.contents(file) }
      if let entry = LayoutStore.gallery.first(where: { $0.name == name }) { return entry.text }
    }
    return try LayoutStore.contents(text.hasPrefix("twilio:") ? String(text.dropFirst("twilio:".count)) : text)
  }

  // MARK: Files

  private static let suffixes = [".yaml", ".yml", ".json"]

  private func file(named name: String) -> String? {
    guard let folder, !name.isEmpty, !name.contains("/"), !name.contains("\0") else { return nil }
    return LayoutStore.suffixes.map { "\(folder)/\(name)\($0)" }.first { access($0, F_OK) == 0 }
  }

  private static func names(in folder: String) -> [String] {
    files(in: folder).map { String($0[..<($0.lastIndex(of: ".") ?? $0.endIndex)]) }
  }

  private static func files(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var result: [String] = []
    // A folder with more layouts than this isn't one of layouts.
    while result.count < 1000, let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix("."), suffixes.contains(where: { name.hasSuffix($0) }) { result.append(name) }
    }
    return result.sorted()
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func contents(_ path: String) throws(LayoutError) -> String {
    // Opened without waiting, so that a pipe is refused rather than waited for.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw LayoutError("\(path) cannot be read: \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw LayoutError("\(path) is not a file")
    }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= LayoutReader.maximumBytes {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 { throw LayoutError("\(path) cannot be read: \(String(cString: strerror(errno)))") }
      if count == 0 {
        guard let text = String(validating: bytes, as: UTF8.self) else {
          throw LayoutError("\(path) is not a text file (UTF-8)")
        }
        return text
      }
      bytes.append(contentsOf: chunk[..<count])
    }
    throw LayoutError("\(path): larger than 256 KiB is no layout")
  }
}
