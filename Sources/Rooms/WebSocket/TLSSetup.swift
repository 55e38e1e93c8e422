import MediaCore
import NIOCore
import NIOPosix
import Signaling
import TLS
import WebClient

/// TLS of a signal connection: TLS 1.2 or later, the server's certificate and name are verified always.
enum TLSSetup {
  /// Trusts the system's authorities, or those in a file instead. Throws when the file can't be read.
  static func context(caFile: String?) throws(RoomError) -> TLSContext {
    do throws(TLSContext.Failure) {
      return try TLSContext(authorities: caFile)
    } catch {
      throw RoomError(
        .tlsFailure, error.description,
        advice: caFile == nil ? nil : "Give --tls-ca a file of certificates in PEM that can be read")
    }
  }

  /// A handler for one connection. Names are sent and checked; for an IP address the certificate must name it.
  static func handler(_ context: TLSContext, host: String) throws -> TLSHandler {
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    return TLSHandler(try TLSSession(context, host: host, isNumeric: isAddress, application: "http/1.1"))
  }
}

extension RoomError {
  /// What an error of a connection that is being made means.
  init(connecting error: any Error, to url: SignalURL) {
    let place = "\(url.host) port \(url.port)"
    switch error {
    case let error as RoomError: self = error
    case let error as NIOConnectionError:
      if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
        self.init(.dnsFailure, url.host)
        return
      }
      let timedOut = error.connectionErrors.contains {
        if case ChannelError.connectTimeout = $0.error { true } else { false }
      }
      self.init(timedOut ? .timeout : .refused, place)
    case ChannelError.connectTimeout, WebFault.late: self.init(.timeout, place)
    case WebFault.unknownHost: self.init(.dnsFailure, url.host)
    case is IOError, WebFault.unreachable: self.init(.refused, place)
    case let fault as TLSFault: self.init(fault, at: url)
    case WebFault.tls(let fault): self.init(fault, at: url)
    default: self.init(.notARoomServer, "\(url)")
    }
  }

  /// What a fault of TLS means.
  init(_ fault: TLSFault, at url: SignalURL) {
    self.init(.tlsFailure, "\(url.host): \(fault)", advice: fault.advice)
  }
}
