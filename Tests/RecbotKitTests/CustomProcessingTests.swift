import Dispatch
import MediaCore
import Synchronization
import SystemKit
import TestKit
import Testing

@testable import RecbotKit

/// Processors of somebody's own, in time that the test moves.
@Suite struct CustomProcessingTests {
  private struct Trouble: Error {}

  /// Time that the test moves, on any thread.
  private final class Clock: Sendable {
    private let time = Mutex(ManualTime())
    var now: Instant { time.withLock { $0.now } }
    func advance(by span: Duration) { time.withLock { $0.advance(by: span) } }
  }

  /// Keeps what goes on.
  private final class Taken<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func take(_ element: Element) { elements.withLock { $0.append(element) } }
    /// Waits for so many.
    func count(_ count: Int) async -> Bool { await eventually { self.all.count >= count } }
  }

  /// Holds a processor up until it is let go.
  private final class Gate: Sendable {
    let reached = Counter()
    private let open = DispatchSemaphore(value: 0)
    func wait() {
      reached.add()
      open.wait()
    }
    func release() { open.signal() }
  }

  private func picture(_ number: Int) -> VideoFrame {
    VideoFrame(.init(width: 8, height: 6), y: 100, u: 90, v: 80, time: .milliseconds(number))
  }

  private func luma(_ frame: VideoFrame) -> UInt8 { frame.withPlanes { y, _, _ in y.bytes[0] } }

  @Test func picturesGoOnInTheirOrderWithTheirTimes() async {
    let (processing, taken) = (CustomProcessing<VideoFrame>(), Taken<VideoFrame>())
    processing.pass(picture(0), taken.take)
    #expect(luma(taken.all[0]) == 100)
    processing.use { _ in VideoFrame(.init(width: 4, height: 4), y: 50, u: 128, v: 128) }
    for number in 1...20 {
      processing.pass(picture(number), taken.take)
      #expect(await taken.count(number + 1))
    }
    #expect(taken.all.dropFirst().allSatisfy { luma($0) == 50 && $0.dimensions.width == 4 })
    #expect(taken.all.map(\.time) == (0...20).map { .milliseconds($0) })
    processing.use(nil)
    processing.pass(picture(21), taken.take)
    #expect(luma(taken.all[21]) == 100)
    #expect(processing.failures == 0)
  }

  @Test func whatAProcessorFailsWithIsBlack() async {
    let (processing, taken) = (CustomProcessing<VideoFrame>(), Taken<VideoFrame>())
    processing.use { frame in
      if frame.time == .milliseconds(2) { throw Trouble() }
      return frame
    }
    for number in 1...3 {
      var frame = picture(number)
      frame.rotation = 90
      processing.pass(frame, taken.take)
      #expect(await taken.count(number))
    }
    #expect(taken.all.map(luma) == [100, 16, 100])
    #expect(taken.all.allSatisfy { $0.rotation == 90 && $0.dimensions == Dimensions(width: 8, height: 6) })
    #expect(taken.all.map(\.time) == [1, 2, 3].map { .milliseconds($0) })
    #expect(processing.failures == 1)
  }

  @Test func aProcessorThatDoesNotComeBackIsBlackUntilItDoes() async {
    let (clock, gate, taken) = (Clock(), Gate(), Taken<VideoFrame>())
    let processing = CustomProcessing<VideoFrame> { clock.now }
    processing.use { frame in
      if frame.time == .zero { gate.wait() }
      return frame
    }
    processing.pass(picture(0), taken.take)
    #expect(await eventually { gate.reached.count == 1 })
    // One waits, and others are lost, until it is late.
    for number in 1...14 {
      clock.advance(by: .milliseconds(33))
      processing.pass(picture(number), taken.take)
    }
    #expect(taken.all.isEmpty)
    for number in 20...22 {
      clock.advance(by: .milliseconds(33))
      processing.pass(picture(number), taken.take)
    }
    #expect(taken.all.map(\.time) == [21, 22].map { .milliseconds($0) })
    #expect(taken.all.allSatisfy { luma($0) == 16 })
    // What it makes after all, and what waited behind it, comes too late.
    gate.release()
    #expect(
      await eventually {
        processing.pass(picture(30), taken.take)
        return taken.all.last.map(luma) == 100
      })
    #expect(taken.all.filter { luma($0) == 100 }.allSatisfy { $0.time == .milliseconds(30) })
    #expect(processing.failures >= 2)
  }

  @Test func anotherProcessorTakesOverFromOneThatHangs() async {
    let (gate, taken) = (Gate(), Taken<VideoFrame>())
    let processing = CustomProcessing<VideoFrame>()
    processing.use { frame in
      gate.wait()
      return frame
    }
    processing.pass(picture(0), taken.take)
    #expect(await eventually { gate.reached.count == 1 })
    processing.use { VideoFrame($0.dimensions, y: 60, u: 128, v: 128) }
    processing.pass(picture(1), taken.take)
    #expect(await taken.count(1))
    gate.release()
    processing.pass(picture(2), taken.take)
    #expect(await taken.count(2))
    #expect(taken.all.map(luma) == [60, 60])
  }

  @Test func soundWaitsForASlowProcessorAndNoneIsLost() async {
    let (gate, taken) = (Gate(), Taken<AudioBlock>())
    let processing = CustomProcessing<AudioBlock>()
    processing.use { block in
      if block.time == .zero { gate.wait() }
      return AudioBlock(block.samples.map { -$0 }, channels: block.channels)
    }
    for number in 0..<26 {
      processing.pass(
        AudioBlock([Float](repeating: 0.5, count: 960), channels: 1, time: .milliseconds(number * 20)), taken.take)
    }
    gate.release()
    #expect(await taken.count(26))
    #expect(taken.all.map(\.time) == (0..<26).map { .milliseconds($0 * 20) })
    #expect(taken.all.allSatisfy { $0.samples.allSatisfy { $0 == -0.5 } })
    #expect(processing.failures == 0)
  }

  @Test func soundOfAnotherLengthIsSilence() async {
    let (processing, taken) = (CustomProcessing<AudioBlock>(), Taken<AudioBlock>())
    processing.use { AudioBlock(Array($0.samples.dropLast(2)), channels: 2) }
    processing.pass(AudioBlock([Float](repeating: 0.5, count: 1920)), taken.take)
    #expect(await taken.count(1))
    #expect(taken.all[0].samples == [Float](repeating: 0, count: 1920))
    // Other channels of the same length are the processor's affair.
    processing.use { AudioBlock(Array($0.samples.prefix(960)), channels: 1) }
    processing.pass(AudioBlock([Float](repeating: 0.5, count: 1920)), taken.take)
    #expect(await taken.count(2))
    #expect(taken.all[1].samples == [Float](repeating: 0.5, count: 960))
    #expect(processing.failures == 1)
  }
}
