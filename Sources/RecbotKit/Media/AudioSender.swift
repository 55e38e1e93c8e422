import AudioMix
import Codecs
import MediaCore
import Platform
import Rooms
import Synchronization

/// Sound of at least this level counts as a voice, -dBov.
let quietestVoice: UInt8 = 60

/// Encodes the sound of one publication and sends it, 20 ms a packet. `take` may be called on any thread; the work is done on
/// the room's media thread.
final class AudioSender: TrackSender {
  private let queue: SendQueue<AudioProcessor>
  private let encoding: AudioEncoding

  init(_ options: AudioPublishOptions, core: RoomCore) {
    encoding = AudioEncoding(options)
    queue = SendQueue(core: core, limit: 100, processor: options.processor) { [threads = core.threads] in
      threads.media.post($0)
    }
  }

  var dropped: Int { queue.dropped }

  func begin(as id: LocalTrackID) { queue.begin(as: id) }

  func pause(_ isPaused: Bool) { _ = queue.pause(isPaused) }

  func process(_ processors: TrackProcessors) { queue.process(processors.audio) }

  func wantKeyframe(_ layer: Int?) {}

  func take(_ block: AudioBlock) {
    let now = MonotonicClock.now
    queue.put { [encoding] client, id, processor in
      encoding.encode(block, by: processor, at: now) { bytes, rtpTime, capturedAt, level in
        client.send(
          MediaBuffer(copying: bytes), of: id, layer: 0, rtpTime: rtpTime, capturedAt: capturedAt, audioLevel: level,
          isVoice: level < quietestVoice)
      }
      return true
    }
  }
}

// Sendable by confinement: the media thread's.
/// The encoder of one publication.
private final class AudioEncoding: @unchecked Sendable {
  typealias Send = (UnsafeRawBufferPointer, _ rtpTime: UInt32, _ capturedAt: Instant, _ level: UInt8) -> Void

  /// What lies so far from where it should follow does not follow: a gap, or another beginning. Samples.
  private static let tolerance: Int64 = 2880

  private let encoder: OpusEncoder?
  private var processor: AudioProcessor?
  private var treatment = SoundTreatment(nil)
  private var clock = SendClock()
  /// Stereo samples that make no packet yet, and the position of the first of them.
  private var waiting: [Float] = []
  private var position: Int64 = 0
  /// When the sample at `position` was captured.
  private var capturedAt = Instant.distantPast
  private var packet = [UInt8](repeating: 0, count: OpusEncoder.maximumPacketSize)
  /// The last packet said that silence begins, or goes on.
  private var isSilent = false

  init(_ options: AudioPublishOptions) {
    var settings = OpusEncoderSettings()
    settings.isDiscontinuous = options.isDiscontinuous
    settings.bitrate = min(510_000, max(6000, options.bitrate))
    settings.isForSpeech = options.isForSpeech
    settings.isForwardErrorCorrecting = options.isForwardErrorCorrecting
    settings.expectedLossPercent = options.isForwardErrorCorrecting ? 5 : 0
    // It fails without memory only; then nothing is sent.
    encoder = try? OpusEncoder(settings: settings)
  }

  func encode(_ block: AudioBlock, by processor: AudioProcessor?, at now: Instant, send: Send) {
    guard let encoder, !block.samples.isEmpty else { return }
    let (elapsed, captured) = clock.time(block.time, at: now)
    let due = elapsed.nanoseconds / 1000 * 6 / 125
    let end = position + Int64(waiting.count / 2)
    if waiting.isEmpty && position == 0 || (due - end).magnitude > UInt64(Self.tolerance) {
      // Time never goes back in a stream.
      (waiting, position) = ([], max(due, end))
      capturedAt = captured
    }
    if block.channels == 2 {
      waiting += block.samples
    } else {
      waiting.reserveCapacity(waiting.count + 2 * block.samples.count)
      for sample in block.samples { waiting += [sample, sample] }
    }
    if processor != self.processor { (self.processor, treatment) = (processor, SoundTreatment(processor)) }
    let size = OpusEncoder.frameSamples * 2
    var start = 0
    while waiting.count - start >= size {
      waiting.withUnsafeMutableBufferPointer { samples in
        treatment.process(UnsafeMutableBufferPointer(rebasing: samples[start..<(start + size)]))
        let frame = UnsafeBufferPointer(rebasing: samples[start..<(start + size)])
        guard let count = try? packet.withUnsafeMutableBytes({ try encoder.encode(frame, into: $0) }) else { return }
        // The first that need not be sent is sent: from it receivers know that what is missing is not lost.
        let wasSilent = isSilent
        isSilent = count <= OpusEncoder.silenceSize
        if isSilent && wasSilent { return }
        packet.withUnsafeBytes { bytes in
          send(
            UnsafeRawBufferPointer(rebasing: bytes[..<count]), UInt32(truncatingIfNeeded: position), capturedAt,
            AudioLevel(of: frame).headerExtensionValue)
        }
      }
      start += size
      position += Int64(OpusEncoder.frameSamples)
      capturedAt = min(now, capturedAt + .milliseconds(20))
    }
    waiting.removeFirst(start)
  }
}
