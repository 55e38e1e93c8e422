import Platform

extension MediaLoop {
  /// Does what takes long, or waits, on a thread of its own, and hands what comes of it to `completion` on the loop. Loop
  /// thread only. When the system has no thread to give, the work is done here. How much is under way at once is the
  /// caller's to bound.
  package func offload<Result: Sendable>(
    _ work: @escaping @Sendable () -> Result, completion: @escaping (Result) -> Void
  ) {
    assertIsCurrent()
    let carried = Carried(completion)
    DetachedThread.start(name: "offload") { [self] in
      let result = work()
      post { carried.take()?(result) }
    }
  }
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
