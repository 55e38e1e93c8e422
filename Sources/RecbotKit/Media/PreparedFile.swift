import AudioMix
import Codecs
import Glibc
import MediaCore
import Platform
import Synchronization
import WebM

/// WebM files whose frames go into rooms as they are, without being decoded or encoded: pictures in VP8 (of several files: in several
/// sizes) or VP9, and sound in Opus. A file is read whole into memory.
///
/// When somebody in the room needs a keyframe, the pictures go on from the last place at which all layers have one, at worst from
/// the beginning; the sound goes on as it was.
public final class PreparedFile: Sendable {
  /// The most bytes of one file.
  public static let sizeLimit = 512 << 20

  /// How long it is.
  public let duration: Duration
  /// Its pictures; nil when it has none in VP8 or VP9.
  public let video: (any EncodedVideoSource)?
  /// Its sound; nil when it has none in Opus.
  public let audio: (any EncodedAudioSource)?

  /// Reads files. `paths`: the layers of the same pictures in any order, at most three of VP8 or one of VP9; the sound is that of the largest.
  /// `repeats`: whether they begin again at their end. Throws when one cannot be read, is no WebM, does not begin with a keyframe, or
  /// does not fit the others.
  public convenience init(paths: [String], repeats: Bool = false) throws(FileError) {
    var files: [PreparedTracks] = []
    for path in paths { files.append(try PreparedTracks(path: path)) }
    files.sort { ($0.layer?.width ?? 0) < ($1.layer?.width ?? 0) }
    try self.init(files, repeats: repeats)
  }

  private init(_ files: [PreparedTracks], repeats: Bool) throws(FileError) {
    guard let largest = files.last else {
      throw FileError(code: .invalid, operation: "no file was given", path: "the prepared files")
    }
    let codec = largest.codec
    for (index, file) in files.enumerated() where files.count > 1 {
      guard let layer = file.layer, let first = files[0].layer, file.codec == codec else {
        throw file.fault("it has not the same kind of pictures as \(largest.path)")
      }
      if index > 0, layer == first { throw file.fault("it has pictures of the same size as \(files[0].path)") }
    }
    if files.count > (codec == .vp9 ? 1 : 3) {
      throw largest.fault(
        "it comes with \(files.count - 1) other layers; at most three of VP8 and one of VP9 go together")
    }
    let end = files.map(\.end).max() ?? .zero
    duration = end
    let playing = PlayingStart()
    let period = repeats ? end : nil
    if let codec {
      var pictures: [PreparedPictures.Picture] = []
      for (layer, file) in files.enumerated() {
        guard file.pictures.first?.isKeyframe == true else {
          throw file.fault("its pictures do not begin with a keyframe")
        }
        pictures += file.pictures.map { .init($0.bytes, isKeyframe: $0.isKeyframe, layer: layer, time: $0.time) }
      }
      let schedule = PictureSchedule(pictures, layers: files.count, period: period)
      video = PreparedPictures(
        codec: codec == .vp9 ? .vp9 : .vp8, layers: files.compactMap(\.videoLayer), schedule: schedule, start: playing)
    } else {
      video = nil
    }
    audio =
      largest.sound.isEmpty ? nil : PreparedSound(sound: largest.sound, period: period, start: playing)
  }
}

/// What is in one file.
private struct PreparedTracks {
  var path: String
  var codec: Codec?
  var layer: Dimensions?
  var pictures: [(bytes: [UInt8], isKeyframe: Bool, time: Duration)] = []
  var sound: [EncodedAudioFrame] = []
  /// When the last frame is over.
  var end = Duration.zero

  init(path: String) throws(FileError) {
    self.path = path
    let report = try WebMProbe.probe(path)
    guard report.size <= PreparedFile.sizeLimit else {
      throw fault("it is larger than \(PreparedFile.sizeLimit >> 20) MiB, which is read at once")
    }
    func first(_ codecs: [Codec]) -> (track: ProbeReport.Track, codec: Codec)? {
      for track in report.tracks {
        if let codec = CodecTable.row(matroskaCodecID: track.codec)?.codec, codecs.contains(codec) {
          return (track, codec)
        }
      }
      return nil
    }
    let video = first([.vp8, .vp9])
    let audio = first([.opus])
    if let video { (codec, layer) = (video.codec, .init(width: video.track.width, height: video.track.height)) }
    guard video != nil || audio != nil else {
      throw fault(
        "it has neither pictures in VP8 or VP9 nor sound in Opus; `ffmpeg -c:v libvpx -c:a libopus` makes such")
    }
    let levels = SoundLevels()
    var pictures: [(bytes: [UInt8], isKeyframe: Bool, time: Duration)] = []
    var sound: [EncodedAudioFrame] = []
    let isWhole = try WebMReader.forEachFrame(path: path) { frame in
      let (bytes, time) = (Array(frame.bytes), frame.time.sinceBeginning)
      if frame.track == video?.track.number {
        // A frame of the same millisecond belongs to the one before, and cannot be sent for itself.
        if time > pictures.last?.time ?? .seconds(-1) { pictures.append((bytes, frame.isKeyframe, time)) }
      } else if frame.track == audio?.track.number {
        sound.append(.init(bytes, time: time, level: levels.level(of: frame.bytes)))
      }
    }
    guard isWhole || !(pictures.isEmpty && sound.isEmpty) else { throw fault("it is damaged at its beginning") }
    guard video == nil || !pictures.isEmpty else { throw fault("its track of pictures is empty") }
    (self.pictures, self.sound) = (pictures, sound)
    let interval =
      pictures.count > 1 ? (pictures[pictures.count - 1].time - pictures[0].time) / (pictures.count - 1) : .zero
    end = max((pictures.last?.time ?? .zero) + interval, (sound.last?.time ?? .zero) + .milliseconds(20))
  }

  /// What the room is told of it.
  var videoLayer: EncodedVideoLayer? {
    guard let layer else { return nil }
    let bits = Double(pictures.reduce(0) { $0 + $1.bytes.count }) * 8 / max(0.1, end / .seconds(1))
    return EncodedVideoLayer(width: layer.width, height: layer.height, bitrate: Int(bits))
  }

  func fault(_ text: String) -> FileError { FileError(code: .invalid, operation: text, path: path) }
}

/// How loud packets of Opus are, one after another.
private final class SoundLevels {
  private let decoder = (try? AudioDecoders.make(.opus)) ?? nil
  private var samples = [Float](repeating: 0, count: AudioDecoders.maximumBufferCount)

  func level(of packet: UnsafeRawBufferPointer) -> UInt8? {
    samples.withUnsafeMutableBufferPointer { samples in
      guard let count = try? decoder?.decode(packet, into: samples) else { return nil }
      return AudioLevel(of: UnsafeBufferPointer(rebasing: samples[..<(2 * count)])).headerExtensionValue
    }
  }
}

/// The pictures of prepared files.
private struct PreparedPictures: EncodedVideoSource {
  typealias Picture = PictureSchedule.Picture

  let codec: VideoPublishOptions.Codec
  let layers: [EncodedVideoLayer]
  let schedule: PictureSchedule
  let start: PlayingStart
  private let isKeyframeWanted = Wish()

  init(codec: VideoPublishOptions.Codec, layers: [EncodedVideoLayer], schedule: PictureSchedule, start: PlayingStart) {
    (self.codec, self.layers, self.schedule, self.start) = (codec, layers, schedule, start)
  }

  func frames() -> Frames { Frames(schedule: schedule, start: start.instant, wish: isKeyframeWanted) }

  func keyframeWanted(layer: Int?) { isKeyframeWanted.set() }

  struct Frames: AsyncSequence, AsyncIteratorProtocol {
    typealias Element = EncodedVideoFrame

    private var schedule: PictureSchedule
    private let start: Instant
    private let wish: Wish

    init(schedule: PictureSchedule, start: Instant, wish: Wish) {
      (self.schedule, self.start, self.wish) = (schedule, start, wish)
      self.schedule.begin(at: MonotonicClock.now - start)
    }

    func makeAsyncIterator() -> Frames { self }

    mutating func next() async -> EncodedVideoFrame? {
      guard let due = schedule.nextTime, await wait(until: start + due) else { return nil }
      if schedule.isBetweenPictures, wish.take(at: due) { schedule.jump() }
      return schedule.next()
    }
  }
}

/// The sound of prepared files.
private struct PreparedSound: EncodedAudioSource {
  let sound: [EncodedAudioFrame]
  let period: Duration?
  let start: PlayingStart

  func frames() -> Frames { Frames(sound: sound, period: period, start: start.instant) }

  struct Frames: AsyncSequence, AsyncIteratorProtocol {
    typealias Element = EncodedAudioFrame

    private let sound: [EncodedAudioFrame]
    private let period: Duration?
    private let start: Instant
    private var index = 0
    private var round = Duration.zero

    init(sound: [EncodedAudioFrame], period: Duration?, start: Instant) {
      (self.sound, self.period, self.start) = (sound, period, start)
      let elapsed = MonotonicClock.now - start
      if let period, period > .zero, elapsed > .zero { round = period * Int(elapsed / period) }
      index = sound.firstIndex { $0.time ?? .zero >= elapsed - round } ?? sound.count
    }

    func makeAsyncIterator() -> Frames { self }

    mutating func next() async -> EncodedAudioFrame? {
      if index == sound.count, let period { (index, round) = (0, round + period) }
      guard index < sound.count else { return nil }
      var frame = sound[index]
      let due = round + (frame.time ?? .zero)
      guard await wait(until: start + due) else { return nil }
      index += 1
      frame.time = due
      return frame
    }
  }
}

/// Waits. False when the task was cancelled.
private func wait(until due: Instant) async -> Bool {
  let wait = due - MonotonicClock.now
  if wait > .zero { try? await Task.sleep(for: wait) }
  return !Task.isCancelled
}

/// That somebody needs a keyframe: taken at most twice a second, so that nobody's requests keep the pictures where they are.
private final class Wish: Sendable {
  private static let interval = Duration.milliseconds(500)
  private let state = Mutex((isSet: false, taken: Duration.seconds(-10)))

  func set() { state.withLock { $0.isSet = true } }

  func take(at time: Duration) -> Bool {
    state.withLock { state in
      guard state.isSet, time - state.taken >= Self.interval else { return false }
      state = (false, time)
      return true
    }
  }
}
