import MediaCore
import TestKit
import Testing
import Transport

@testable import Rooms

/// The verdicts of the watch by themselves, as drawn at `OutageWatch`.
@Suite struct OutageWatchTests {
  static let now = Instant.seconds(1000)

  /// A watch that has seen no packet for so long, of connections that were asked half a second after the last one.
  struct Scene {
    var watch = OutageWatch()
    var signal = SignalLinkTests.link(.connect, .open)
    var media = MediaLinkTests.link(.connected)
    let at: Instant

    init(silence: Duration, serverAnswers: Bool = true, mediaAnswers: Bool? = true) {
      at = now + silence
      watch.measure(expectsMedia: true, lastPacketAt: nil, at: now)
      media.traffic.heardAt = mediaAnswers == nil ? nil : now
      let asked = now + .milliseconds(500)
      _ = signal.ask(at: asked)
      _ = media.probe(at: asked)
      if serverAnswers { signal.heard(at: asked + .nanoseconds(1)) }
      if mediaAnswers == true { media.traffic.heardAt = asked + .nanoseconds(1) }
      watch.measure(expectsMedia: true, lastPacketAt: now, at: at)
    }
  }

  @Test func whatSilenceComesTo() {
    typealias Row = (
      silence: Double, serverAnswers: Bool, mediaAnswers: Bool?, isPathSilent: Bool, loss: RoomError.Kind?
    )
    let table: [Row] = [
      (0.4, false, false, false, nil),
      (0.9, false, false, false, nil),
      (1.1, false, false, true, nil),
      (1.1, true, false, true, nil),
      (1.1, false, true, false, nil),
      (1.1, true, true, false, nil),
      (1.1, false, nil, true, nil),
      (1.1, true, nil, false, nil),
      (3.6, false, false, true, .serverSilent),
      (3.6, false, true, false, .serverSilent),
      (3.9, true, false, true, nil),
      (4.0, true, false, true, .mediaLost),
      (4.0, true, nil, false, nil),
    ]
    for row in table {
      let silence = Duration.nanoseconds(Int64(row.silence * 1e9))
      var scene = Scene(silence: silence, serverAnswers: row.serverAnswers, mediaAnswers: row.mediaAnswers)
      #expect(scene.watch.isDoubtful == (row.silence >= 0.5), "\(row)")
      #expect(scene.watch.isPathSilent(scene.signal, scene.media, at: scene.at) == row.isPathSilent, "\(row)")
      if row.isPathSilent { scene.media.fellSilent() }
      let loss = scene.watch.lossBySilence(scene.signal, scene.media, isSteady: true, at: scene.at)
      #expect(loss?.kind == row.loss, "\(row)")
    }
  }

  @Test func theWatchdogIsPatientWhenItDoesNotHelp() {
    var watch = OutageWatch()
    var (at, waits): (Instant, [Int64]) = (Self.now, [])
    for _ in 0..<7 {
      watch.measure(expectsMedia: true, lastPacketAt: nil, at: at)
      let since = at
      while watch.lossByWatchdog(isSteady: true, lastPacketAt: nil, at: at) == nil {
        at += .seconds(1)
        watch.measure(expectsMedia: true, lastPacketAt: nil, at: at)
      }
      waits.append((at - since).milliseconds / 1000)
    }
    #expect(waits == [20, 40, 80, 160, 320, 320, 320])
    watch.measure(expectsMedia: true, lastPacketAt: nil, at: at)
    #expect(watch.lossByWatchdog(isSteady: false, lastPacketAt: nil, at: at + .seconds(400)) == nil)
    // A packet after it: the next one comes soon again.
    let (packet, later) = (at + .nanoseconds(1), at + .seconds(21))
    watch.measure(expectsMedia: true, lastPacketAt: packet, at: later)
    #expect(watch.lossByWatchdog(isSteady: true, lastPacketAt: packet, at: later)?.canResume == false)
  }

  @Test func aLossIsToldOnceAndIsOverWhenSomethingComes() {
    var scene = Scene(silence: .seconds(1))
    scene.watch.explain("gone")
    #expect(!scene.watch.isOver(scene.signal, scene.media, at: scene.at), "nothing was told")
    #expect(scene.watch.tell(at: scene.at) && !scene.watch.tell(at: scene.at) && scene.watch.isTold)
    #expect(!scene.watch.isOver(scene.signal, scene.media, at: scene.at))
    scene.watch.schedule(at: scene.at)
    #expect(scene.watch.nextDeadline == scene.at + OutageWatch.lossInterval)
    scene.media.traffic.lastPacketAt = scene.at + .nanoseconds(1)
    #expect(scene.watch.isOver(scene.signal, scene.media, at: scene.at + .nanoseconds(2)))
    var isDown = scene.media
    _ = isDown.changed(.disconnected, isSignalOpen: true, at: scene.at + .nanoseconds(2))
    #expect(!scene.watch.isOver(scene.signal, isDown, at: scene.at + .nanoseconds(2)))
    scene.watch.end()
    #expect(!scene.watch.isTold && scene.watch.text.isEmpty)
  }

  @Test func aNetworkChangeIsJudgedAfterAWhile() {
    var scene = Scene(silence: .seconds(1))
    scene.watch.networkChanged(at: scene.at)
    #expect(scene.watch.isDoubtful)
    let later = scene.at + scene.signal.patience
    var early = scene.watch
    #expect(early.lossByNetworkChange(scene.signal, scene.media, allowsReconnect: true, at: scene.at) == nil)
    let loss = scene.watch.lossByNetworkChange(scene.signal, scene.media, allowsReconnect: true, at: later)
    #expect(loss?.kind == .networkChanged, "no packet since")
    #expect(scene.watch.lossByNetworkChange(scene.signal, scene.media, allowsReconnect: true, at: later) == nil)
    scene.watch.networkChanged(at: scene.at)
    scene.media.traffic.lastPacketAt = scene.at + .nanoseconds(1)
    #expect(scene.watch.lossByNetworkChange(scene.signal, scene.media, allowsReconnect: true, at: later) == nil)
  }
}
