import Digests
import MediaCore

/// What a backend asks of a worker on another machine: a part of a finished file, or that it be removed. It is allowed by a
/// signature with a key of the workers' secret, for a while; the secret itself is not sent. Pure.
public struct FileRequest: Hashable, Sendable {
  /// What is asked.
  public enum Verb: Hashable, Sendable {
    /// Bytes of the file.
    case read(Range<Int64>)
    /// That the file be removed.
    case remove
  }

  /// What is asked.
  public var verb: Verb
  /// The data folder that the file belongs to.
  public var folderID: String
  /// Its location, as the job has it.
  public var location: String
  /// How large it is: another file of that name is not meant.
  public var size: Int64
  /// Until when the request is good, in seconds since 1970.
  public var until: Int64

  /// The path at the worker's address.
  public static let path = "/files"
  /// For so many seconds a request may be good at most.
  private static let longest: Int64 = 600

  /// Makes a request; see the properties.
  public init(verb: Verb, folderID: String, location: String, size: Int64, until: Int64) {
    self.verb = verb
    self.folderID = folderID
    self.location = location
    self.size = size
    self.until = until
  }

  /// The key of the workers' secret.
  public static func key(from secret: String) -> [UInt8] { SignedRequest.key(from: secret, purpose: "worker file") }

  /// Path and query.
  public func target(key: [UInt8]) -> String {
    let query = fields.map { "\($0.name)=\(PercentCoding.encode($0.value))" }.joined(separator: "&")
    return "\(Self.path)?\(query)&signature=\(signed.signature(key: key))"
  }

  /// Reads a request that is signed with the key and good at `now` (seconds since 1970); nil for every other.
  public init?(target: Substring, isRemoval: Bool, key: [UInt8], now: Int64) {
    guard target.utf8.count <= 8192, target.hasPrefix(Self.path + "?") else { return nil }
    var values: [Substring: String] = [:]
    for item in target.dropFirst(Self.path.count + 1).split(separator: "&") {
      let name = item.prefix { $0 != "=" }
      guard values[name] == nil, let value = PercentCoding.decode(item.dropFirst(name.count + 1)) else {
        return nil
      }
      values[name] = value
    }
    guard let folder = values["folder"], let location = values["location"], let signature = values["signature"],
      let size = values["size"].flatMap({ Int64($0) }), let until = values["until"].flatMap({ Int64($0) })
    else { return nil }
    self.init(verb: .remove, folderID: folder, location: location, size: size, until: until)
    if !isRemoval {
      guard let start = values["start"].flatMap({ Int64($0) }), let end = values["end"].flatMap({ Int64($0) }),
        0 <= start, start <= end, end <= size
      else { return nil }
      verb = .read(start..<end)
    }
    guard signed.isSigned(signature, key: key), now < until, until <= now &+ Self.longest else { return nil }
  }

  private var fields: [(name: String, value: String)] {
    var fields = [
      (name: "folder", value: folderID), (name: "location", value: location), (name: "size", value: "\(size)"),
      (name: "until", value: "\(until)"),
    ]
    if case .read(let range) = verb {
      fields += [(name: "start", value: "\(range.lowerBound)"), (name: "end", value: "\(range.upperBound)")]
    }
    return fields
  }

  private var signed: SignedRequest {
    SignedRequest(
      purpose: "worker file", fields: [verb == .remove ? "remove" : "read"] + fields.map(\.value), until: until)
  }
}
