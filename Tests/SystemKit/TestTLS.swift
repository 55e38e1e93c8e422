import COpenSSL
import NIOCore

/// What a server of a test shows: a certificate and its key.
package final class TestTLSContext: Sendable {
  // Sendable: OpenSSL counts references to a context itself, and nothing changes one that is made.
  nonisolated(unsafe) let context: OpaquePointer

  /// Files in PEM; nil when they can't be read.
  package init?(certificate: String, key: String) {
    guard let context = SSL_CTX_new(TLS_server_method()) else { return nil }
    guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1,
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
    else {
      SSL_CTX_free(context)
      return nil
    }
    self.context = context
  }

  deinit { SSL_CTX_free(context) }
}

/// TLS of a server's connection in a test. Confined to its event loop.
package final class TestTLSHandler: ChannelDuplexHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private let ssl: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer
  private let context: TestTLSContext
  private let announcesEnd: Bool

  /// Accepts the handshake. `announcesEnd`: says that nothing more comes (`close_notify`).
  package init(_ context: TestTLSContext, announcesEnd: Bool = true) {
    guard let ssl = SSL_new(context.context), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      fatalError("no memory")
    }
    SSL_set_bio(ssl, input, output)
    SSL_set_accept_state(ssl)
    (self.ssl, self.input, self.output, self.context, self.announcesEnd) = (ssl, input, output, context, announcesEnd)
  }

  deinit { SSL_free(ssl) }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    unwrapInboundIn(data).withUnsafeReadableBytes { _ = BIO_write(input, $0.baseAddress, Int32($0.count)) }
    if SSL_is_init_finished(ssl) == 0 { SSL_do_handshake(ssl) }
    var plain = [UInt8](repeating: 0, count: 16_384)
    while SSL_is_init_finished(ssl) == 1 {
      let count = SSL_read(ssl, &plain, Int32(plain.count))
      guard count > 0 else { break }
      context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: plain[..<Int(count)])))
    }
    send(context, nil)
    context.flush()
  }

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    unwrapOutboundIn(data).withUnsafeReadableBytes { _ = SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
    send(context, promise)
  }

  package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if announcesEnd {
      SSL_shutdown(ssl)
      send(context, nil)
      context.flush()
    }
    context.close(mode: mode, promise: promise)
  }

  private func send(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    let count = Int(BIO_ctrl_pending(output))
    guard count > 0 else {
      promise?.succeed()
      return
    }
    var bytes = context.channel.allocator.buffer(capacity: count)
    bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
      Int(BIO_read(output, $0.baseAddress, Int32(count)))
    }
    context.write(wrapOutboundOut(bytes), promise: promise)
  }
}
