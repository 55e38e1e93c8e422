import Foundation
import RecbotKit

/// The seconds since 1970, which all clients of a test share.
func wallClock() -> Double { Date().timeIntervalSince1970 }

/// One colour, thirty pictures a second, white in the first fifth of each second.
struct Flashes: VideoCapturer {
  let dimensions: Dimensions
  let colour: (y: UInt8, u: UInt8, v: UInt8)

  func frames() -> AsyncStream<VideoFrame> {
    let plain = VideoFrame(dimensions, y: colour.y, u: colour.u, v: colour.v)
    let white = VideoFrame(dimensions, y: 235, u: 128, v: 128)
    return paced(.seconds(1) / 30) { _ in wallClock().truncatingRemainder(dividingBy: 1) < 0.2 ? white : plain }
  }
}

/// A tone in the first tenth of each second.
struct Beeps: AudioCapturer {
  func blocks() -> AsyncStream<AudioBlock> {
    let quiet = [Float](repeating: 0, count: 960)
    let tone = (0..<960).map { Float(0.5 * sin(Double($0) * 2 * .pi * 1000 / 48_000)) }
    return paced(.milliseconds(20)) { number in
      AudioBlock(
        wallClock().truncatingRemainder(dividingBy: 1) < 0.1 ? tone : quiet, channels: 1,
        time: .milliseconds(number * 20))
    }
  }
}

/// What `make` gives, once in each interval, without drift, until nobody reads.
private func paced<Element: Sendable>(
  _ interval: Duration, _ make: @escaping @Sendable (Int) -> Element
) -> AsyncStream<Element> {
  AsyncStream { continuation in
    let task = Task {
      let start = ContinuousClock.now
      for number in 0... {
        try? await Task.sleep(until: start + interval * number, clock: .continuous)
        if Task.isCancelled { break }
        continuation.yield(make(number))
      }
    }
    continuation.onTermination = { _ in task.cancel() }
  }
}
