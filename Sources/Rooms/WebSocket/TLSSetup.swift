import NIOCore
import NIOPosix
import NIOSSL
import Signaling

/// TLS of a signal connection: TLS 1.2 or later, the server's certificate and name are verified always.
enum TLSSetup {
  /// A context that trusts the system's authorities, or those in a file instead.
  static func context(caFile: String?) throws(RoomError) -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    if let caFile { configuration.trustRoots = .file(caFile) }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw RoomError(
        .tlsFailure, caFile.map { "no certificates could be read from \($0)" } ?? "\(error)")
    }
  }

  /// A handler for one connection. Names are sent and checked; for an IP address the certificate must name it.
  static func handler(_ context: NIOSSLContext, host: String) throws -> NIOSSLClientHandler {
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
  }
}

extension RoomError {
  /// What an error of a connection that is being made means.
  init(connecting error: any Error, to url: SignalURL) {
    let place = "\(url.host) port \(url.port)"
    switch error {
    case let error as NIOConnectionError:
      if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
        self.init(.dnsFailure, url.host)
        return
      }
      let timedOut = error.connectionErrors.contains {
        if case ChannelError.connectTimeout = $0.error { true } else { false }
      }
      self.init(timedOut ? .timeout : .refused, place)
    case ChannelError.connectTimeout: self.init(.timeout, place)
    case is IOError: self.init(.refused, place)
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
      self.init(.tlsFailure, "\(url.host), \(error)")
    default: self.init(.notARoomServer, "\(url)")
    }
  }
}
