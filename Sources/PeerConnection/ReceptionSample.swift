/// What came in since the last sample, in all streams.
public struct ReceptionSample: Hashable, Sendable {
  /// Bytes of all packets, with their headers and with what was sent again.
  public var bytes: Int64 = 0
  /// Bytes of payload of sound.
  public var audioBytes: Int64 = 0
  /// Bytes of payload of pictures.
  public var videoBytes: Int64 = 0
  /// Sections with pictures that brought anything.
  public var flowingVideos = 0
  /// Share of lost packets, before repair, of the stream in the middle, 1/1000.
  public var lossPerMille = 0
  /// The standing queue in the stream that suffered least (`QueueDelayEstimator`).
  public var queueDelay = Duration.zero
  /// What the path can carry by our own REMB, bits per second; nil when none is sent.
  public var estimate: UInt64?
  /// Nothing came.
  public init() {}

  /// What the streams of receivers brought since they were last sampled.
  init(_ receivers: [RTPReceiver]) {
    var losses: [Int] = []
    var queue: Duration?
    for receiver in receivers {
      var bytes: Int64 = 0
      for stream in receiver.streams {
        let count = stream.takeOctets()
        let delay = stream.queue.poll()
        guard receiver.isActive, count > 0 else { continue }
        bytes += count
        losses.append(Int(stream.statistics.fractionLost) * 1000 / 256)
        if let delay { queue = min(queue ?? delay, delay) }
      }
      if receiver.kind == .audio {
        audioBytes += bytes
      } else {
        videoBytes += bytes
        flowingVideos += bytes > 0 ? 1 : 0
      }
    }
    lossPerMille = losses.isEmpty ? 0 : losses.sorted()[(losses.count - 1) / 2]
    queueDelay = queue ?? .zero
  }
}
