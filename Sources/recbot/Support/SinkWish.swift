import JobsAPI
import Layouts
import MediaCore
import Recording
import Settings
import WebClient

/// Who is given sound or pictures while a recording is made, as `--sink` and jobs say it.
enum SinkWish {
  /// The sinks of `recbot join`.
  static func sinks(_ texts: [String], framesPerSecond: Int) throws -> [MediaSink] {
    guard texts.count <= MediaSink.most else {
      throw Failure(.usage, "--sink can be given \(MediaSink.most) times at most")
    }
    let sinks = try texts.map { try sink($0, framesPerSecond: framesPerSecond) }
    guard Set(sinks.map(\.target)).count == sinks.count else {
      throw Failure(.usage, "two --sink have the same place: each needs its own")
    }
    return sinks
  }

  /// Whom those that go over a WebSocket dial.
  static func relays(of sinks: [MediaSink]) throws -> [Int: WebSocketAddress] {
    var relays: [Int: WebSocketAddress] = [:]
    for (number, sink) in sinks.enumerated() {
      guard case .webSocket(let url) = sink.target else { continue }
      do throws(WebClientError) {
        relays[number] = try WebSocketAddress(url, privateAddresses: .allow)
      } catch {
        throw Failure(
          .usage, "--sink \(RoomText.oneLine(sink.text, limit: 200)): what is behind the equals sign \(error)")
      }
    }
    return relays
  }

  /// A sink of a job, written as for `recbot join`.
  static func job(_ text: String, framesPerSecond: Int?) throws -> JobSink {
    // Of recordings whose rate the worker knows: this one fits most.
    let base = framesPerSecond ?? 30
    let sink = try sink(text, framesPerSecond: base)
    guard case .webSocket(let url) = sink.target else {
      throw Failure(.usage, "--sink \(text): a job's worker may be another machine: write =wss://HOST/PATH")
    }
    let whose = if case .participant(let identity) = sink.source { identity.rawValue } else { JobSink.mixed }
    switch sink.medium {
    case .sound(let form):
      return JobSink(
        audio: whose, url: url, rate: form.rate, channels: form.channels, framing: form.isTimed ? .timed : .raw)
    case .pictures(let form):
      return JobSink(
        video: whose, url: url, width: form.size?.width, height: form.size?.height,
        framesPerSecond: form.interval == 1 ? nil : base / form.interval,
        framing: form.framing == .timed ? .timed : .raw)
    }
  }

  private static func sink(_ text: String, framesPerSecond: Int) throws -> MediaSink {
    do throws(SinkError) {
      return try MediaSink(text, framesPerSecond: framesPerSecond)
    } catch {
      throw Failure(.usage, "--sink \(error)")
    }
  }
}

/// The sinks of a job's recording. What this worker cannot give costs the recording nothing: it is told at the end.
struct JobSinks {
  /// Those that there are.
  private(set) var sinks: [MediaSink] = []
  /// Whom they dial, by their numbers.
  private(set) var relays: [Int: WebSocketAddress] = [:]
  /// What is wrong with the others, a line each.
  private(set) var faults: [String] = []

  /// Makes those of a request, of a recording of so many pictures a second.
  init(_ wishes: [JobSink], framesPerSecond: Int, privateAddresses policy: PrivateAddresses) {
    for wish in wishes.prefix(JobSink.most) {
      do {
        // What speaks in a backend's name may say anything.
        if let problem = wish.problems("sink").first { throw ValueError("cannot be had: \(problem)") }
        let address = try WebSocketAddress(wish.url, privateAddresses: policy)
        sinks.append(try Self.sink(wish, framesPerSecond))
        relays[sinks.count - 1] = address
      } catch {
        faults.append("\(wish.name): it \(error)")
      }
    }
  }

  private static func sink(_ wish: JobSink, _ framesPerSecond: Int) throws(ValueError) -> MediaSink {
    func source(_ text: String) -> MediaSink.Source {
      text == JobSink.mixed ? .mixed : .participant(ParticipantIdentity(text))
    }
    if let whose = wish.audio {
      let form = MediaSink.SoundForm(
        rate: wish.rate ?? 48_000, channels: wish.channels ?? 2, isTimed: wish.framing == .timed)
      return MediaSink(source(whose), .sound(form), webSocket: wish.url)
    }
    let wanted = wish.framesPerSecond ?? framesPerSecond
    guard wanted >= 1, framesPerSecond % wanted == 0 else {
      throw ValueError(
        "asks for \(wanted) pictures a second of a recording of \(framesPerSecond): this must be a multiple")
    }
    var size: CanvasSize?
    if let width = wish.width, let height = wish.height { size = CanvasSize(width: width, height: height) }
    let form = MediaSink.PictureForm(
      size: size, interval: framesPerSecond / wanted, framing: wish.framing == .timed ? .timed : .raw)
    return MediaSink(source(wish.video ?? JobSink.mixed), .pictures(form), webSocket: wish.url)
  }
}
