import Compositor
import Layouts
import MediaCore
import Session

/// The sinks of a recording: takes sound where it is mixed and pictures where they are composed, and gives them in the form that
/// each sink wants. Confined to the recording's thread.
final class Sinks {
  private let servers: [SinkServer]
  private let all: [Outlet]
  /// Those that want one person's sound.
  private let listening: [ParticipantIdentity: [Outlet]]
  /// Those that want the recording's own picture.
  private let watching: [PictureOutlet]
  /// Those for which pictures are composed, by the numbers of the plans, from that after the further files' on.
  private let composed: [PictureOutlet]
  /// Whose the tracks are that somebody listens to.
  private var owners: [TrackID: ParticipantIdentity] = [:]
  /// Those tracks that are not published any more, the oldest first: what they have sent is still to be played.
  private var unpublished: [TrackID] = []
  /// More of them are not remembered.
  private static let mostUnpublished = 64

  /// Gives to these, which whoever opened them ends, what is recorded on such a canvas. `images` are those of its layouts.
  init(_ servers: [SinkServer], canvas: CanvasSize, images: ImageStore?) {
    self.servers = servers
    all = servers.compactMap(Outlet.init)
    let pictures = servers.compactMap { server in
      PictureOutlet(
        server, server.sink.composed(beside: canvas).map { PictureCompositor(canvas: $0.canvas, images: images) })
    }
    watching = pictures.filter { $0.compositor == nil }
    composed = pictures.filter { $0.compositor != nil }
    var listening: [ParticipantIdentity: [Outlet]] = [:]
    for outlet in all {
      if case .participant(let identity) = outlet.server.sink.source { listening[identity, default: []].append(outlet) }
    }
    self.listening = listening
  }

  /// How they stand.
  var progress: [SinkProgress] { servers.map(\.progress) }

  /// Looks at news of the room: whose the tracks are.
  func take(_ news: RoomEvent) {
    switch news {
    case .track(let track) where track.kind == .audio:
      owners[track.id] = listening[track.participant] == nil ? nil : track.participant
      unpublished.removeAll { $0 == track.id }
    case .trackUnpublished(let track): forget(track)
    case .participantLeft(let identity): for (track, owner) in owners where owner == identity { forget(track) }
    default: break
    }
  }

  private func forget(_ track: TrackID) {
    guard owners[track] != nil, !unpublished.contains(track) else { return }
    unpublished.append(track)
    if unpublished.count > Self.mostUnpublished { owners[unpublished.removeFirst()] = nil }
  }

  /// Takes what a track has in the next block, interleaved stereo; nil: sound is not wanted track by track.
  var tap: ((TrackID, UnsafeBufferPointer<Float>) -> Void)? {
    if owners.isEmpty { return nil }
    return { [owners, listening] track, samples in
      guard let owner = owners[track] else { return }
      for outlet in listening[owner] ?? [] { outlet.add(samples) }
    }
  }

  /// The block is mixed: gives it, or what its tracks had, to everybody. `position`: its first sample, at 48 kHz.
  func mixed(_ samples: UnsafeBufferPointer<Float>, at position: Int64) {
    for outlet in all { outlet.give(samples, at: position) }
  }

  /// The recording's own picture of a slot; nil: it was not made, as the machine does not keep up.
  func picture(_ picture: Picture?, slot: Int64) { for outlet in watching { outlet.give(slot) { picture } } }

  /// The picture of a slot that is composed for the sink of this number; `paint` makes it where somebody reads, nil where the
  /// machine does not keep up.
  func picture(_ number: Int, slot: Int64, _ paint: (PictureCompositor) -> Picture?) {
    guard composed.indices.contains(number), let compositor = composed[number].compositor else { return }
    composed[number].give(slot) { paint(compositor) }
  }
}

/// One sink of sound, with what brings sound into its form.
private final class Outlet {
  let server: SinkServer
  private var downsampler: Downsampler
  /// What one person has in the next block; nil for the mix.
  private let own: UnsafeMutableBufferPointer<Float>?

  /// Nil for a sink of pictures.
  init?(_ server: SinkServer) {
    guard let form = server.sink.sound else { return nil }
    self.server = server
    downsampler = Downsampler(factor: 48_000 / form.rate, channels: form.channels)
    own = server.sink.source == .mixed ? nil : .allocate(capacity: 1920)
    own?.initialize(repeating: 0)
  }

  deinit { own?.deallocate() }

  func add(_ samples: UnsafeBufferPointer<Float>) {
    guard let own else { return }
    for index in 0..<min(samples.count, own.count) { own[index] += samples[index] }
  }

  func give(_ mixed: UnsafeBufferPointer<Float>, at position: Int64) {
    let count = mixed.count / 2 / downsampler.factor
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count * downsampler.channels * 2)
    downsampler.convert(own.map { UnsafeBufferPointer($0) } ?? mixed) { sample in
      let value = Self.sample(sample)
      bytes.append(UInt8(truncatingIfNeeded: value))
      bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    }
    own?.update(repeating: 0)
    server.put(SinkBlock(position: position / Int64(downsampler.factor), count: count, bytes: bytes))
  }

  /// A sample of 16 bits; what is no number is silence.
  private static func sample(_ value: Float) -> Int16 {
    guard value.isFinite else { return 0 }
    return Int16(max(-32_768, min(32_767, (value * 32_768).rounded())))
  }
}
