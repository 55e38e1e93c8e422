import Glibc

extension MediaLoop {
  /// Does what takes long, or waits, on a thread of its own, and hands what comes of it to `completion` on the loop. Loop
  /// thread only. When the system has no thread to give, the work is done here. How much is under way at once is the
  /// caller's to bound.
  package func offload<Result: Sendable>(
    _ work: @escaping @Sendable () -> Result, completion: @escaping (Result) -> Void
  ) {
    let carried = Carried(completion)
    let run = Unmanaged.passRetained(
      Offloaded { [self] in
        let result = work()
        post { carried.take()?(result) }
      })
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { data in
        if let data { Unmanaged<Offloaded>.fromOpaque(data).takeRetainedValue().body() }
        return nil
      }, run.toOpaque())
    if status == 0 {
      pthread_detach(thread)
    } else {
      run.takeRetainedValue().body()
    }
  }
}

/// What a thread is given to do.
private final class Offloaded: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

// Sendable: what is in it is put in, taken out, called and let go on the loop's thread; the other thread only carries it.
private final class Carried<Value>: @unchecked Sendable {
  private var value: Value?
  init(_ value: Value) { self.value = value }

  func take() -> Value? {
    defer { value = nil }
    return value
  }
}
