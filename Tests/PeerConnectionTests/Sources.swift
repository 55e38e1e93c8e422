import MediaCore
import Platform
import RTP
import Transport

@testable import PeerConnection

// Confined to the loop.
/// Sends a frame on every sender at each step, as fast as it is asked to. Its media was captured 10 ms apart whenever the
/// steps come, so that the capture clock and the RTP clock agree to the nanosecond on a busy machine too.
final class FrameSource: @unchecked Sendable {
  static let frameSize = 5000
  private let senders: [RTPSender]
  private let layers: Int
  private var count: [UInt32]
  private let start = MonotonicClock.now

  init(_ senders: [RTPSender], layers: Int = 1) {
    self.senders = senders
    self.layers = layers
    count = senders.map { _ in 0 }
  }

  /// 10 ms of media.
  func step() {
    for (index, sender) in senders.enumerated() where sender.isSending {
      let number = count[index]
      count[index] += 1
      let capturedAt = start + .milliseconds(Int64(number) * 10)
      switch sender.codec {
      case .vp8:
        let timestamp = number &* 900
        for layer in 0..<layers {
          let frame = vp8Frame(
            keyframe: number % 100 == 0, count: Self.frameSize, number: UInt8(truncatingIfNeeded: number))
          frame.withUnsafeBytes { bytes in
            _ = sender.send(frame: bytes, rtpTimestamp: timestamp, capturedAt: capturedAt, layer: layer)
          }
        }
      case .opus:
        // Configuration 16: 2.5 ms would be 0x80; 0xf0 is 10 ms of full-band CELT (RFC 6716 section 3.1).
        let frame: [UInt8] = [0xf0] + Array(repeating: UInt8(truncatingIfNeeded: number), count: 40)
        frame.withUnsafeBytes { bytes in
          _ = sender.send(
            frame: bytes, rtpTimestamp: number &* 480, capturedAt: capturedAt, audioLevel: 33, isVoice: true)
        }
      case .vp9, .h264, .av1, .h265, .g722, .pcmu, .pcma: break
      }
    }
  }

  /// The wall clock of `End` when the frame with a timestamp was captured.
  func captureTime(ofOriginal timestamp: UInt32) -> NTPTime {
    End.wallClock(at: start + .milliseconds(Int64(timestamp / 900) * 10))
  }
}

// Confined to the loop.
/// Forwards what an end received, in the way of a selective forwarding unit.
final class Forwarder: @unchecked Sendable {
  let offset: UInt32 = 1_000_000
  private let sender: RTPSender
  private var done = 0
  private var doneReports = 0
  private var sequence: UInt16 = 500

  init(_ sender: RTPSender) { self.sender = sender }

  func step(_ end: End) {
    while doneReports < end.reports.count {
      let report = end.reports[doneReports]
      doneReports += 1
      sender.updateSource(ntp: report.ntp, rtpTimestamp: report.rtp &+ offset, at: MonotonicClock.now)
    }
    guard sender.isSending else { return }
    while done < end.packets.count {
      let packet = end.packets[done].packet
      done += 1
      sender.forward(
        packet, from: end.pc.receivers.first, sequenceNumber: sequence, timestamp: packet.timestamp &+ offset,
        marker: packet.marker)
      sequence &+= 1
    }
  }
}
