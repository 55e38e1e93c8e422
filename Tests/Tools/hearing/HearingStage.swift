import AudioMix
import Layouts
import MediaCore
import RTP

import Session

/// One publisher's sound and pictures on their whole way, in manual time: from the packets that it sends, over a network
/// with jitter and loss, through the reorder buffer, the reports' clock and the core, to the mixer's samples.
///
/// Each packet of sound has a loudness of its own, so that what comes out can be told apart packet by packet. Times are
/// nanoseconds of one true clock, which nobody on the stage knows but the judge.
struct HearingStage: Sendable {
  /// What goes wrong at the sender, and when, milliseconds.
  enum Trouble: Sendable {
    /// Nothing is captured for so long, and the clock of the sound stands still meanwhile.
    case microphone(Int64)
    /// The same for sound and pictures: the whole device sleeps.
    case device(Int64)
    /// The same for the pictures alone.
    case camera(Int64)
    /// The sound's timestamps leap ahead (or back, when negative) by so much, without any pause.
    case leap(Int64)
    /// The same for the pictures.
    case cameraLeap(Int64)
    /// The sound's source changes: numbers and timestamps begin anew.
    case newSource
    /// The sender is silent for so long and sends nothing; its clock goes on (DTX).
    case silence(Int64)
    /// The network holds everything back for so long, and then gives it out at once.
    case congestion(Int64)
  }

  /// Who reports, and how well.
  enum Reports: Sendable {
    case none, own, forwarded, wrong
    /// A busy sender, which notes a third of the packets that it reports about up to 60 ms late.
    case busy
    /// A sender that is too slow all the time: it notes each packet 150 ms late.
    case slow
  }

  var seed: UInt64
  /// Milliseconds.
  var length: Int64 = 12_000
  var troubles: [(at: Int64, what: Trouble)] = []
  /// Packets are late by up to so many milliseconds, but keep their order.
  var jitter: Int64 = 10
  /// Lost packets of sound, 1/1000. They are not sent again.
  var loss = 0
  /// Lost packets of sound that are sent again and come this much later, milliseconds; 0: they are not.
  var repair: Int64 = 0
  var hasVideo = true
  /// Nanoseconds from picture to picture.
  var pictureInterval: Int64 = 33_333_333
  /// Pictures of the recording in a second.
  var framesPerSecond = 30
  var reports = Reports.own
  /// Milliseconds between the reports of the sound, and of the pictures.
  var reportsEvery: (sound: Int64, pictures: Int64) = (2_000, 1_000)
  /// The first reports come after so many milliseconds.
  var reportsFrom: Int64 = 700
  /// The sender's clock runs fast (positive: slow captures) by so many millionths.
  var drift: Int64 = 0
  /// The way of sound and of pictures, milliseconds.
  var way: (sound: Int64, pictures: Int64) = (30, 75)

  /// What became of one packet of sound.
  struct Heard: Sendable {
    var number: Int
    /// The sample behind its last one, and how many were found.
    var end: Int64
    var count: Int
  }

  /// What came of it all.
  struct Result: Sendable {
    /// When each packet was captured (true time); nil: none of that number.
    var captured: [Int64] = []
    /// Packets that reached the recorder.
    var arrived: Set<Int> = []
    /// Something other than the packet before lies directly before this packet: a stall, a loss, silence.
    var begins: Set<Int> = []
    var heard: [Heard] = []
    /// When a picture came on show, and when it was captured.
    var shown: [(at: Int64, captured: Int64)] = []
  }

  /// A stage of 12 s without troubles.
  init(seed: UInt64, troubles: [(at: Int64, what: Trouble)] = []) {
    self.seed = seed
    self.troubles = troubles
  }

  private static let millisecond: Int64 = 1_000_000
  private static let packet: Int64 = 20_000_000
  private static let codes = 150

  private struct Arrival {
    enum What {
      case sound(number: Int, sequence: Int64, timestamp: Int64, source: Int, isRepair: Bool)
      case picture(capture: Int64, timestamp: Int64)
      case report(isAudio: Bool, ntp: Int64, timestamp: Int64, source: Int)
    }
    var at: Int64
    var what: What
  }

  // MARK: Sending

  private func send(_ result: inout Result) -> [Arrival] {
    var random = SeededRandom(seed: seed)
    var arrivals: [Arrival] = []
    let end = length * Self.millisecond
    let zero = Int64.random(in: 0...(4 << 32), using: &random)
    let wall: Int64 = 3_900_000_000_000_000_000
    var congested: [(from: Int64, until: Int64)] = []
    for trouble in troubles {
      if case .congestion(let length) = trouble.what {
        congested.append((trouble.at * Self.millisecond, (trouble.at + length) * Self.millisecond))
      }
    }
    func travel(_ sent: Int64, _ way: Int64, _ last: inout Int64, _ random: inout SeededRandom) -> Int64 {
      var at = sent + way * Self.millisecond
      if jitter > 0 { at += Int64.random(in: 0..<(jitter * Self.millisecond), using: &random) }
      for hold in congested where (hold.from..<hold.until).contains(at) { at = hold.until }
      // The network keeps the order.
      at = max(at, last + 1000)
      last = at
      return at
    }

    // Sound.
    var now = Int64(1_000) * 1000
    var timestamp = zero
    var sequence = Int64.random(in: 0...70_000, using: &random)
    var source = 0
    var number = 0
    var lastArrival: Int64 = 0
    var pending = troubles[...]
    var reportAt = reportsFrom * Self.millisecond
    var lastReport: (ntp: Int64, timestamp: Int64)?
    var begins = true
    func report(until instant: Int64, _ captured: Int64, _ stamp: Int64) {
      while reportAt < instant {
        defer { reportAt += reportsEvery.sound * Self.millisecond }
        guard reports != .none else { continue }
        var ntp = wall + reportAt + Int64.random(in: -3_000_000...3_000_000, using: &random)
        // A sender's report names the timestamp that would be captured now, by the last packet.
        var rtp = stamp + (reportAt - captured) * 48 / 1_000_000
        if reports == .wrong, Int.random(in: 0..<3, using: &random) == 0 {
          ntp += Int64.random(in: -9_000...9_000, using: &random) * Self.millisecond
        }
        // The timestamp is counted on from when the packet was noted.
        if reports == .slow { rtp -= 150 * 48 }
        if reports == .busy, Int.random(in: 0..<3, using: &random) == 0 {
          rtp -= Int64.random(in: 0...60, using: &random) * 48
        }
        if reports == .forwarded {
          // The forwarder has a new report only now and then, and repeats it, moved on in time.
          if let last = lastReport, Int.random(in: 0..<2, using: &random) == 0 {
            (ntp, rtp) = (last.ntp + reportsEvery.sound * Self.millisecond, last.timestamp + reportsEvery.sound * 48)
          }
        }
        lastReport = (ntp, rtp)
        arrivals.append(
          Arrival(
            at: reportAt + way.sound * Self.millisecond,
            what: .report(isAudio: true, ntp: ntp, timestamp: rtp, source: source)))
      }
    }
    while now < end {
      while let next = pending.first, next.at * Self.millisecond <= now {
        pending.removeFirst()
        let before = now
        switch next.what {
        case .microphone(let length), .device(let length):
          now += length * Self.millisecond
          report(until: now, before - Self.packet, timestamp - 960)
          begins = true
        case .silence(let length):
          now += length * Self.millisecond
          timestamp += length * 48
          report(until: now, before - Self.packet, timestamp - 960 - length * 48)
          begins = true
        case .leap(let length):
          timestamp += length * 48
        case .newSource:
          source += 1
          timestamp = zero + Int64.random(in: -4_000_000_000...4_000_000_000, using: &random)
          sequence = Int64.random(in: 0...70_000, using: &random)
          lastReport = nil
        case .camera, .cameraLeap, .congestion: break
        }
      }
      let arrival = travel(now + Self.packet, way.sound, &lastArrival, &random)
      // What is sent again was asked for when the next packet came. Nobody asks for the last one of all, or in time for
      // the last one before a stall; later nothing would tell on which side of the stall it belongs.
      let isLast = now + Self.packet >= pending.first.map { $0.at * Self.millisecond } ?? end
      let mayBeLost = number > 0 && !(isLast && repair > 0)
      let isLost = loss > 0 && mayBeLost && Int.random(in: 0..<1000, using: &random) < loss
      result.captured.append(now)
      if begins { result.begins.insert(number) }
      begins = isLost && repair == 0
      if !isLost {
        arrivals.append(
          Arrival(
            at: arrival,
            what: .sound(
              number: number, sequence: sequence, timestamp: timestamp, source: source, isRepair: false)))
        result.arrived.insert(number)
      } else if repair > 0 {
        arrivals.append(
          Arrival(
            at: arrival + repair * Self.millisecond,
            what: .sound(
              number: number, sequence: sequence, timestamp: timestamp, source: source, isRepair: true)))
        result.arrived.insert(number)
      }
      report(until: now + Self.packet, now, timestamp)
      number += 1
      sequence += 1
      timestamp += 960
      now += Self.packet + Self.packet * drift / 1_000_000
    }

    // Pictures.
    guard hasVideo else { return arrivals.sorted { $0.at < $1.at } }
    now = 5_000_000
    // The picture's clock stands still too when the device sleeps.
    var offset: Int64 = 0
    lastArrival = 0
    pending = troubles[...]
    reportAt = (reportsFrom + 150) * Self.millisecond
    func reportPictures(until instant: Int64) {
      while reportAt < instant {
        defer { reportAt += reportsEvery.pictures * Self.millisecond }
        guard reports != .none else { continue }
        let ntp = wall + reportAt + Int64.random(in: -3_000_000...3_000_000, using: &random)
        let stamp = zero / 2 + offset + reportAt * 90 / 1_000_000
        arrivals.append(
          Arrival(
            at: reportAt + way.sound * Self.millisecond,
            what: .report(isAudio: false, ntp: ntp, timestamp: stamp, source: 0)))
      }
    }
    while now < end {
      while let next = pending.first, next.at * Self.millisecond <= now {
        pending.removeFirst()
        switch next.what {
        case .camera(let length), .device(let length):
          now += length * Self.millisecond
          // Meanwhile reports are about the clock as it was.
          reportPictures(until: now)
          offset -= length * 90
        case .cameraLeap(let length): offset += length * 90
        default: break
        }
      }
      let stamp = zero / 2 + offset + now * 90 / 1_000_000
      let arrival = travel(now, way.pictures, &lastArrival, &random)
      arrivals.append(Arrival(at: arrival, what: .picture(capture: now, timestamp: stamp)))
      reportPictures(until: now)
      now += pictureInterval
    }
    return arrivals.sorted { $0.at < $1.at }
  }

  // MARK: Receiving

  /// A source of sound as the connection holds it.
  private struct Source {
    var buffer: AudioReorderBuffer
    var clock = SenderReportClock(clockRate: .opus)
    var newest: Int64 = 0
  }

  /// An Opus packet of 20 ms that says its number (RFC 6716 section 3.1).
  private static func payload(_ number: Int) -> [UInt8] {
    [0xF8, UInt8(number & 255), UInt8(number >> 8 & 255), UInt8(number >> 16 & 255)]
  }

  /// Plays it, as fast as the machine can.
  func play() -> Result {
    var result = Result()
    var arrivals = send(&result)[...]
    let settings = SessionCore.Settings(
      canvas: CanvasSize(width: 1280, height: 720), layout: .grid, framesPerSecond: framesPerSecond)
    var core = SessionCore(settings: settings)
    var sequence: UInt64 = 0
    // What each event is: a packet's number, or nil; when its picture was captured.
    var numbers: [Int?] = []
    var captures: [Int64] = []
    func event(_ now: Int64, _ payload: SessionEvent.Payload, number: Int? = nil, capture: Int64 = 0) {
      core.handle(SessionEvent(sequence: sequence, arrived: SessionTime(nanoseconds: now), payload: payload))
      numbers.append(number)
      captures.append(capture)
      sequence += 1
    }
    event(0, .room(.participant(Participant(identity: ParticipantIdentity("ann"), name: "Ann"))))
    for source in [TrackSource.camera, .microphone] where hasVideo || source == .microphone {
      let track = Track(
        id: TrackID("ann.\(source.rawValue)"), participant: ParticipantIdentity("ann"),
        kind: source == .camera ? .video : .audio, source: source)
      event(0, .room(.track(track)))
      event(0, .room(.trackSubscribed(track.id, true)))
    }
    var sources: [Int: Source] = [:]
    var videoClock = SenderReportClock(clockRate: .video)
    var newestPicture: Int64 = 0

    func drain(_ source: Int, at now: Instant) {
      guard var state = sources.removeValue(forKey: source) else { return }
      defer { sources[source] = state }
      while case .packet(let packet) = state.buffer.poll(at: now) {
        let held = now - packet.arrived
        state.newest = packet.rtpTime
        for unit in 0..<min(packet.lostUnits, 50) {
          let time = packet.rtpTime - packet.lostBefore + Int64(unit) * 960
          event(
            now.nanoseconds,
            .frame(
              Self.frame(.opus, [], time, state.clock.captureTime(of: time), held: held), of: Self.microphone))
        }
        let bytes = packet.payload.bytes
        let number = Int(bytes[1]) | Int(bytes[2]) << 8 | Int(bytes[3]) << 16
        event(
          now.nanoseconds,
          .frame(
            Self.frame(
              .opus, Self.payload(number), packet.rtpTime, state.clock.captureTime(of: packet.rtpTime), held: held),
            of: Self.microphone), number: number)
      }
    }

    let mixer = Mixer()
    let mixed = UnsafeMutableBufferPointer<Float>.allocate(capacity: mixer.blockSamples * 2)
    defer { mixed.deallocate() }
    let block = UnsafeMutableBufferPointer<Float>.allocate(capacity: 1920)
    defer { block.deallocate() }
    let track = mixer.addTrack()
    var ear = Ear()
    var onShow: UInt64?

    for step in 1...(length / 5 + 1_000) {
      let now = step * 5 * Self.millisecond
      while let next = arrivals.first, next.at <= now {
        arrivals.removeFirst()
        let arrived = Instant(nanoseconds: next.at)
        // What was waited for too long goes on at its own time.
        for source in sources.keys { drain(source, at: arrived) }
        switch next.what {
        case .sound(let number, let sequence, let timestamp, let source, _):
          if sources[source] == nil {
            sources[source] = Source(buffer: AudioReorderBuffer(maximumWait: .milliseconds(400)))
          }
          let bytes = Self.payload(number)
          let buffer = MediaBuffer(capacity: 32)
          _ = bytes.withUnsafeBytes {
            RTPPacket.write(
              into: buffer, marker: false, payloadType: PayloadType(111),
              sequenceNumber: UInt16(truncatingIfNeeded: sequence), timestamp: UInt32(truncatingIfNeeded: timestamp),
              ssrc: SSRC(7), payload: $0)
          }
          if let packet = RTPPacket(buffer) { sources[source]?.buffer.insert(packet, sequence: sequence, at: arrived) }
          drain(source, at: arrived)
        case .picture(let capture, let timestamp):
          newestPicture = timestamp
          event(
            next.at,
            .frame(
              Self.frame(.vp8, [1], timestamp, videoClock.captureTime(of: timestamp), held: .zero),
              of: TrackID("ann.camera")),
            capture: capture)
        case .report(let isAudio, let ntp, let timestamp, let source):
          let report = RTCPSenderReport(
            ssrc: SSRC(7), ntp: NTPTime(nanoseconds: ntp), rtpTimestamp: UInt32(truncatingIfNeeded: timestamp),
            packetCount: 0, octetCount: 0)
          if isAudio {
            if let newest = sources[source]?.newest { sources[source]?.clock.received(report, near: newest) }
          } else {
            videoClock.received(report, near: newestPicture)
          }
        }
      }
      for source in sources.keys { drain(source, at: Instant(nanoseconds: now)) }
      core.advance(to: SessionTime(nanoseconds: now))
      while let output = core.pollOutput() {
        switch output {
        case .audio(let id, _, _, let at, _):
          // What is lost is concealed: by silence here.
          let (left, right) = numbers[Int(id.rawValue)].map(Ear.levels) ?? (0, 0)
          for sample in 0..<960 { (block[sample * 2], block[sample * 2 + 1]) = (left, right) }
          let (milliseconds, rest) = at.nanoseconds.quotientAndRemainder(dividingBy: Self.millisecond)
          mixer.insert(UnsafeBufferPointer(block), at: milliseconds * 48 + rest * 48 / Self.millisecond, track: track)
        case .compose(let plan):
          if case .picture(let id, _)? = plan.tiles.first?.content, onShow != id.rawValue {
            onShow = id.rawValue
            result.shown.append((plan.time.nanoseconds, captures[Int(id.rawValue)]))
          }
          // As the recording does.
          let end = min(settings.slotTime(plan.slot + 1), plan.time + .milliseconds(40))
          while mixer.position + 960 <= end.nanoseconds / 1000 * 48 / 1000 {
            mixer.mix(into: mixed)
            ear.listen(UnsafeBufferPointer(mixed))
          }
        default: break
        }
      }
    }
    result.heard = ear.finish()
    return result
  }

  private static let microphone = TrackID("ann.microphone")

  private static func frame(
    _ codec: Codec, _ payload: [UInt8], _ time: Int64, _ capture: NTPTime?, held: Duration
  ) -> EncodedFrame {
    EncodedFrame(
      codec: codec, payload: MediaBuffer(payload), rtpTime: time, captureTime: capture,
      isKeyframe: true, width: 640, height: 360, held: held)
  }

  // MARK: Listening

  /// Finds the packets in the samples: runs of one loudness. Their begins and ends may be faded.
  private struct Ear {
    private var position: Int64 = 0
    private var current = -1
    private var begin: Int64 = 0
    private var found: [Heard] = []

    static func levels(of number: Int) -> (Float, Float) {
      (Float(number % codes + 1) / 256, Float(number / codes % codes + 1) / 256)
    }

    private static func code(_ left: Float, _ right: Float) -> Int {
      let (a, b) = (left * 256, right * 256)
      let (x, y) = (a.rounded(), b.rounded())
      guard abs(a - x) < 0.01, abs(b - y) < 0.01, x >= 1, y >= 1 else { return -1 }
      return (Int(y) - 1) * codes + Int(x) - 1
    }

    mutating func listen(_ samples: UnsafeBufferPointer<Float>) {
      for index in 0..<(samples.count / 2) {
        let code = Self.code(samples[index * 2], samples[index * 2 + 1])
        if code != current { turn(to: code) }
        position += 1
      }
    }

    private mutating func turn(to code: Int) {
      // Shorter stretches are fades that pass through a loudness.
      if current >= 0, position - begin >= 100 {
        // Loudnesses come again after 450 s: the number nearest to the one that is expected.
        let all = codes * codes
        let expected = (found.last?.number ?? -1) + 1
        let ahead = ((current - expected) % all + all + all / 2) % all - all / 2
        found.append(Heard(number: max(0, expected + ahead), end: position, count: Int(position - begin)))
      }
      (current, begin) = (code, position)
    }

    mutating func finish() -> [Heard] {
      turn(to: -1)
      return found
    }
  }
}
