import FoundationEssentials
import MediaCore
import SwiftProtobuf

extension LogEntry {
  /// The entry as one line of JSON, by the names of `session_log.proto`; of a frame the payload's length instead of its
  /// bytes. What acts on a terminal is escaped.
  public var json: String {
    var record = WireRecord(self)
    var rest = "}"
    if case .frame(let frame) = record.content {
      rest = ",\"payloadBytes\":\(frame.payload.count)}}"
      record.frame.payload = Data()
    }
    guard let text = try? record.jsonString() else { return "{}" }
    return JSONText.escaped(String(text.dropLast(rest.hasSuffix("}}") ? 2 : 1)) + rest)
  }
}
