import CPango
import CYUV
import Dispatch
import Glibc
import Layouts
import MediaCore
import Synchronization

/// Where an image comes from.
public enum ImageSource: Hashable, Sendable, CustomStringConvertible {
  /// A file that the operator named: a logo, a background.
  case file(String)
  /// A file that somebody in the room named: a path below the operator's folder, outside of which nothing is read.
  case fileBelow(folder: String, path: String)
  /// An address, fetched by the store's `ImageFetcher`.
  case url(String)

  /// The path or the address, as it was named.
  public var description: String {
    switch self {
    case .file(let path), .fileBelow(_, let path): path
    case .url(let url): url
    }
  }
}

/// Brings the bytes of images from the network. The store calls it on its own thread.
public protocol ImageFetcher: Sendable {
  /// Begins to fetch and returns at once. `completion` is called once, on any thread, with the bytes, or with a reason
  /// for people.
  ///
  /// - Parameter maximumBytes: more are not fetched, and an error.
  func fetch(
    _ url: String, maximumBytes: Int, completion: @escaping @Sendable (Result<[UInt8], ImageFetchFailure>) -> Void)
}

/// Why an image could not be fetched.
public struct ImageFetchFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// One line for people.
  public let description: String
  /// Makes a failure from its line; see the properties.
  public init(_ description: String) { self.description = description }
}

/// Loads images off the media path: reading, decoding and scaling happen on the thread that calls `run`. Whoever wants
/// an image gets it as soon as it is there, and nil until then. Safe to use from any thread.
public final class ImageStore: Sendable {
  /// Larger files are refused.
  public static let maximumBytes = 4 << 20
  /// Memory that loaded images may take; those that were used least recently are let go.
  static let memoryLimit = 64 << 20
  /// Images asked for and not loaded yet; more are refused, so that a room full of avatars cannot fill the memory.
  static let queueLimit = 256
  /// Images that cannot be used are remembered, so that each is tried once; the oldest of more than this are forgotten,
  /// so that somebody who names ever new ones cannot fill the memory.
  static let failureLimit = 1024
  /// Fetches at the same time.
  static let fetchLimit = 4

  private enum Entry {
    case waiting
    case failed
    case image(LoadedImage, lastUse: UInt64)
  }

  private struct Key: Hashable {
    var source: ImageSource
    var form: ImageForm
  }

  private enum Work {
    case load(Key)
    case fetched(Key, Result<[UInt8], ImageFetchFailure>)
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var work: [Work] = []
    var delayed: [Key] = []
    /// Those that have failed, the oldest first.
    var failures: [Key] = []
    var fetching = 0
    var byteCount = 0
    var clock: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  private let news = Atomic<UInt64>(0)
  private let wake = DispatchSemaphore(value: 0)
  private let fetcher: (any ImageFetcher)?
  private let report: @Sendable (ImageSource, String) -> Void

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - fetcher: brings what addresses name; without one, addresses are never fetched.
  ///   - report: told once for each image that cannot be used, with the reason, on the store's thread.
  public init(
    fetcher: (any ImageFetcher)? = nil, report: @escaping @Sendable (ImageSource, String) -> Void = { _, _ in }
  ) {
    self.fetcher = fetcher
    self.report = report
  }

  /// Loads what is asked for, until `close`. Blocks: to be called on a thread of its own.
  public func run() {
    while true {
      wake.wait()
      if state.withLock({ $0.isClosed }) { return }
      loadNext()
    }
  }

  /// Makes `run` return.
  public func close() {
    state.withLock { $0.isClosed = true }
    wake.signal()
  }

  /// Loads, on the calling thread, what was asked for so far, for previews that must be whole. For stores without `run`.
  /// - Parameter seconds: how long fetching from the network may take in all.
  public func loadAll(seconds: Int = 10) {
    let deadline = DispatchTime.now() + .seconds(seconds)
    while state.withLock({ !$0.work.isEmpty || $0.fetching > 0 }) {
      guard wake.wait(timeout: deadline) == .success else { return }
      loadNext()
    }
  }

  /// Images that are known: waiting, loaded or failed.
  var count: Int { state.withLock { $0.entries.count } }

  /// Counts up with each image that is there, or is known never to come.
  var generation: UInt64 { news.load(ordering: .acquiring) }

  /// The image, when it is loaded. Otherwise it is put on the list, once.
  func image(_ source: ImageSource, _ form: ImageForm) -> LoadedImage? {
    let key = Key(source: source, form: form)
    return state.withLock { state in
      switch state.entries[key] {
      case .image(let image, _):
        state.clock += 1
        state.entries[key] = .image(image, lastUse: state.clock)
        return image
      case .waiting, .failed: return nil
      case nil:
        guard state.work.count + state.delayed.count < ImageStore.queueLimit else { return nil }
        state.entries[key] = .waiting
        state.work.append(.load(key))
        wake.signal()
        return nil
      }
    }
  }

  private func loadNext() {
    guard let work = state.withLock({ $0.work.isEmpty ? nil : $0.work.removeFirst() }) else { return }
    switch work {
    case .load(let key):
      switch key.source {
      case .file(let path): finish(key) { () throws(ImageError) in try ImageFile.read(path, below: nil) }
      case .fileBelow(let folder, let path):
        finish(key) { () throws(ImageError) in try ImageFile.read(path, below: folder) }
      case .url(let url): fetch(key, url)
      }
    case .fetched(let key, let result):
      let next = state.withLock { state in
        state.fetching -= 1
        return state.delayed.isEmpty ? nil : state.delayed.removeFirst()
      }
      finish(key) { () throws(ImageError) in
        switch result {
        case .success(let bytes): return bytes
        case .failure(let failure): throw ImageError(description: failure.description)
        }
      }
      if let next, case .url(let url) = next.source { fetch(next, url) }
    }
  }

  private func fetch(_ key: Key, _ url: String) {
    guard let fetcher else {
      finish(key) { () throws(ImageError) in throw ImageError(description: "is an address, and none are fetched") }
      return
    }
    let mayStart = state.withLock { state in
      guard state.fetching < ImageStore.fetchLimit else {
        state.delayed.append(key)
        return false
      }
      state.fetching += 1
      return true
    }
    guard mayStart else { return }
    fetcher.fetch(url, maximumBytes: ImageStore.maximumBytes) { [weak self] result in
      guard let self else { return }
      state.withLock { $0.work.append(.fetched(key, result)) }
      wake.signal()
    }
  }

  private func finish(_ key: Key, _ read: () throws(ImageError) -> [UInt8]) {
    do throws(ImageError) {
      let image = try key.form.load(try read())
      state.withLock { state in
        state.clock += 1
        state.entries[key] = .image(image, lastUse: state.clock)
        state.byteCount += image.byteCount
        ImageStore.shrink(&state)
      }
    } catch {
      state.withLock { state in
        state.entries[key] = .failed
        state.failures.append(key)
        if state.failures.count > ImageStore.failureLimit { state.entries[state.failures.removeFirst()] = nil }
      }
      report(key.source, error.description)
    }
    news.add(1, ordering: .releasing)
  }

  private static func shrink(_ state: inout State) {
    while state.byteCount > memoryLimit {
      var oldest: (key: Key, use: UInt64, size: Int)?
      for case (let key, .image(let image, let use)) in state.entries where use < oldest?.use ?? state.clock {
        oldest = (key, use, image.byteCount)
      }
      guard let oldest else { return }
      state.entries[oldest.key] = nil
      state.byteCount -= oldest.size
    }
  }
}
