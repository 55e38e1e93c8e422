import Glibc
import Subprocess
import Synchronization

/// The command that a worker's operator has run after each file is finished. It is a text for the shell that the operator
/// wrote; what others chose (room, names, metadata) reaches it in the environment only.
public struct AfterCommand: Hashable, Sendable {
  /// What `/bin/sh -c` runs.
  public var command: String
  /// When it runs longer, it is ended, and what it started.
  public var timeLimit = Duration.seconds(600)
  /// Its environment besides what it is told of the file; nothing secret.
  public var environment: [String: String]

  /// Makes a command; see the properties.
  public init(_ command: String, environment: [String: String] = [:]) {
    self.command = command
    self.environment = environment
  }

  /// Runs it to its end, in a session of its own; what it says goes to this process's standard error. Nil: it ended well;
  /// else why not, in words that go on with "the command after finishing".
  ///
  /// - Parameter isWanted: is asked a few times a second; when it is not, the command is ended.
  func run(_ values: [String: String], while isWanted: @escaping @Sendable () async -> Bool) async -> String? {
    let session = Session()
    let limit = timeLimit
    let watch = Task {
      let end = ContinuousClock.now + limit
      while !Task.isCancelled {
        if ContinuousClock.now >= end { session.end(isLate: true) }
        if !(await isWanted()) { session.end(isLate: false) }
        try? await Task.sleep(for: .milliseconds(200))
      }
    }
    defer { watch.cancel() }
    var options = PlatformOptions()
    options.createSession = true
    let all = environment.merging(values) { $1 }.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
    do {
      let result = try await Subprocess.run(
        .path("/bin/sh"), arguments: ["-c", command], environment: .custom(Dictionary(all) { $1 }),
        platformOptions: options, input: .none, output: .currentStandardError, error: .currentStandardError
      ) { execution in
        session.began(execution.processIdentifier.value)
      }
      if session.over() { return "ran longer than \(limit.components.seconds) s and was ended" }
      switch result.terminationStatus {
      case .exited(0): return nil
      case .exited(let code): return "ended with code \(code)"
      case .signaled(let signal): return "was ended by signal \(signal)"
      }
    } catch {
      return "could not be started: \(error)"
    }
  }
}

/// The processes of a command, which end together. Any thread.
private final class Session: Sendable {
  private struct State {
    /// The number of the session's first process, while it runs.
    var number: Int32?
    var isLate = false
    var isEnding = false
  }

  private let state = Mutex(State())

  func began(_ number: Int32) {
    state.withLock { state in
      state.number = number
      if state.isEnding { kill(-number, SIGKILL) }
    }
  }

  /// Kills all of them.
  func end(isLate: Bool) {
    state.withLock { state in
      state.isLate = state.isLate || isLate
      state.isEnding = true
      if let number = state.number { kill(-number, SIGKILL) }
    }
  }

  /// The first one has ended; true when it was too late.
  func over() -> Bool {
    state.withLock { state in
      state.number = nil
      return state.isLate
    }
  }
}
