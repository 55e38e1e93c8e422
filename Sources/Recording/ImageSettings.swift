import Compositor

/// Which images people may bring into the recording.
public struct AvatarRules: Hashable, Sendable {
  /// Where images may come from.
  public enum Origin: String, CaseIterable, Hashable, Sendable {
    /// Nowhere: everybody has initials.
    case off
    /// Files in a folder of this machine.
    case files
    /// The web, and the folder when there is one.
    case urls
  }

  /// Where images may come from.
  public var origin: Origin
  /// The folder, outside of which no file is read.
  public var folder: String?

  /// Makes rules.
  public init(origin: Origin = .off, folder: String? = nil) {
    self.origin = origin
    self.folder = folder
  }

  /// Where the image is that a participant's `avatar` names; nil when there is none that may be used.
  public func source(of reference: String) -> ImageSource? {
    guard origin != .off, !reference.isEmpty else { return nil }
    let isURL = reference.hasPrefix("https:") || reference.hasPrefix("http:")
    if isURL { return origin == .urls ? .url(reference) : nil }
    guard let folder, !reference.contains(":") else { return nil }
    return .fileBelow(folder: folder, path: reference)
  }
}

/// Where a recording's images come from: people's own, and those of layouts.
public struct ImageSettings: Sendable {
  /// Which images people may bring.
  public var avatars: AvatarRules
  /// Fetches what is on the web; without one, nothing is.
  public var fetcher: (any ImageFetcher)?

  /// Makes settings; by default nobody brings anything.
  public init(avatars: AvatarRules = AvatarRules(), fetcher: (any ImageFetcher)? = nil) {
    self.avatars = avatars
    self.fetcher = fetcher
  }
}
