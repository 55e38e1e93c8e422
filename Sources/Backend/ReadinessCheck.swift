import Synchronization

/// Asks whether the backend can work, for all who want to know: one question at a time is under way, and whoever comes
/// meanwhile waits for its answer. However often supervisors ask a database that hangs, one transaction waits in it. Any
/// thread.
final class ReadinessCheck: Sendable {
  private final class Question: Sendable {
    let isAnswered = Notifier()
    let answer = Atomic<Bool>(false)
  }

  private let ask: @Sendable () async -> Bool
  private let patience: Duration
  private let pending = Mutex<Question?>(nil)

  /// - Parameters:
  ///   - patience: so long an answer is waited for.
  ///   - ask: the question; true: it can work.
  init(patience: Duration = .seconds(2), ask: @escaping @Sendable () async -> Bool) {
    self.patience = patience
    self.ask = ask
  }

  /// False as well when there is no answer in time.
  func isReady() async -> Bool {
    let question = pending.withLock { pending in
      if let pending { return pending }
      let question = Question()
      pending = question
      Task { await answer(question) }
      return question
    }
    await question.isAnswered.wait(since: 0, atMost: patience)
    return question.answer.load(ordering: .acquiring)
  }

  private func answer(_ question: Question) async {
    question.answer.store(await ask(), ordering: .releasing)
    // Whoever asks from here on asks anew.
    pending.withLock { $0 = nil }
    question.isAnswered.close()
  }
}
