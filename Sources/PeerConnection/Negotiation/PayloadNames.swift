import MediaCore
import SDP

/// What every payload type of a connection means, so that offers use one type for one meaning only.
struct PayloadNames {
  private var names: [PayloadType: String] = [:]

  /// Reads the types of all sections, ours before the peer's.
  init(_ sections: [Negotiation.Section]) {
    for media in sections.compactMap(\.local) + sections.compactMap(\.remote) {
      for map in media.rtpMaps where names[map.payloadType] == nil {
        names[map.payloadType] = Self.name(map, in: media)
      }
      // Static types need no line (RFC 3551 section 6).
      for type in media.payloadTypes where names[type] == nil { names[type] = "static/\(type)" }
    }
  }

  /// The type that already has this meaning, else the usual one, else a free dynamic one; it is taken from then on.
  mutating func type(for name: String, usual: UInt8) -> PayloadType {
    if let known = names.filter({ $0.value == name }).map(\.key.rawValue).min() { return PayloadType(known) }
    let choices = [usual] + Array(96...127) + Array(35...63)
    let free = PayloadType(choices.first { names[PayloadType($0)] == nil } ?? usual)
    names[free] = name
    return free
  }

  /// The meaning of a codec's type. Pictures of one codec in two forms have two types; sound is told apart by name alone.
  static func name(_ codec: Codec, parameters: String?) -> String {
    codec.kind == .video ? "\(codec.rawValue);\(parameters ?? "")" : codec.rawValue
  }

  /// A text that is equal for equal meanings: the codec's name, or what the type repairs.
  private static func name(_ map: RTPMap, in media: MediaDescription) -> String {
    if let codec = Codec(map) { return name(codec, parameters: media.parameters(of: map.payloadType)?.text) }
    let name = map.name.lowercased()
    guard let parameters = media.parameters(of: map.payloadType) else { return name }
    switch name {
    case "rtx": return "rtx/" + (parameters.value(of: "apt") ?? "")
    case "red": return "red/" + (parameters.text.split(separator: "/").first.map { String($0) } ?? "")
    default: return name + " " + parameters.text
    }
  }
}
