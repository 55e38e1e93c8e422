import FoundationEssentials
import MediaCore

/// Why a command could not be carried out, or a socket not be used. One line.
public struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, and what to do, in one line.
  public let description: String
  /// Makes an error from its line; see the properties.
  public init(_ description: String) { self.description = description }
}

/// One request to a running recording: a line of JSON. Keys that a command does not know are ignored.
public struct ControlRequest: Codable, Sendable, Hashable {
  /// What can be asked for. The raw values are the words of the protocol.
  public enum Command: String, Codable, Sendable, Hashable, CaseIterable {
    // As `Control.md` describes them.
    case layout, pin, unpin, spotlight, processor, title, pause, resume, marker, stop, status, subscribe
  }

  /// Comes back in the answer.
  public var id: Int64?
  /// What to do.
  public var command: Command
  /// `layout`: a name, or the absolute path of a file, or `twilio:` and one.
  public var layout: String?
  /// `pin`, `unpin`, `spotlight`: identity or display name; `processor`: also `attribute:KEY=VALUE` or `*`.
  public var participant: String?
  /// `processor`: what is done to the pictures and the sound, such as `pixelate` and `voice-mask`, or `none`.
  public var processors: [String]?
  /// `pin`, `unpin`, `spotlight`: true for the person's shared screen.
  public var screen: Bool?
  /// `title`, `marker`: the words.
  public var title: String?
  /// `pause`: `cut`, `slate` or `redact`.
  public var policy: String?

  /// Makes a request; see the properties.
  public init(_ command: Command, id: Int64? = nil) {
    self.command = command
    self.id = id
  }

  /// Reads a line. Total: what is no request gives an error that says why.
  public init(line: some Sequence<UInt8>) throws(ControlError) {
    do {
      self = try BoundedJSON.decode(ControlRequest.self, from: Array(line), limits: Self.limits)
    } catch DecodingError.dataCorrupted(let context) where context.codingPath.last?.stringValue == "command" {
      let known = Command.allCases.map(\.rawValue).joined(separator: ", ")
      throw ControlError("there is no such command; known: \(known)")
    } catch DecodingError.keyNotFound(let key, _) {
      throw ControlError("'\(key.stringValue)' is missing")
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
      let key = context.codingPath.last?.stringValue
      throw ControlError(key.map { "'\($0)' has a value of the wrong type" } ?? "a request is a JSON object")
    } catch {
      throw ControlError("not a line of JSON (RFC 8259)")
    }
    for text in [layout, participant, title, policy] + (processors ?? []) {
      guard (text?.utf8.count ?? 0) <= ControlRequest.longestText else {
        throw ControlError("a text has more than \(ControlRequest.longestText) bytes")
      }
    }
  }

  /// The most bytes of UTF-8 that a text of a request may have.
  public static let longestText = 4096
  /// No line is longer, of either side.
  static let limits = JSONLimits(bytes: 1 << 20)
}

/// How a recording stands, for `status`.
public struct ControlStatus: Codable, Sendable, Hashable {
  /// Somebody in the room.
  public struct Person: Codable, Sendable, Hashable {
    /// The identity.
    public var identity: String
    /// The display name.
    public var name: String
    /// What is done to their pictures and sound; nil: nothing.
    public var processors: [String]?
    /// Makes an entry; see the properties.
    public init(identity: String, name: String, processors: [String]? = nil) {
      self.identity = identity
      self.name = name
      self.processors = processors
    }
  }

  /// Name of the job.
  public var job = ""
  /// Name of the room.
  public var room = ""
  /// Path of the file that is recorded.
  public var output = ""
  /// `waiting`, `recording`, `reconnecting` or `finished`.
  public var phase = ""
  /// Length of the file so far, milliseconds.
  public var timeMs: Int64 = 0
  /// Name of the layout in force.
  public var layout = ""
  /// Name of its scene.
  public var scene = ""
  /// The active talker's name.
  public var talker: String?
  /// How the recording is paused.
  public var paused: String?
  /// The recording's title.
  public var title = ""
  /// What is pinned.
  public var pinned: [String] = []
  /// What has the spotlight.
  public var spotlight: String?
  /// Who is in the room.
  public var people: [Person] = []
  /// Bytes written.
  public var bytes: UInt64 = 0

  private enum CodingKeys: String, CodingKey {
    case job, room, output, phase, layout, scene, talker, paused, title, pinned, spotlight, people, bytes
    case timeMs = "time_ms"
  }

  /// A status of nothing.
  public init() {}

  /// The status as a line of JSON, without its newline.
  public var json: String { String(decoding: ControlAnswer.encoded(self), as: UTF8.self) }
}

/// The answer to a request: a line of JSON.
public struct ControlAnswer: Codable, Sendable, Hashable {
  /// That of the request.
  public var id: Int64?
  /// True when the command is taken.
  public var ok: Bool
  /// Why it is not taken.
  public var error: String?
  /// For `status`.
  public var status: ControlStatus?

  /// Makes an answer; see the properties.
  public init(ok: Bool, error: String? = nil, status: ControlStatus? = nil) {
    self.ok = ok
    self.error = error
    self.status = status
  }

  /// The command is taken.
  public static let done = ControlAnswer(ok: true)
  /// The recording stands so.
  public static func status(_ status: ControlStatus) -> ControlAnswer { ControlAnswer(ok: true, status: status) }
  /// The command is not taken.
  public static func refused(_ why: String) -> ControlAnswer { ControlAnswer(ok: false, error: why) }

  /// Reads a line; nil for what is no answer, an event for example.
  init?(line: [UInt8]) {
    guard let answer = try? BoundedJSON.decode(ControlAnswer.self, from: line, limits: ControlRequest.limits) else {
      return nil
    }
    self = answer
  }

  /// The line, with its newline.
  var line: [UInt8] { Self.encoded(self) + [UInt8(ascii: "\n")] }

  fileprivate static func encoded(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let json = try? encoder.encode(value) else { return Array("{\"ok\":false}".utf8) }
    return Array(JSONText.escaped(String(decoding: json, as: UTF8.self)).utf8)
  }
}
