import MediaCore
import Transport

/// Hears the transport for its connection, so that the connection's public face stays its own.
final class TransportAdapter: MediaTransportDelegate {
  weak var connection: RTCPeerConnection?

  init(_ connection: RTCPeerConnection) { self.connection = connection }

  func transport(_ transport: MediaTransport, didGather candidateLine: String) {
    connection?.gathered(candidateLine)
  }

  func transportDidFinishGathering(_ transport: MediaTransport) { connection?.finishedGathering() }

  func transport(_ transport: MediaTransport, pathFailed reason: String) { connection?.pathFailed(reason) }

  func transport(_ transport: MediaTransport, stateChanged state: TransportState) {
    connection?.changed(to: state)
  }

  func transport(_ transport: MediaTransport, receivedRTP buffer: MediaBuffer, at now: Instant) {
    connection?.engine.receiveRTP(buffer, at: now)
  }

  func transport(_ transport: MediaTransport, receivedRTCP bytes: UnsafeRawBufferPointer, at now: Instant) {
    connection?.engine.receiveRTCP(bytes, at: now)
  }

  func transport(_ transport: MediaTransport, channelOpened id: UInt16, label: String) {
    connection?.channelOpened(id, label: label)
  }

  func transport(
    _ transport: MediaTransport, channel id: UInt16, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    connection?.channel(id, received: bytes, isText: isText)
  }

  func transport(_ transport: MediaTransport, channelClosed id: UInt16) { connection?.channelClosed(id) }
}
