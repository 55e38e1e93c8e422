import MediaCore
import NIOCore
import NIOPosix
import NIOSSL
import Platform
import Signaling

/// TLS of a signal connection: TLS 1.2 or later, the server's certificate and name are verified always.
enum TLSSetup {
  /// Trusts the system's authorities, or those in a file instead.
  static func configuration(caFile: String?) -> TLSConfiguration {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    if let caFile { configuration.trustRoots = .file(caFile) }
    return configuration
  }

  /// A context of this configuration. Throws when the file can't be read.
  static func context(caFile: String?) throws(RoomError) -> NIOSSLContext {
    do {
      return try NIOSSLContext(configuration: configuration(caFile: caFile))
    } catch {
      throw RoomError(
        .tlsFailure, caFile.map { "no certificates could be read from \($0)" } ?? "\(error)",
        advice: caFile == nil ? nil : "Give --tls-ca a file of certificates in PEM that can be read")
    }
  }

  /// A handler for one connection. Names are sent and checked; for an IP address the certificate must name it.
  static func handler(_ context: NIOSSLContext, host: String) throws -> NIOSSLClientHandler {
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
  }

  /// The longest time for the look at a certificate.
  private static let lookTime = TimeAmount.seconds(3)

  /// Looks at the certificates that a server shows, and says what is wrong with them; `.untrusted` when their times are
  /// good. Nothing is sent but the beginning of the handshake, which is broken off.
  static func look(
    _ context: NIOSSLContext, at url: SignalURL, address: String?, on loop: any EventLoop
  ) -> EventLoopFuture<TLSFault> {
    let found = loop.makePromise(of: TLSFault.self)
    let deadline = loop.scheduleTask(in: lookTime) { found.succeed(.untrusted) }
    ClientBootstrap(group: loop)
      .connectTimeout(lookTime)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let isAddress = (try? SocketAddress(ipAddress: url.host, port: 0)) != nil
          let handler = try NIOSSLClientHandler(
            context: context, serverHostname: isAddress ? nil : url.host,
            customVerificationCallback: { certificates, verdict in
              let times = certificates.map { (from: Int64($0.notValidBefore), until: Int64($0.notValidAfter)) }
              found.succeed(TLSFault(validity: times, now: WallClock.seconds, day: day))
              verdict.succeed(.failed)
            })
          try channel.pipeline.syncOperations.addHandler(handler)
        }
      }
      .connect(host: address ?? url.host, port: url.port)
      .whenComplete { result in
        switch result {
        case .failure: found.succeed(.untrusted)
        case .success(let channel): found.futureResult.whenComplete { _ in channel.close(promise: nil) }
        }
      }
    found.futureResult.whenComplete { _ in deadline.cancel() }
    return found.futureResult
  }

  /// Seconds since 1970 as a day, `2026-11-22` (UTC).
  private static func day(_ seconds: Int64) -> String {
    var value = time_t(seconds)
    var parts = tm()
    gmtime_r(&value, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(Int64(parts.tm_year) + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
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
    case ChannelError.connectTimeout: self.init(.timeout, place)
    case is IOError: self.init(.refused, place)
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
      self.init(TLSFault(reading: "\(error)") ?? .other(""), at: url)
    default: self.init(.notARoomServer, "\(url)")
    }
  }

  /// What a fault of TLS means.
  init(_ fault: TLSFault, at url: SignalURL) {
    self.init(.tlsFailure, "\(url.host): \(fault)", advice: fault.advice)
  }
}
