import Foundation
import RecbotKit

@main
struct Bot {
  static func main() async {
    let environment = ProcessInfo.processInfo.environment
    guard let url = environment["LIVEKIT_URL"], let token = environment["LIVEKIT_TOKEN"] else {
      say("Set LIVEKIT_URL and LIVEKIT_TOKEN.")
      exit(1)
    }
    do {
      let room = try await Room.connect(url: url, token: token)
      say("The bot is in \(room.name).")
      let performance = Task { try await perform(in: room) }
      // Ctrl-C ends the performance; the bot leaves all the same.
      signal(SIGINT, SIG_IGN)
      let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
      interrupt.setEventHandler { performance.cancel() }
      interrupt.resume()
      do {
        try await performance.value
      } catch is CancellationError {
        say("The bot was stopped.")
      } catch {
        say("\(error)")
      }
      interrupt.cancel()
      await room.disconnect()
      say("The bot has left.")
    } catch {
      say("\(error)")
      exit(1)
    }
  }

  /// What the bot does, from the beginning to the end.
  static func perform(in room: Room) async throws {
    let camera = LocalVideoTrack(name: "camera", capturer: Painter())
    var options = VideoPublishOptions()
    options.bitrate = 500_000
    options.maximumFrameRate = 15
    options.isSimulcast = false
    let pictures = try await room.localParticipant.publish(camera, options: options)
    say("The room has the track \(pictures.name).")
    let microphone = LocalAudioTrack(name: "microphone", capturer: Tone())
    let sound = try await room.localParticipant.publish(microphone)
    say("The room has the track \(sound.name).")
    try await Task.sleep(for: .seconds(5))
    pictures.mute()
    sound.mute()
    say("Nobody sees or hears the bot.")
    try await Task.sleep(for: .seconds(5))
    pictures.unmute()
    sound.unmute()
    say("The bot is back.")
    try await Task.sleep(for: .seconds(5))
    room.localParticipant.unpublish(pictures)
    room.localParticipant.unpublish(sound)
  }
}

/// Paints a picture 25 times a second.
struct Painter: VideoCapturer {
  let dimensions = Dimensions(width: 640, height: 360)

  /// The room asks for the pictures when it has the track.
  func frames() -> AsyncThrowingStream<VideoFrame, any Error> {
    let start = ContinuousClock.now
    return AsyncThrowingStream {
      try await Task.sleep(for: .milliseconds(40))
      return try picture(at: ContinuousClock.now - start)
    }
  }

  /// The picture of an instant.
  private func picture(at time: Duration) throws -> VideoFrame {
    let (width, height) = (dimensions.width, dimensions.height)
    var luma = [UInt8](repeating: 60, count: width * height)
    // A bar goes from the left to the right in 6.4 s.
    let left = Int(time / .milliseconds(10)) % width
    for row in 0..<height {
      for column in left..<min(left + 40, width) { luma[row * width + column] = 220 }
    }
    let blue = [UInt8](repeating: 150, count: width / 2 * height / 2)
    let red = [UInt8](repeating: 110, count: width / 2 * height / 2)
    return try VideoFrame(width: width, height: height, i420: luma + blue + red, time: time)
  }
}

/// A tone of 450 Hz.
struct Tone: AudioCapturer {
  func blocks() -> Blocks { Blocks() }

  /// The tone, 20 ms after 20 ms.
  struct Blocks: AsyncSequence, AsyncIteratorProtocol {
    /// Nine waves.
    private let samples = (0..<960).map { 0.1 * sin(Float($0) / 960 * 9 * 2 * .pi) }
    private let start = ContinuousClock.now
    private var time = Duration.zero

    mutating func next() async throws -> AudioBlock? {
      try await Task.sleep(until: start + time)
      defer { time += .milliseconds(20) }
      return AudioBlock(samples, channels: 1, time: time)
    }

    func makeAsyncIterator() -> Blocks { self }
  }
}

/// Prints a line. Names are given by strangers: what could command a terminal is left out.
func say(_ text: String) {
  let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
  print(String(String.UnicodeScalarView(scalars)))
}
