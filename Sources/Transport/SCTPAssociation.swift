import CUsrsctp
import Synchronization

// Sendable: everything but `waitingBytes` (an atomic) is confined to the SCTP thread; the methods marked "any thread"
// only post there.
/// One SCTP association over one DTLS connection, with its data channels (RFC 8831, RFC 8832).
final class SCTPAssociation: @unchecked Sendable {
  enum Event: Sendable {
    case packet([UInt8])
    case opened(UInt16, label: String)
    case message(UInt16, [UInt8], isText: Bool)
    case closed(UInt16)
    /// A message was dropped; see `TransportCounters.dataMessagesDropped`.
    case dropped
  }

  /// Largest message out and in, in bytes.
  static let maximumOutgoing = 65_536
  static let maximumIncoming = 262_144
  /// Bytes that may wait for sending.
  static let maximumWaiting = 4 << 20
  private static let bufferSize: Int32 = 1 << 20
  private static let localPort: UInt16 = 5000
  private static let maximumChannels = 1024
  private static let maximumPartial = 1 << 20
  // Of the peer's channels, in bytes: labels are kept as long as their channels.
  private static let maximumLabel = 1024
  // Acknowledgements and resets that a peer may make us keep by opening and closing without reading.
  private static let maximumAnswers = 4096

  private struct Channel {
    var label: String
    var ordered: Bool
    var maxRetransmits: UInt16?
    var isAcknowledged: Bool
  }

  private struct Outgoing {
    var stream: UInt16
    var ppid: UInt32
    var bytes: [UInt8]
  }

  private struct Partial {
    var bytes: [UInt8] = []
    var isTooLarge = false
  }

  private let isDTLSClient: Bool
  private let sink: @Sendable (Event) -> Void
  private let waitingBytes = Atomic<Int>(0)
  private var handle: UInt = 0
  private var socket: OpaquePointer?
  private var isUp = false
  private var channels: [UInt16: Channel] = [:]
  private var waiting: [Outgoing] = []
  private var resets: [UInt16] = []
  private var partial: [UInt16: Partial] = [:]
  private var partialBytes = 0

  /// `sink` is called on the SCTP thread.
  init(isDTLSClient: Bool, sink: @escaping @Sendable (Event) -> Void) {
    self.isDTLSClient = isDTLSClient
    self.sink = sink
  }

  // MARK: - Any thread

  /// Sends the INIT. `mtu` counts an SCTP packet.
  func start(remotePort: UInt16, mtu: Int) {
    SCTPStack.shared.loop.post { self.begin(remotePort: remotePort, mtu: mtu) }
  }

  func receive(packet: [UInt8]) {
    SCTPStack.shared.loop.post { self.input(packet) }
  }

  func open(_ id: UInt16, label: String, ordered: Bool, maxRetransmits: UInt16?) {
    SCTPStack.shared.loop.post {
      self.channels[id] = Channel(
        label: label, ordered: ordered, maxRetransmits: maxRetransmits, isAcknowledged: false)
      let message = DataChannelMessage.open(label: label, ordered: ordered, maxRetransmits: maxRetransmits)
      self.enqueue(Outgoing(stream: id, ppid: DataChannelPayload.control, bytes: message.bytes))
    }
  }

  /// False when too much is waiting already.
  func send(_ id: UInt16, bytes: [UInt8], isText: Bool) -> Bool {
    let size = max(bytes.count, 1)
    guard waitingBytes.load(ordering: .relaxed) + size <= SCTPAssociation.maximumWaiting else { return false }
    waitingBytes.add(size, ordering: .relaxed)
    let ppid: UInt32
    if bytes.isEmpty {
      ppid = isText ? DataChannelPayload.stringEmpty : DataChannelPayload.binaryEmpty
    } else {
      ppid = isText ? DataChannelPayload.string : DataChannelPayload.binary
    }
    SCTPStack.shared.loop.post {
      // SCTP has no empty messages (RFC 8831 section 6.6).
      self.enqueue(Outgoing(stream: id, ppid: ppid, bytes: bytes.isEmpty ? [0] : bytes))
    }
    return true
  }

  func closeChannel(_ id: UInt16) {
    SCTPStack.shared.loop.post {
      guard self.channels.removeValue(forKey: id) != nil else { return }
      self.resets.append(id)
      self.flush()
      self.sink(.closed(id))
    }
  }

  /// Aborts the association. No event comes after the posted work is done.
  func close() {
    SCTPStack.shared.loop.post { self.end() }
  }

  // MARK: - SCTP thread

  private func begin(remotePort: UInt16, mtu: Int) {
    guard handle == 0 else { return }
    handle = SCTPStack.shared.add(self)
    usrsctp_register_address(UnsafeMutableRawPointer(bitPattern: handle))
    socket = cusrsctp_open(
      handle,
      { _, _, bytes, length, info, flags, handle in
        guard let bytes else { return 1 }
        defer { free(bytes) }
        let data = UnsafeRawBufferPointer(start: bytes, count: length)
        SCTPStack.shared.association(UInt(bitPattern: handle))?.received(data, info: info, flags: flags)
        return 1
      }, SCTPAssociation.bufferSize)
    guard let socket else { return }
    _ = cusrsctp_connect(socket, handle, SCTPAssociation.localPort, remotePort, UInt32(clamping: mtu))
  }

  private func input(_ packet: [UInt8]) {
    guard handle != 0 else { return }
    if !Self.isHeartbeat(packet) { SCTPStack.shared.stir() }
    packet.withUnsafeBytes {
      usrsctp_conninput(UnsafeMutableRawPointer(bitPattern: handle), $0.baseAddress, $0.count, 0)
    }
    flush()
  }

  /// Whether a packet is a HEARTBEAT or the answer to one (RFC 9260 sections 3.3.5 and 3.3.6): nothing is due soon after it.
  private static func isHeartbeat(_ packet: [UInt8]) -> Bool { packet.count > 12 && (4...5).contains(packet[12]) }

  /// The library wants a packet sent.
  func send(packet: UnsafeRawBufferPointer) { sink(.packet(Array(packet))) }

  private func enqueue(_ message: Outgoing) {
    guard channels[message.stream] != nil else {
      finished(message)
      sink(.dropped)
      return
    }
    waiting.append(message)
    SCTPStack.shared.stir()
    flush()
  }

  /// Hands over what the library takes now; the rest waits for the next packet or tick.
  func flush() {
    guard isUp, let socket else { return }
    var sent = 0
    while sent < waiting.count {
      let message = waiting[sent]
      guard let channel = channels[message.stream] else {
        finished(message)
        sent += 1
        continue
      }
      let isControl = message.ppid == DataChannelPayload.control
      // Until the peer has acknowledged the channel, order keeps messages behind its opening (RFC 8832 section 6).
      let ordered = channel.ordered || isControl || !channel.isAcknowledged
      let retransmits = isControl ? -1 : channel.maxRetransmits.map(Int32.init) ?? -1
      let status = message.bytes.withUnsafeBytes {
        cusrsctp_send(
          socket, message.stream, message.ppid, ordered ? 1 : 0, retransmits, $0.baseAddress, $0.count)
      }
      if status == EWOULDBLOCK { break }
      if status != 0 { sink(.dropped) }
      finished(message)
      sent += 1
    }
    waiting.removeFirst(sent)
    resets.removeAll { cusrsctp_reset(socket, $0) != EAGAIN }
  }

  private func finished(_ message: Outgoing) {
    guard message.ppid != DataChannelPayload.control else { return }
    waitingBytes.subtract(message.bytes.count, ordering: .relaxed)
  }

  private func received(_ data: UnsafeRawBufferPointer, info: sctp_rcvinfo, flags: Int32) {
    if flags & Int32(MSG_NOTIFICATION) != 0 {
      notified(data)
      return
    }
    let stream = info.rcv_sid
    let isWhole = flags & Int32(MSG_EOR) != 0
    if isWhole, partial[stream] == nil {
      message(Array(data), stream: stream, ppid: cusrsctp_ppid(info))
      return
    }
    // A large message comes in parts. One that is too large is not kept, but its end is still waited for.
    var parts = partial[stream] ?? Partial()
    partialBytes -= parts.bytes.count
    let size = parts.bytes.count + data.count
    if size > SCTPAssociation.maximumIncoming || partialBytes + size > SCTPAssociation.maximumPartial {
      parts.isTooLarge = true
      parts.bytes = []
    }
    if !parts.isTooLarge { parts.bytes.append(contentsOf: data) }
    if isWhole {
      partial[stream] = nil
      if parts.isTooLarge { sink(.dropped) } else { message(parts.bytes, stream: stream, ppid: cusrsctp_ppid(info)) }
    } else {
      partial[stream] = parts
      partialBytes += parts.bytes.count
    }
  }

  private func message(_ bytes: [UInt8], stream: UInt16, ppid: UInt32) {
    guard bytes.count <= SCTPAssociation.maximumIncoming else {
      sink(.dropped)
      return
    }
    switch ppid {
    case DataChannelPayload.control: control(bytes, stream: stream)
    case _ where channels[stream] == nil: sink(.dropped)
    case DataChannelPayload.string, DataChannelPayload.stringPartial: sink(.message(stream, bytes, isText: true))
    case DataChannelPayload.binary, DataChannelPayload.binaryPartial: sink(.message(stream, bytes, isText: false))
    case DataChannelPayload.stringEmpty: sink(.message(stream, [], isText: true))
    case DataChannelPayload.binaryEmpty: sink(.message(stream, [], isText: false))
    default: sink(.dropped)
    }
  }

  private func control(_ bytes: [UInt8], stream: UInt16) {
    switch DataChannelMessage(bytes) {
    case .open(let label, let ordered, let maxRetransmits):
      // The DTLS client opens even streams, the server odd ones (RFC 8832 section 6).
      let isPeers = stream.isMultiple(of: 2) != isDTLSClient
      guard isPeers, channels[stream] == nil, channels.count < SCTPAssociation.maximumChannels,
        label.utf8.count <= SCTPAssociation.maximumLabel, waiting.count < SCTPAssociation.maximumAnswers
      else {
        sink(.dropped)
        return
      }
      channels[stream] = Channel(
        label: label, ordered: ordered, maxRetransmits: maxRetransmits, isAcknowledged: true)
      enqueue(
        Outgoing(
          stream: stream, ppid: DataChannelPayload.control, bytes: DataChannelMessage.acknowledgement.bytes))
      sink(.opened(stream, label: label))
    case .acknowledgement:
      guard let channel = channels[stream], !channel.isAcknowledged else { return }
      channels[stream]?.isAcknowledged = true
      sink(.opened(stream, label: channel.label))
    case nil: sink(.dropped)
    }
  }

  private func notified(_ data: UnsafeRawBufferPointer) {
    switch Int32(cusrsctp_association_state(data.baseAddress, data.count)) {
    case SCTP_COMM_UP, SCTP_RESTART:
      isUp = true
      flush()
    case SCTP_COMM_LOST, SCTP_SHUTDOWN_COMP, SCTP_CANT_STR_ASSOC:
      isUp = false
      for id in channels.keys.sorted() { sink(.closed(id)) }
      channels = [:]
    default: break
    }
    let count = cusrsctp_reset_count(data.baseAddress, data.count)
    for index in 0..<max(0, count) {
      let stream = cusrsctp_reset_stream(data.baseAddress, index)
      guard channels.removeValue(forKey: stream) != nil else { continue }
      if resets.count < SCTPAssociation.maximumAnswers { resets.append(stream) }
      sink(.closed(stream))
    }
    if count > 0 { flush() }
  }

  private func end() {
    guard handle != 0 else { return }
    if let socket { usrsctp_close(socket) }
    socket = nil
    isUp = false
    channels = [:]
    waiting = []
    SCTPStack.shared.remove(handle)
    // Last of all: the socket's ABORT still needs the address.
    usrsctp_deregister_address(UnsafeMutableRawPointer(bitPattern: handle))
  }
}
