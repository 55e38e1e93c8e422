public import MediaCore

/// What somebody wants to be recorded, as given with `POST /v1/jobs`. Spans are whole seconds.
///
/// Large: a property for each word of the request.
public struct JobRequest: Codable, Hashable, Sendable {
  /// The room's name.
  public var room: String
  /// The room service; nil: the backend's own.
  public var url: String?
  /// When to be in the room; nil: now.
  public var startAt: Timestamp?
  /// When the recording must be over, whatever happens.
  public var deadline: Timestamp?
  /// A layout's name; nil: the worker's default.
  public var layout: String?
  /// The name of the key of a room that is encrypted end to end, as the workers' operator calls it; nil: the worker's default.
  /// The key itself is never in a request.
  public var key: String?
  /// Which part of the room; nil: all of it.
  public var selection: JobSelection?
  /// Size and rate of the picture; nil: the worker's defaults.
  public var picture: JobPicture?
  /// True: each speaker is brought to the same loudness; nil: as the workers are set.
  public var loudness: Bool?
  /// What begins a chapter; nil: as the workers are set.
  public var chapters: ChapterDetail?
  /// What is done to whose pictures and sound (texts of `ProcessorRule`), after what the workers' settings say; nil: nothing.
  public var processors: [String]?
  /// What is written. Empty: one composed WebM with a name made from room and time.
  public var outputs: [JobOutput]
  /// End at this length, in seconds.
  public var maxDuration: Int64?
  /// End when no people (bots don't count) have been in the room for so long, in seconds.
  public var stopWhenEmpty: Int64?
  /// Wait so long for a room that does not exist yet, in seconds.
  public var waitForRoom: Int64?
  /// True: the workers write session logs too, and keep them.
  public var log: Bool?
  /// True: a manifest is delivered beside each file.
  public var manifest: Bool?
  /// True: a file of who talks when is delivered beside each file.
  public var talkers: Bool?
  /// True: a picture of the recording is delivered beside each file.
  public var poster: Bool?
  /// True: small pictures of the whole recording are delivered beside each file, for players.
  public var storyboard: Bool?
  /// Further files of the same session, delivered beside each file; nil: none.
  public var also: [JobFurtherFile]?
  /// Who is given sound or pictures while it is recorded; nil: nobody.
  public var sinks: [JobSink]?
  /// Texts that belong to the application; given back with everything that is told of the job.
  public var metadata: [String: String]
  /// Where to tell what becomes of the job.
  public var webhook: WebhookTarget?
  /// Set when the request came by LiveKit's Egress API.
  public var egress: JobEgress?

  /// Makes a request for a room; see the properties.
  public init(
    room: String, url: String? = nil, startAt: Timestamp? = nil, deadline: Timestamp? = nil, layout: String? = nil,
    key: String? = nil, selection: JobSelection? = nil, picture: JobPicture? = nil, loudness: Bool? = nil,
    chapters: ChapterDetail? = nil, processors: [String]? = nil, outputs: [JobOutput] = [], maxDuration: Int64? = nil,
    stopWhenEmpty: Int64? = nil, waitForRoom: Int64? = nil, log: Bool? = nil, manifest: Bool? = nil,
    talkers: Bool? = nil, poster: Bool? = nil, storyboard: Bool? = nil, also: [JobFurtherFile]? = nil,
    sinks: [JobSink]? = nil, metadata: [String: String] = [:], webhook: WebhookTarget? = nil, egress: JobEgress? = nil
  ) {
    self.room = room
    self.url = url
    self.startAt = startAt
    self.deadline = deadline
    self.layout = layout
    self.key = key
    self.selection = selection
    self.picture = picture
    self.loudness = loudness
    self.chapters = chapters
    self.processors = processors
    self.outputs = outputs
    self.maxDuration = maxDuration
    self.stopWhenEmpty = stopWhenEmpty
    self.waitForRoom = waitForRoom
    self.log = log
    self.manifest = manifest
    self.talkers = talkers
    self.poster = poster
    self.storyboard = storyboard
    self.also = also
    self.sinks = sinks
    self.metadata = metadata
    self.webhook = webhook
    self.egress = egress
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case room, url, layout, selection, picture, loudness, outputs, deadline, log, manifest, talkers, also, sinks
    case poster, storyboard, metadata, chapters, processors, webhook, egress
    case startAt = "start_at"
    case key = "e2ee_key"
    case maxDurationSeconds = "max_duration_seconds"
    case stopWhenEmptySeconds = "stop_when_empty_seconds"
    case waitForRoomSeconds = "wait_for_room_seconds"
    // As they are kept, and as callers of an earlier version write them.
    case maxDuration = "max_duration"
    case stopWhenEmpty = "stop_when_empty"
    case waitForRoom = "wait_for_room"
  }

  /// Writes the request for who reads it.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(room, forKey: .room)
    try values.encodeIfPresent(url, forKey: .url)
    try values.encodeIfPresent(startAt, forKey: .startAt)
    try values.encodeIfPresent(deadline, forKey: .deadline)
    try values.encodeIfPresent(layout, forKey: .layout)
    try values.encodeIfPresent(key, forKey: .key)
    try values.encodeIfPresent(selection, forKey: .selection)
    try values.encodeIfPresent(picture, forKey: .picture)
    try values.encodeIfPresent(loudness, forKey: .loudness)
    try values.encodeIfPresent(chapters, forKey: .chapters)
    try values.encodeIfPresent(processors, forKey: .processors)
    try values.encode(outputs, forKey: .outputs)
    let isNamed = encoder.isForCallers
    try values.encodeIfPresent(maxDuration, forKey: isNamed ? .maxDurationSeconds : .maxDuration)
    try values.encodeIfPresent(stopWhenEmpty, forKey: isNamed ? .stopWhenEmptySeconds : .stopWhenEmpty)
    try values.encodeIfPresent(waitForRoom, forKey: isNamed ? .waitForRoomSeconds : .waitForRoom)
    try values.encodeIfPresent(log, forKey: .log)
    try values.encodeIfPresent(manifest, forKey: .manifest)
    try values.encodeIfPresent(talkers, forKey: .talkers)
    try values.encodeIfPresent(poster, forKey: .poster)
    try values.encodeIfPresent(storyboard, forKey: .storyboard)
    try values.encodeIfPresent(also, forKey: .also)
    try values.encodeIfPresent(sinks, forKey: .sinks)
    try values.encode(metadata, forKey: .metadata)
    try values.encodeIfPresent(webhook, forKey: .webhook)
    try values.encodeIfPresent(egress, forKey: .egress)
  }

  /// Reads a request, in either form; what is absent has its default.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    // What is said of an empty name is said of a missing one; a schedule for rooms that begin needs none.
    room = try values.decodeIfPresent(String.self, forKey: .room) ?? ""
    url = try values.decodeIfPresent(String.self, forKey: .url)
    startAt = try values.decodeIfPresent(Timestamp.self, forKey: .startAt)
    deadline = try values.decodeIfPresent(Timestamp.self, forKey: .deadline)
    layout = try values.decodeIfPresent(String.self, forKey: .layout)
    key = try values.decodeIfPresent(String.self, forKey: .key)
    selection = try values.decodeIfPresent(JobSelection.self, forKey: .selection)
    picture = try values.decodeIfPresent(JobPicture.self, forKey: .picture)
    loudness = try values.decodeIfPresent(Bool.self, forKey: .loudness)
    chapters = try values.decodeIfPresent(ChapterDetail.self, forKey: .chapters)
    processors = try values.decodeIfPresent([String].self, forKey: .processors)
    outputs = try values.decodeIfPresent([JobOutput].self, forKey: .outputs) ?? []
    maxDuration = try values.decodeFirst(Int64.self, .maxDurationSeconds, .maxDuration)
    stopWhenEmpty = try values.decodeFirst(Int64.self, .stopWhenEmptySeconds, .stopWhenEmpty)
    waitForRoom = try values.decodeFirst(Int64.self, .waitForRoomSeconds, .waitForRoom)
    log = try values.decodeIfPresent(Bool.self, forKey: .log)
    manifest = try values.decodeIfPresent(Bool.self, forKey: .manifest)
    talkers = try values.decodeIfPresent(Bool.self, forKey: .talkers)
    poster = try values.decodeIfPresent(Bool.self, forKey: .poster)
    storyboard = try values.decodeIfPresent(Bool.self, forKey: .storyboard)
    also = try values.decodeIfPresent([JobFurtherFile].self, forKey: .also)
    sinks = try values.decodeIfPresent([JobSink].self, forKey: .sinks)
    metadata = try values.decodeIfPresent([String: String].self, forKey: .metadata) ?? [:]
    webhook = try values.decodeIfPresent(WebhookTarget.self, forKey: .webhook)
    egress = try values.decodeIfPresent(JobEgress.self, forKey: .egress)
  }

  /// What is delivered beside each file.
  public var sideFiles: [JobSideFile.Kind] {
    (manifest == true ? [.manifest] : []) + (talkers == true ? [.talkers] : [])
      + (poster == true ? [.poster] : [])
      // The image first: the other names it as it is called where it was delivered.
      + (storyboard == true ? [.storyboardImage, .storyboard] : [])
      + JobFurtherFile.names(of: also ?? []).map { .further($0) }
  }

  /// So long ago a start may be for a request that took its time to come.
  private static let lateness = Duration.seconds(60)

  /// What is wrong with the name of a recording's file, in one line; nil: nothing. One that ends in a slash is a folder.
  public static func problem(withName path: String) -> String? {
    path.lowercased().hasSuffix(".webm") || path.hasSuffix("/")
      ? nil : "recordings are WebM files: the name must end in .webm, or in / for a folder"
  }

  /// What is wrong with the request, one line each; empty when it can be carried out.
  public func problems(now: Timestamp) -> [String] {
    var problems: [String] = []
    if room.isEmpty || room.utf8.count > 256 || room.hasControlCharacters {
      problems.append("room: 1 to 256 bytes, no control characters")
    }
    if let url, !["ws://", "wss://", "http://", "https://"].contains(where: url.hasPrefix) || url.utf8.count > 2048 {
      problems.append("url: ws(s):// or http(s)://, at most 2048 bytes")
    }
    if let deadline, deadline <= max(now, startAt ?? now) {
      problems.append("deadline: must lie after start_at and now")
    }
    if let startAt, startAt - now > .seconds(366 * 86_400) { problems.append("start_at: at most a year ahead") }
    if let startAt, now - startAt > Self.lateness { problems.append("start_at: \(startAt) lies in the past") }
    for (name, value) in [
      ("max_duration_seconds", maxDuration), ("stop_when_empty_seconds", stopWhenEmpty),
      ("wait_for_room_seconds", waitForRoom),
    ] {
      if let value, !(1...(31 * 86_400)).contains(value) { problems.append("\(name): 1 s to 31 days, in seconds") }
    }
    // Clients of other recorders ask for other kinds of files, and know that they get WebM.
    for (index, output) in outputs.enumerated() where egress == nil {
      if let path = output.path, let problem = Self.problem(withName: path) {
        problems.append("outputs[\(index)].path: \(problem)")
      }
    }
    if let layout, let problem = LayoutName.problem(with: layout) { problems.append("layout: \(problem)") }
    if let key, !KeyName.isValid(key) { problems.append("e2ee_key: \(KeyName.rule)") }
    problems += selection?.problems ?? []
    problems += picture?.problems ?? []
    for (index, text) in (processors ?? []).prefix(ProcessorRule.most).enumerated() {
      if let problem = ProcessorRule.problem(with: text) { problems.append("processors[\(index)]: \(problem)") }
    }
    if let processors, processors.count > ProcessorRule.most {
      problems.append("processors: at most \(ProcessorRule.most)")
    }
    for (index, file) in (also ?? []).prefix(JobFurtherFile.most).enumerated() {
      problems += file.problems("also[\(index)]")
    }
    if let also, also.count > JobFurtherFile.most { problems.append("also: at most \(JobFurtherFile.most)") }
    for (index, sink) in (sinks ?? []).prefix(JobSink.most).enumerated() {
      problems += sink.problems("sinks[\(index)]")
    }
    if let sinks, sinks.count > JobSink.most { problems.append("sinks: at most \(JobSink.most)") }
    if outputs.count > 8 { problems.append("outputs: at most 8") }
    if metadata.count > 64 || metadata.contains(where: { $0.key.utf8.count > 128 || $0.value.utf8.count > 4096 }) {
      problems.append("metadata: at most 64 entries of at most 128 and 4096 bytes")
    }
    problems += webhook?.problems ?? []
    for webhook in egress?.webhooks ?? [] { problems += webhook.problems }
    return problems
  }
}

/// One file of a job.
public struct JobOutput: Codable, Hashable, Sendable {
  /// Where it goes.
  public enum Destination: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "destination"

    /// The worker's own folder.
    case local
    /// An S3-compatible store.
    case s3
  }
  /// The file's name or key; `{room}`, `{job}` and `{time}` are filled in. Nil: `{room}-{time}.webm`.
  public var path: String?
  /// Where it goes; nil: where the backend's settings say.
  public var destination: Destination?

  /// Makes an output; see the properties.
  public init(path: String? = nil, destination: Destination? = nil) {
    self.path = path
    self.destination = destination
  }

  enum CodingKeys: String, CodingKey, CaseIterable { case path, destination }

  /// The path with a name when it is a folder; nil: the worker's own.
  public var template: String? { path.map { $0.hasSuffix("/") ? $0 + "{room}-{time}.webm" : $0 } }
}

/// A receiver of webhooks.
public struct WebhookTarget: Codable, Hashable, Sendable {
  /// The form of the signature.
  public enum Form: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "form of webhooks"
    /// Standard Webhooks: HMAC-SHA256 over id, time and body.
    case standard
    /// LiveKit's: a JWT with the hash of the body.
    case livekit
  }
  /// Where to send them.
  public var url: String
  /// The name of the key with which they are signed; nil: the backend's own.
  public var key: String?
  /// The form; nil: Standard Webhooks.
  public var form: Form?
  /// The only events that are told, by the names that they have in the form; nil or empty: all.
  public var includeEvents: [String]?
  /// Events that are not told.
  public var excludeEvents: [String]?

  /// Makes a receiver; see the properties.
  public init(
    url: String, key: String? = nil, form: Form? = nil, includeEvents: [String]? = nil, excludeEvents: [String]? = nil
  ) {
    self.url = url
    self.key = key
    self.form = form
    self.includeEvents = includeEvents
    self.excludeEvents = excludeEvents
  }

  enum CodingKeys: String, CodingKey, CaseIterable {
    case url, key, form
    case includeEvents = "include_events"
    case excludeEvents = "exclude_events"
  }

  /// Receivers from their addresses, with commas between them.
  public static func list(_ addresses: String, form: Form) -> [WebhookTarget] {
    addresses.split(separator: ",").map { WebhookTarget(url: String($0.drop { $0 == " " }), form: form) }
  }

  /// True when the receiver wants to hear of an event of this name.
  public func wants(_ event: String) -> Bool {
    if let includeEvents, !includeEvents.isEmpty, !includeEvents.contains(event) { return false }
    return !(excludeEvents?.contains(event) ?? false)
  }

  /// What is wrong with it, but for its address, one line each.
  var problems: [String] {
    [("include_events", includeEvents), ("exclude_events", excludeEvents)].compactMap { name, events in
      guard let events, events.count > 32 || events.contains(where: { !(1...64).contains($0.utf8.count) }) else {
        return nil
      }
      return "webhook.\(name): at most 32 names of 1 to 64 bytes"
    }
  }
}
