import CNice

/// Calls a handler on a loop whenever a descriptor can be read, or can be written; also when it is broken. Confined to
/// the loop. The descriptor stays its owner's, who cancels this before closing it.
final class DescriptorSource {
  enum Readiness {
    case input, output
  }

  private var source: UnsafeMutablePointer<GSource>?
  private let handler: () -> Void

  init(_ descriptor: Int32, _ readiness: Readiness, on loop: MediaLoop, handler: @escaping () -> Void) {
    loop.assertIsCurrent()
    self.handler = handler
    guard let made = cnice_descriptor_source_new(descriptor, readiness == .output ? 1 : 0) else { return }
    source = made
    cnice_set_descriptor_callback(
      made,
      { _, _, data in
        guard let data else { return 0 }
        Unmanaged<DescriptorSource>.fromOpaque(data).takeUnretainedValue().handler()
        return 1
      }, Unmanaged.passUnretained(self).toOpaque())
    g_source_attach(made, loop.context)
  }

  deinit { cancel() }

  /// Ends it. Harmless when called again.
  func cancel() {
    guard let source else { return }
    self.source = nil
    g_source_destroy(source)
    g_source_unref(source)
  }
}
