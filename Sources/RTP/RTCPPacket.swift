import MediaCore

/// One RTCP packet out of a compound.
public enum RTCPPacket: Sendable, Hashable {
  /// SR (RFC 3550 section 6.4.1).
  case senderReport(RTCPSenderReport)
  /// RR (RFC 3550 section 6.4.2).
  case receiverReport(RTCPReceiverReport)
  /// SDES (RFC 3550 section 6.5): the canonical names, of chunks that have one.
  case sourceDescription([RTCPSourceDescription])
  /// BYE (RFC 3550 section 6.6).
  case goodbye([SSRC])
  /// Generic NACK (RFC 4585 section 6.2.1).
  case nack(RTCPNack)
  /// PLI (RFC 4585 section 6.3.1).
  case pictureLossIndication(sender: SSRC, media: SSRC)
  /// FIR (RFC 5104 section 4.3.1).
  case fullIntraRequest(sender: SSRC, entries: [RTCPFullIntraEntry])
  /// Transport-wide congestion control feedback.
  case transportFeedback(TransportFeedback)
  /// Receiver estimated maximum bitrate (draft-alvestrand-rmcat-remb-03).
  case receiverEstimatedMaximumBitrate(RTCPBandwidth)
}

/// The sender's part of an SR, and its report blocks.
public struct RTCPSenderReport: Sendable, Hashable {
  /// The source that sends the report.
  public var ssrc: SSRC
  /// Wall clock of the sender when the report was made; 0 when it has none.
  public var ntp: NTPTime
  /// The same instant on the stream's RTP clock.
  public var rtpTimestamp: UInt32
  /// RTP packets sent since the stream began, wrapping.
  public var packetCount: UInt32
  /// Payload bytes sent since the stream began, wrapping.
  public var octetCount: UInt32
  /// Reception reports, at most 31.
  public var reports: [RTCPReportBlock]
  /// Makes a report; see the properties.
  public init(
    ssrc: SSRC, ntp: NTPTime, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32,
    reports: [RTCPReportBlock] = []
  ) {
    self.ssrc = ssrc
    self.ntp = ntp
    self.rtpTimestamp = rtpTimestamp
    self.packetCount = packetCount
    self.octetCount = octetCount
    self.reports = reports
  }
}

/// An RR.
public struct RTCPReceiverReport: Sendable, Hashable {
  /// The one that reports.
  public var ssrc: SSRC
  /// Reception reports, at most 31.
  public var reports: [RTCPReportBlock]
  /// Makes a report; see the properties.
  public init(ssrc: SSRC, reports: [RTCPReportBlock]) {
    self.ssrc = ssrc
    self.reports = reports
  }
}

/// A reception report block (RFC 3550 section 6.4.1).
public struct RTCPReportBlock: Sendable, Hashable {
  /// The stream that was received.
  public var ssrc: SSRC
  /// Loss since the last report in 1/256.
  public var fractionLost: UInt8
  /// Packets lost since the stream began: 24 bits signed, negative when duplicates outnumber losses.
  public var cumulativeLost: Int32
  /// Highest sequence number received, with the number of wraps in the high 16 bits.
  public var highestSequence: UInt32
  /// Interarrival jitter in ticks of the RTP clock.
  public var jitter: UInt32
  /// Middle 32 bits of the NTP time of the last SR; 0 = none yet.
  public var lastSenderReport: UInt32
  /// Time since that SR arrived in 1/65536 s.
  public var delaySinceLastSenderReport: UInt32
  /// Makes a block; see the properties.
  public init(
    ssrc: SSRC, fractionLost: UInt8 = 0, cumulativeLost: Int32 = 0, highestSequence: UInt32 = 0, jitter: UInt32 = 0,
    lastSenderReport: UInt32 = 0, delaySinceLastSenderReport: UInt32 = 0
  ) {
    self.ssrc = ssrc
    self.fractionLost = fractionLost
    self.cumulativeLost = cumulativeLost
    self.highestSequence = highestSequence
    self.jitter = jitter
    self.lastSenderReport = lastSenderReport
    self.delaySinceLastSenderReport = delaySinceLastSenderReport
  }

  /// The round trip time when the report arrives at `ntp` on the clock that the SR was stamped with;
  /// nil before the first SR was heard or when the numbers make no sense (RFC 3550 section 6.4.1).
  public func roundTripTime(at ntp: NTPTime) -> Duration? {
    guard lastSenderReport != 0 else { return nil }
    let units = Int32(bitPattern: ntp.middle32 &- lastSenderReport &- delaySinceLastSenderReport)
    // Rounding at both ends can give a value just below zero on a local path.
    guard units > -66 else { return nil }
    return .nanoseconds((Int64(max(0, units)) * 1_000_000_000) >> 16)
  }
}

/// The canonical name of a source (RFC 3550 section 6.5.1).
public struct RTCPSourceDescription: Sendable, Hashable {
  /// The source whose name it is.
  public var ssrc: SSRC
  /// Its canonical name.
  public var cname: String
  /// Makes a description; see the properties.
  public init(ssrc: SSRC, cname: String) {
    self.ssrc = ssrc
    self.cname = cname
  }
}

/// A generic NACK: which packets of a stream are missing (RFC 4585 section 6.2.1).
public struct RTCPNack: Sendable, Hashable {
  /// The one that asks.
  public var sender: SSRC
  /// The stream asked for.
  public var media: SSRC
  /// The missing sequence numbers in the order of the message; every entry names one to seventeen.
  public var sequenceNumbers: [UInt16]
  /// Makes a request; see the properties.
  public init(sender: SSRC, media: SSRC, sequenceNumbers: [UInt16]) {
    self.sender = sender
    self.media = media
    self.sequenceNumbers = sequenceNumbers
  }
}

/// One entry of a FIR (RFC 5104 section 4.3.1.1).
public struct RTCPFullIntraEntry: Sendable, Hashable {
  /// The stream that shall send a keyframe.
  public var media: SSRC
  /// Number of the command: the same number again is a repetition, not a new command.
  public var commandSequence: UInt8
  /// Makes an entry; see the properties.
  public init(media: SSRC, commandSequence: UInt8) {
    self.media = media
    self.commandSequence = commandSequence
  }
}

/// A REMB message.
public struct RTCPBandwidth: Sendable, Hashable {
  /// The one that reports.
  public var sender: SSRC
  /// Estimated total bitrate of the streams in bits per second; saturates at `UInt64.max`.
  public var bitsPerSecond: UInt64
  /// The streams that the estimate is about.
  public var streams: [SSRC]
  /// Makes a message; see the properties.
  public init(sender: SSRC, bitsPerSecond: UInt64, streams: [SSRC]) {
    self.sender = sender
    self.bitsPerSecond = bitsPerSecond
    self.streams = streams
  }
}

/// Packet types and feedback message types of the wire.
enum RTCPType {
  static let senderReport: UInt8 = 200
  static let receiverReport: UInt8 = 201
  static let sourceDescription: UInt8 = 202
  static let goodbye: UInt8 = 203
  static let transportFeedback: UInt8 = 205
  static let payloadFeedback: UInt8 = 206
  // FMT of 205
  static let nack: UInt8 = 1
  static let transportWide: UInt8 = 15
  // FMT of 206
  static let pictureLoss: UInt8 = 1
  static let fullIntra: UInt8 = 4
  static let applicationLayer: UInt8 = 15
  static let remb: UInt32 = 0x5245_4d42
}
