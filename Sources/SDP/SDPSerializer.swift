import MediaCore

extension SessionDescription {
  /// The description as text with CRLF line ends (RFC 8866 section 5). Line breaks inside of values are left out,
  /// so that no value can add a line.
  public func serialized() -> String {
    var out = SDPWriter()
    out.line("v=0")
    out.line("o=\(origin.username) \(origin.sessionID) \(origin.version) \(origin.address)")
    out.line("s=\(name)")
    if let connection { out.line("c=\(connection)") }
    for bandwidth in bandwidths { out.line("b=\(bandwidth)") }
    out.line("t=0 0")
    for group in groups { out.attribute("group", ([group.semantics] + group.mids.map(\.rawValue)).spaced) }
    if isLite { out.attribute("ice-lite") }
    if allowsMixedExtensions { out.attribute("extmap-allow-mixed") }
    out.transport(transport)
    for mapping in extensions { out.attribute("extmap", mapping.value) }
    for other in attributes { out.attribute(other.name, other.value) }
    for section in media { out.section(section) }
    return out.text
  }
}

/// Collects lines.
private struct SDPWriter {
  var text = ""

  mutating func line(_ content: String) {
    text += SDPText.oneLine(content)
    text += "\r\n"
  }

  mutating func attribute(_ name: String, _ value: String? = nil) {
    line(value.map { "a=\(name):\($0)" } ?? "a=\(name)")
  }

  mutating func transport(_ transport: TransportAttributes) {
    if let ufrag = transport.iceUfrag { attribute("ice-ufrag", ufrag) }
    if let password = transport.icePassword { attribute("ice-pwd", password) }
    if !transport.iceOptions.isEmpty { attribute("ice-options", transport.iceOptions.spaced) }
    for print in transport.fingerprints { attribute("fingerprint", "\(print.algorithm) \(print.value)") }
    if let setup = transport.setup { attribute("setup", setup.rawValue) }
  }

  mutating func section(_ media: MediaDescription) {
    line("m=" + ([media.kind.token, String(media.port), media.proto] + media.formats).spaced)
    if let connection = media.connection { line("c=\(connection)") }
    for bandwidth in media.bandwidths { line("b=\(bandwidth)") }
    if let mid = media.mid { attribute("mid", mid.rawValue) }
    attribute(media.direction.rawValue)
    for stream in media.streams { attribute("msid", [stream.stream, stream.track].compactMap { $0 }.spaced) }
    transport(media.transport)
    for candidate in media.candidates { attribute("candidate", candidate.value) }
    if media.hasEndOfCandidates { attribute("end-of-candidates") }
    if media.isBundleOnly { attribute("bundle-only") }
    if media.hasRTCPMux { attribute("rtcp-mux") }
    if media.hasReducedSizeRTCP { attribute("rtcp-rsize") }
    if media.allowsMixedExtensions { attribute("extmap-allow-mixed") }
    for mapping in media.extensions { attribute("extmap", mapping.value) }
    codecs(media)
    for rid in media.rids {
      attribute("rid", [rid.id.rawValue, rid.sends ? "send" : "recv", rid.restrictions].spaced)
    }
    if let simulcast = media.simulcast { attribute("simulcast", simulcast.value) }
    for group in media.ssrcGroups {
      attribute("ssrc-group", ([group.semantics] + group.ssrcs.map(\.description)).spaced)
    }
    for source in media.ssrcs {
      attribute("ssrc", "\(source.ssrc) \(source.name)" + (source.value.map { ":" + $0 } ?? ""))
    }
    if let port = media.sctpPort { attribute("sctp-port", String(port)) }
    if let size = media.maximumMessageSize { attribute("max-message-size", String(size)) }
    for other in media.attributes { attribute(other.name, other.value) }
  }

  private mutating func codecs(_ media: MediaDescription) {
    for map in media.rtpMaps {
      let channels = map.channels.map { "/\($0)" } ?? ""
      attribute("rtpmap", "\(map.payloadType) \(map.name)/\(map.clockRate)\(channels)")
    }
    for feedback in media.feedback {
      attribute("rtcp-fb", "\(feedback.payloadType?.description ?? "*") \(feedback.value)")
    }
    for parameters in media.formatParameters {
      attribute("fmtp", "\(parameters.payloadType) \(parameters.text)")
    }
  }
}

extension [String] {
  /// Joined by single spaces, without the empty ones.
  fileprivate var spaced: String { filter { !$0.isEmpty }.joined(separator: " ") }
}

extension ExtensionMapping {
  fileprivate var value: String {
    [direction.map { "\(id)/\($0.rawValue)" } ?? String(id), uri, attributes].spaced
  }
}

extension SimulcastDescription {
  fileprivate var value: String {
    [Self.list("send", send), Self.list("recv", receive)].spaced
  }

  private static func list(_ word: String, _ streams: [[Alternative]]) -> String {
    guard !streams.isEmpty else { return "" }
    let texts = streams.map { alternatives in
      alternatives.map { ($0.isPaused ? "~" : "") + $0.rid.rawValue }.joined(separator: ",")
    }
    return word + " " + texts.joined(separator: ";")
  }
}
