import Foundation
import RecbotKit
import Synchronization

/// Paints over pictures, or does what a processor should not.
final class Hider: CustomVideoProcessor {
  enum Mode {
    case paints
    case fails
    case hangs
  }

  private struct Failure: Error {}

  let mode = Mutex(Mode.paints)

  func process(_ frame: VideoFrame) throws -> VideoFrame {
    switch mode.withLock({ $0 }) {
    case .paints: break
    case .fails: throw Failure()
    case .hangs: Thread.sleep(forTimeInterval: 3)
    }
    return VideoFrame(frame.dimensions, y: 145, u: 54, v: 34)
  }
}
