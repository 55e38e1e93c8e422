import MediaCore
import RTP

/// Which section, layer and stream an arriving packet belongs to (RFC 8843 section 9.2, RFC 8852). A value made
/// from what was negotiated; packets of sources that are known already do not come here.
struct Routing: Sendable {
  /// Where a new source belongs.
  struct Destination: Hashable, Sendable {
    /// Its section.
    var mid: MID
    /// Its simulcast layer, or the one that it repairs.
    var rid: RID?
    /// Whether it carries retransmissions (RFC 4588).
    var isRetransmission: Bool
    /// The source that it repairs, when that was announced.
    var repairs: SSRC?
  }

  /// One identifier map for the whole bundle: identifiers mean the same in every section (RFC 8843 section 9.2).
  private(set) var extensions = HeaderExtensionMap()
  private var sections: [MID: NegotiatedMedia] = [:]
  private var announced: [SSRC: Destination] = [:]
  /// Sections by payload type; only types that one section alone uses, and that announces no sources, decide.
  private var types: [PayloadType: [MID]] = [:]

  init() {}

  init(_ media: [NegotiatedMedia]) {
    for section in media where section.receives {
      sections[section.mid] = section
      for entry in section.extensions.entries { extensions.set(entry.name, id: entry.id) }
      for ssrc in section.ssrcs { announced[ssrc] = Destination(mid: section.mid, isRetransmission: false) }
      for (repair, ssrc) in section.retransmissions {
        announced[repair] = Destination(mid: section.mid, isRetransmission: true, repairs: ssrc)
      }
      for entry in section.receivePayloads.entries { types[entry.type, default: []].append(section.mid) }
    }
  }

  /// Where a packet of an unknown source belongs; nil when that cannot be told.
  func destination(of packet: RTPPacket) -> Destination? {
    if let mid = packet.mid(extensions) {
      guard let section = sections[mid] else { return nil }
      return destination(of: packet, in: section)
    }
    if var known = announced[packet.ssrc] {
      known.rid = packet.rid(extensions) ?? packet.repairedRid(extensions)
      return known
    }
    // A section that announced its sources gets no others by payload type: they may be late packets of a track
    // that used the section before.
    guard let candidates = types[packet.payloadType], candidates.count == 1, let mid = candidates.first,
      let section = sections[mid], section.ssrcs.isEmpty
    else { return nil }
    return destination(of: packet, in: section)
  }

  private func destination(of packet: RTPPacket, in section: NegotiatedMedia) -> Destination? {
    let isRetransmission: Bool
    switch section.receivePayloads.format(of: packet.payloadType) {
    case .retransmission: isRetransmission = true
    case .codec, .redundancy: isRetransmission = false
    case nil: return nil
    }
    var rid = isRetransmission ? packet.repairedRid(extensions) ?? packet.rid(extensions) : packet.rid(extensions)
    if !section.rids.isEmpty {
      // With simulcast nothing but the layer's name tells its source, and it must be one that was agreed.
      guard let name = rid, section.rids.contains(name) else { return nil }
    } else {
      rid = nil
    }
    return Destination(
      mid: section.mid, rid: rid, isRetransmission: isRetransmission,
      repairs: section.retransmissions[packet.ssrc])
  }
}
