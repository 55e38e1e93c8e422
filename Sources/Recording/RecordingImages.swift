import Compositor

/// The images of one recording: the store, its thread, and which image belongs to whom. Confined to the recording's
/// thread, but for the store.
final class RecordingImages {
  let store: ImageStore
  private let rules: AvatarRules
  private var sources: [String: ImageSource?] = [:]

  /// Starts the thread, which ends with this.
  init(settings: ImageSettings) {
    rules = settings.avatars
    let report = settings.report
    let store = ImageStore(fetcher: settings.fetcher) { source, reason in report("\(source.name) \(reason)") }
    self.store = store
    DetachedThread.start(name: "images") { store.run() }
  }

  deinit { store.close() }

  /// Where the image is that a participant's `avatar` names.
  func avatar(_ reference: String) -> ImageSource? {
    if reference.isEmpty { return nil }
    if let known = sources[reference] { return known }
    if sources.count >= 512 { sources.removeAll(keepingCapacity: true) }
    let source = rules.source(of: reference)
    sources[reference] = .some(source)
    return source
  }
}

extension ImageSource {
  /// As messages name it.
  fileprivate var name: String {
    switch self {
    case .file(let path): path
    case .fileBelow(_, let path): "avatar \(path)"
    case .url(let url): "avatar \(url)"
    }
  }
}
