/// Work that is done one after the other, in the order in which it was given. Confined to its owner.
struct TaskChain {
  private var last: Task<Void, Never>?

  /// Does something when everything before it is done.
  mutating func add(_ work: @escaping @Sendable () async -> Void) {
    let before = last
    last = Task {
      await before?.value
      await work()
    }
  }

  /// The end of everything that was given so far.
  var end: Task<Void, Never>? { last }
}
