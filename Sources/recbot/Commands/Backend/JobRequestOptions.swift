import ArgumentParser
import JobsAPI
import MediaCore
import Settings

/// The flags that say how a job is recorded; shared by `jobs submit` and `schedule add`.
///
/// Large: a property for each flag.
struct JobRequestOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The room service, if not the backend's own: ws(s)://… .", valueName: "url"))
  var url: String?

  @Option(help: ArgumentHelp("Layout: a name that the workers know.", valueName: "layout"))
  var layout: String?

  @Option(
    help: ArgumentHelp(
      "The key of a room that is encrypted end to end: its name in the workers' folder of keys.", valueName: "name"))
  var e2eeKey: String?

  @Option(help: ArgumentHelp("Size of the picture.", valueName: "WxH"))
  var size: String?

  @Option(
    help: ArgumentHelp(
      "What the recording is for: meeting, slides or archive; --fps, --codec and --video-bitrate count more (default: as the workers are set).",
      valueName: "name"))
  var preset: String?

  @Option(help: ArgumentHelp("Pictures a second, 1 to 60.", valueName: "n"))
  var fps: String?

  @Option(
    help: ArgumentHelp(
      "What the picture is written in: vp8, vp9 or av1 (default: as the workers are set).", valueName: "codec"))
  var codec: String?

  @Option(
    help: ArgumentHelp(
      "Bits a second of the picture, such as 2500k or 4M (default: as the workers are set).", valueName: "rate"))
  var videoBitrate: String?

  @Flag(help: "Bring each speaker to the same loudness, -16 LUFS, before mixing.")
  var loudness = false

  @Option(
    help: ArgumentHelp(
      "What begins a chapter: none, marks, people or talkers (default: as the workers are set).", valueName: "level"))
  var chapters: String?

  @Option(
    help: ArgumentHelp(
      "Hide somebody from the beginning: PERSON=WHAT as for `recbot join --processor`, such as 'Ann Lee=pixelate,voice-mask'. May be "
        + "given several times.", valueName: "person=what"))
  var processor: [String] = []

  @OptionGroup var part: SelectionOptions

  @Option(help: ArgumentHelp("End at this length, such as 2h.", valueName: "time"))
  var maxDuration: String?

  @Option(
    help: ArgumentHelp(
      "End when no people have been in the room for so long, such as 30s (agents and recorders don't count).",
      valueName: "time"))
  var stopWhenEmpty: String?

  @Option(help: ArgumentHelp("Wait so long for a room that is not there yet.", valueName: "time"))
  var waitForRoom: String?

  @Flag(help: "Also write session logs, which stay with the workers, for `recbot compose`.")
  var log = false

  @Flag(help: "Also deliver NAME.json beside NAME.webm: who was there, which tracks came, and how well.")
  var manifest = false

  @Flag(help: "Also deliver NAME.talkers.vtt beside NAME.webm: who talks when.")
  var talkers = false

  @Flag(help: "Also deliver NAME.poster.png beside NAME.webm: one picture of the recording.")
  var poster = false

  @Flag(
    help:
      "Also deliver NAME.storyboard.png and NAME.storyboard.vtt beside NAME.webm: small pictures for a player's time bar."
  )
  var storyboard = false

  @Option(
    help: ArgumentHelp(
      "Also deliver NAME.WHAT.webm beside NAME.webm, of the same session: portrait, landscape, square, audio (sound alone), or "
        + "options, such as layout=speaker,size=640x360,codec=vp9,bitrate=800k. May be given several times.",
      valueName: "what"))
  var also: [String] = []

  @Option(
    help: ArgumentHelp(
      "Give sound or pictures to another program meanwhile, as `recbot join --sink` does over a WebSocket: "
        + "audio:mixed=wss://HOST/PATH,rate=16000 or video:IDENTITY=… . May be given several times.", valueName: "sink")
  )
  var sink: [String] = []

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file's name, NAME.webm, or FOLDER/; {room}, {job} and {time} are filled in.", valueName: "name"))
  var output: String?

  @Option(help: ArgumentHelp("Where the file goes: local or s3 (default: as the workers are set).", valueName: "place"))
  var to: String?

  @Option(help: ArgumentHelp("A text of yours that comes back with every event; may be repeated.", valueName: "k=v"))
  var metadata: [String] = []

  @Option(help: ArgumentHelp("Who receives the job's events, http(s)://… .", valueName: "url"))
  var webhook: String?

  @Option(help: ArgumentHelp("Form of the webhooks: standard or livekit.", valueName: "form"))
  var webhookForm: String?

  /// The request for a room.
  func request(room: String) throws -> JobRequest {
    var request = JobRequest(room: room, url: url, layout: layout, key: e2eeKey)
    request.maxDuration = try span(maxDuration, "--max-duration")
    request.stopWhenEmpty = try span(stopWhenEmpty, "--stop-when-empty")
    request.waitForRoom = try span(waitForRoom, "--wait-for-room")
    if loudness { request.loudness = true }
    request.chapters = try parse(chapters, "--chapters") { (text) throws(ValueError) in
      try Values.word(text, ChapterDetail.what)
    }
    if !processor.isEmpty {
      request.processors = try processor.map { text in
        try parse(text, "--processor", ProcessorText.rule)?.description ?? text
      }
    }
    if log { request.log = true }
    if manifest { request.manifest = true }
    if talkers { request.talkers = true }
    if poster { request.poster = true }
    if storyboard { request.storyboard = true }
    if !also.isEmpty { request.also = try also.map(AlsoWish.job) }
    request.selection = try part.selection()
    let size = try parse(size, "--size", Values.size)
    let preset = try parse(preset, "--preset") { (text) throws(ValueError) -> RecordingPreset in
      try Values.word(text, RecordingPreset.what)
    }
    let fps = try parse(fps, "--fps", Values.framesPerSecond) ?? preset?.framesPerSecond
    let codec = try parse(codec, "--codec", Values.codec) ?? preset?.codec
    // A preset's rate is one of its codec.
    let bitrate =
      try parse(videoBitrate, "--video-bitrate", Values.bitrate)
      ?? preset.flatMap { codec == $0.codec ? $0.bitrate : nil }
    if size != nil || fps != nil || codec != nil || bitrate != nil {
      request.picture = JobPicture(
        width: size?.width, height: size?.height, framesPerSecond: fps, bitrate: bitrate, codec: codec)
    }
    if !sink.isEmpty { request.sinks = try sink.map { try SinkWish.job($0, framesPerSecond: fps) } }
    let destination = try parse(to, "--to") { text throws(ValueError) in
      try Values.word(text, JobOutput.Destination.what, of: JobOutput.Destination.self)
    }
    if output != nil || destination != nil { request.outputs = [JobOutput(path: output, destination: destination)] }
    for pair in metadata {
      guard let equals = pair.firstIndex(of: "="), equals > pair.startIndex else {
        throw Failure(.usage, "--metadata: write it as name=value, not '\(pair)'")
      }
      request.metadata[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
    }
    let form = try parse(webhookForm, "--webhook-form") { text throws(ValueError) in
      try Values.word(text, WebhookTarget.Form.what, of: WebhookTarget.Form.self)
    }
    guard form == nil || webhook != nil else { throw Failure(.usage, "--webhook-form needs --webhook") }
    request.webhook = webhook.map { WebhookTarget(url: $0, form: form) }
    return request
  }

  private func span(_ text: String?, _ flag: String) throws -> Int64? { try parse(text, flag, TimeText.seconds) }

  private func parse<Value>(
    _ text: String?, _ flag: String, _ body: (String) throws(ValueError) -> Value
  ) throws -> Value? {
    guard let text else { return nil }
    do throws(ValueError) {
      return try body(text)
    } catch {
      throw Failure(.usage, "\(flag): \(error)")
    }
  }
}
