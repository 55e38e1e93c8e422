import Transport

/// The data channels of a connection by label.
struct DataChannels {
  private struct Wanted {
    var label: String
    var ordered: Bool
    var maxRetransmits: UInt16?
  }

  private var waiting: [Wanted] = []
  private var ids: [String: UInt16] = [:]
  private var labels: [UInt16: String] = [:]
  private var isUp = false

  mutating func open(_ label: String, _ ordered: Bool, _ maxRetransmits: UInt16?, on transport: MediaTransport?) {
    if isUp, let transport {
      transport.openDataChannel(label: label, ordered: ordered, maxRetransmits: maxRetransmits)
    } else {
      waiting.append(Wanted(label: label, ordered: ordered, maxRetransmits: maxRetransmits))
    }
  }

  mutating func openWaiting(on transport: MediaTransport) {
    isUp = true
    for wanted in waiting {
      transport.openDataChannel(label: wanted.label, ordered: wanted.ordered, maxRetransmits: wanted.maxRetransmits)
    }
    waiting = []
  }

  /// The channel of a label; the one opened last when there are several.
  func id(of label: String) -> UInt16? { ids[label] }
  func label(of id: UInt16) -> String? { labels[id] }

  mutating func opened(_ id: UInt16, label: String) {
    ids[label] = id
    labels[id] = label
  }

  mutating func closed(_ id: UInt16) -> String? {
    guard let label = labels.removeValue(forKey: id) else { return nil }
    if ids[label] == id { ids[label] = nil }
    return label
  }
}
