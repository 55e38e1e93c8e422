import JobsAPI
import MediaCore
import Signaling

/// A file that a request asks for.
struct EgressFile: Hashable, Sendable {
  /// Where it goes.
  enum Store: Hashable, Sendable {
    /// Where the settings say.
    case usual
    /// The S3-compatible store of the settings; true when the request brings one of its own.
    case s3(isOwn: Bool)
    /// Another cloud's.
    case other(String)
  }

  var path: String
  var type = Livekit_EncodedFileType.defaultFiletype
  var store = Store.usual

  init(_ file: Livekit_EncodedFileOutput) {
    path = file.filepath
    type = file.fileType
    switch file.output {
    case .s3(let s3): store = .s3(isOwn: s3 != Livekit_S3Upload())
    case .gcp: store = .other("gcp")
    case .azure: store = .other("azure")
    case .aliOss: store = .other("aliOSS")
    case nil: break
    }
  }

  init(_ file: Livekit_DirectFileOutput) {
    path = file.filepath
    switch file.output {
    case .s3(let s3): store = .s3(isOwn: s3 != Livekit_S3Upload())
    case .gcp: store = .other("gcp")
    case .azure: store = .other("azure")
    case .aliOss: store = .other("aliOSS")
    case nil: break
    }
  }

  /// The endings of what is not WebM.
  private static let foreign: Set<String> = [
    "mp4", "m4a", "m4v", "mov", "ogg", "oga", "ogv", "mp3", "mkv", "wav", "aac", "flac", "h264", "ivf", "ts", "m3u8",
  ]

  /// LiveKit's places in names, as those of a job's output. `{utc}` is a time too.
  private static let places = ["room_name": "{room}", "time": "{time}", "utc": "{time}"]

  /// The job's output. `others` are further places and what stands in them.
  func output(places others: [String: String]) throws(TwirpProblem) -> JobOutput {
    guard type == .defaultFiletype else {
      throw .invalid(
        "file_type: \(typeName) files are not written, only WebM; leave file_type out (DEFAULT_FILETYPE) "
          + "and end the name in .webm")
    }
    var output = JobOutput(path: try name(others))
    switch store {
    case .usual: break
    case .s3(isOwn: false): output.destination = .s3
    case .s3(isOwn: true):
      throw .invalid(
        "s3: keys, bucket and endpoint are not taken from requests, they are settings of recbot (RECBOT_S3_BUCKET, "
          + "AWS_ACCESS_KEY_ID and others); send s3 empty to have the file in that store, or leave it out")
    case .other(let name):
      throw .unimplemented("\(name): files stay local or go to the S3-compatible store of recbot's settings")
    }
    return output
  }

  /// The wanted type as LiveKit calls it.
  private var typeName: String {
    switch type {
    case .defaultFiletype: "default"
    case .mp4: "MP4"
    case .ogg: "OGG"
    case .mp3: "MP3"
    case .UNRECOGNIZED(let number): "type \(number)"
    }
  }

  private func name(_ others: [String: String]) throws(TwirpProblem) -> String {
    guard path.utf8.count <= 1024 else { throw .invalid("filepath: at most 1024 bytes") }
    // The folder is recbot's; a path from the root is one in it.
    var name = String(path.drop { $0 == "/" })
    if name.isEmpty || name.hasSuffix("/") { name += "{room_name}-{time}" }
    var result = ""
    var rest = name[...]
    while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
        throw .invalid("filepath: a brace without its partner")
      }
      result += rest[..<open]
      let place = String(rest[rest.index(after: open)..<close])
      if let known = Self.places[place] {
        result += known
      } else if let text = others[place] {
        result += Self.safe(text)
      } else {
        let known = (Array(Self.places.keys) + others.keys).sorted().map { "{\($0)}" }.joined(separator: " ")
        throw .invalid("filepath: there is no {\(place.prefix(40))} here; known: \(known)")
      }
      rest = rest[rest.index(after: close)...]
    }
    result += rest
    let file = result.split(separator: "/").last ?? ""
    if let dot = file.lastIndex(of: "."), Self.foreign.contains(file[file.index(after: dot)...].lowercased()) {
      throw .invalid("filepath: only WebM is written; end the name in .webm instead of \(file[dot...])")
    }
    if !result.lowercased().hasSuffix(".webm") { result += ".webm" }
    if let problem = KeyTemplate.problem(with: result) { throw .invalid("filepath: \(problem)") }
    return result
  }

  /// A text that somebody chose, as part of one component of a path.
  private static func safe(_ text: String) -> String {
    let allowed = text.unicodeScalars.prefix(100).map { scalar -> Character in
      let isPlain =
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-_.@".unicodeScalars.contains(scalar)
      return isPlain ? Character(scalar) : "_"
    }
    return String(allowed.drop { $0 == "." })
  }
}
