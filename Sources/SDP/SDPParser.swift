import MediaCore

extension SessionDescription {
  /// Reads a session description. Lines may end in CRLF or LF. Unknown lines are skipped, unknown and malformed
  /// attributes are kept in `attributes`; of attributes that may stand once, the first one counts.
  public init(parsing text: String) throws(SDPError) {
    let length = text.utf8.count
    guard length <= Self.maximumLength else { throw .tooLong(bytes: length) }
    var parser = SDPParser()
    var number = 0
    for bytes in text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false) {
      number += 1
      var line = bytes
      while let last = line.last, last == 0x0d || last == 0x20 { line.removeLast() }
      if line.isEmpty { continue }
      try parser.take(Substring(line), number: number)
    }
    guard let result = parser.finish() else { throw .notASessionDescription }
    self = result
  }
}

/// Reads line after line; see `SessionDescription.init(parsing:)`.
struct SDPParser {
  private var session: SessionDescription?
  private var sessionDirection: Direction?
  private var section: MediaDescription?
  private var sectionDirection: Direction?

  mutating func take(_ line: Substring, number: Int) throws(SDPError) {
    guard session != nil else {
      guard line == "v=0" else { throw .notASessionDescription }
      session = SessionDescription(origin: .init(sessionID: "0", version: 0))
      return
    }
    guard let (type, value) = SDPText.halves(line, at: "="), type.utf8.count == 1 else { return }
    switch type {
    case "m":
      closeSection()
      guard (session?.media.count ?? 0) < SessionDescription.maximumSections else { throw .tooManySections }
      guard let opened = Self.mediaLine(value) else { throw .malformedMediaLine(line: number) }
      section = opened
    case "o" where section == nil: if let origin = Self.origin(value) { session?.origin = origin }
    case "s" where section == nil: session?.name = value.isEmpty ? "-" : String(value)
    case "c":
      if section != nil { section?.connection = String(value) } else { session?.connection = String(value) }
    case "b":
      if section != nil {
        section?.bandwidths.append(String(value))
      } else {
        session?.bandwidths.append(String(value))
      }
    case "a": attribute(value)
    default: break  // v= again, t=, i=, u=, e=, p=, r=, z=, k=: nothing here depends on them
    }
  }

  mutating func finish() -> SessionDescription? {
    closeSection()
    return session
  }

  private mutating func closeSection() {
    guard var closed = section else { return }
    closed.direction = sectionDirection ?? sessionDirection ?? .sendrecv
    session?.media.append(closed)
    section = nil
    sectionDirection = nil
  }

  private mutating func attribute(_ text: Substring) {
    let name: String
    let value: Substring?
    if let (before, after) = SDPText.halves(text, at: ":") {
      name = String(before)
      value = after
    } else {
      name = String(text)
      value = nil
    }
    if name.isEmpty { return }
    if value == nil, let direction = Direction(rawValue: name) {
      if section != nil {
        sectionDirection = sectionDirection ?? direction
      } else {
        sessionDirection = sessionDirection ?? direction
      }
      return
    }
    let other = SDPAttribute(name, value.map { String($0) })
    if var current = section {
      section = nil  // so that the arrays inside are not copied
      if !current.take(name: name, value: value) { current.attributes.append(other) }
      section = current
    } else if var current = session {
      session = nil
      if !current.take(name: name, value: value) { current.attributes.append(other) }
      session = current
    }
  }

  private static func origin(_ value: Substring) -> SessionDescription.Origin? {
    let fields = SDPText.fields(value)
    guard fields.count == 6, let version = UInt64(fields[2]) else { return nil }
    return .init(
      username: String(fields[0]), sessionID: String(fields[1]), version: version,
      address: fields[3...].joined(separator: " "))
  }

  private static func mediaLine(_ value: Substring) -> MediaDescription? {
    let fields = SDPText.fields(value)
    guard fields.count >= 3 else { return nil }
    let portText = SDPText.halves(fields[1], at: "/")?.0 ?? fields[1]
    guard let port = UInt16(portText) else { return nil }
    return MediaDescription(
      kind: .init(token: String(fields[0])), port: port, proto: String(fields[2]),
      formats: fields[3...].map { String($0) })
  }
}

extension TransportAttributes {
  /// Takes an attribute of the transport; false when it is another one, malformed, or there already.
  fileprivate mutating func take(name: String, value: Substring) -> Bool {
    switch name {
    case "ice-ufrag" where iceUfrag == nil && Self.isICEToken(value, 4...256):
      iceUfrag = String(value)
    case "ice-pwd" where icePassword == nil && Self.isICEToken(value, 22...256):
      icePassword = String(value)
    case "ice-options" where iceOptions.isEmpty:
      iceOptions = SDPText.fields(value).map { String($0) }
    case "fingerprint":
      let fields = SDPText.fields(value)
      guard fields.count == 2 else { return false }
      fingerprints.append(.init(algorithm: String(fields[0]), value: String(fields[1])))
    case "setup" where setup == nil:
      guard let role = SetupRole(rawValue: String(value)) else { return false }
      setup = role
    default: return false
    }
    return true
  }

  /// RFC 8839 section 5.4: `ice-char` is a letter, a digit, `+` or `/`. Some stacks also send `-`, `_` and `=`.
  private static func isICEToken(_ text: Substring, _ lengths: ClosedRange<Int>) -> Bool {
    lengths.contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }
}

extension SessionDescription {
  fileprivate mutating func take(name: String, value: Substring?) -> Bool {
    guard let value else {
      switch name {
      case "ice-lite": isLite = true
      case "extmap-allow-mixed": allowsMixedExtensions = true
      default: return false
      }
      return true
    }
    if transport.take(name: name, value: value) { return true }
    switch name {
    case "group":
      let fields = SDPText.fields(value)
      guard let semantics = fields.first else { return false }
      groups.append(.init(semantics: String(semantics), mids: fields.dropFirst().map { MID(String($0)) }))
    case "extmap":
      guard let mapping = ExtensionMapping(value: value) else { return false }
      extensions.append(mapping)
    default: return false
    }
    return true
  }
}

extension MediaDescription {
  fileprivate mutating func take(name: String, value: Substring?) -> Bool {
    guard let value else {
      switch name {
      case "rtcp-mux": hasRTCPMux = true
      case "rtcp-rsize": hasReducedSizeRTCP = true
      case "bundle-only": isBundleOnly = true
      case "end-of-candidates": hasEndOfCandidates = true
      case "extmap-allow-mixed": allowsMixedExtensions = true
      default: return false
      }
      return true
    }
    if transport.take(name: name, value: value) { return true }
    switch name {
    case "mid" where mid == nil && !value.isEmpty: mid = MID(String(value))
    case "candidate": return append(CandidateAttribute(value: value), to: \.candidates)
    case "rtpmap": return append(RTPMap(value: value), to: \.rtpMaps)
    case "fmtp": return append(FormatParameters(value: value), to: \.formatParameters)
    case "rtcp-fb": return append(RTCPFeedback(value: value), to: \.feedback)
    case "extmap": return append(ExtensionMapping(value: value), to: \.extensions)
    case "msid": return append(MediaStreamTrack(value: value), to: \.streams)
    case "ssrc": return append(SSRCAttribute(value: value), to: \.ssrcs)
    case "ssrc-group": return append(SSRCGroup(value: value), to: \.ssrcGroups)
    case "rid": return append(RIDDescription(value: value), to: \.rids)
    case "simulcast" where simulcast == nil:
      guard let read = SimulcastDescription(value: value) else { return false }
      simulcast = read
    case "sctp-port" where sctpPort == nil:
      guard let port = UInt16(value) else { return false }
      sctpPort = port
    case "max-message-size" where maximumMessageSize == nil:
      guard let size = UInt64(value) else { return false }
      maximumMessageSize = size
    default: return false
    }
    return true
  }

  private mutating func append<Line>(
    _ line: Line?, to list: WritableKeyPath<MediaDescription, [Line]>
  ) -> Bool {
    guard let line else { return false }
    self[keyPath: list].append(line)
    return true
  }
}
