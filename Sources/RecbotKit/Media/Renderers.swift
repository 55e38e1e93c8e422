/// Takes the pictures of a track. Called on the room's media thread, one after another: who takes long holds up the renderers
/// of the whole room, and loses pictures.
public protocol VideoRenderer: AnyObject, Sendable {
  /// Takes a picture.
  func render(_ frame: VideoFrame)
}

/// Takes the sound of a track. Called on the room's media thread, one after another: who takes long holds up the renderers of
/// the whole room, and loses sound.
public protocol AudioRenderer: AnyObject, Sendable {
  /// Takes a stretch of sound, mostly 20 ms.
  func render(_ block: AudioBlock)
}

/// Puts what is rendered into an asynchronous sequence that keeps so much and loses the oldest.
final class SequenceRenderer<Element: Sendable>: Sendable {
  let continuation: AsyncStream<Element>.Continuation

  init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }
}

extension SequenceRenderer: VideoRenderer where Element == VideoFrame {
  func render(_ frame: VideoFrame) { continuation.yield(frame) }
}

extension SequenceRenderer: AudioRenderer where Element == AudioBlock {
  func render(_ block: AudioBlock) { continuation.yield(block) }
}
