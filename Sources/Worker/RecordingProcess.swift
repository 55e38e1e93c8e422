import Foundation
import Glibc
import JobsAPI
import MediaCore
import Subprocess
import Synchronization

/// How recordings' processes are started.
public struct RecordingLaunch: Sendable {
  /// Path of the program that records.
  public var executable: String
  /// Its arguments, without anything secret.
  public var arguments: [String]
  /// Its environment, without anything secret.
  public var environment: [String: String]
  /// The credential for the TURN server of the settings: told on standard input.
  @Redacted public var turnCredential: String? = nil

  /// Makes a launch; the program is this one by default.
  public init(
    executable: String = "/proc/self/exe", arguments: [String] = ["record"], environment: [String: String] = [:]
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
  }
}

/// One recording, running as a process of its own. May be used on any thread.
final class RecordingProcess: Sendable {
  /// How a process ended.
  enum Exit: Hashable, Sendable, CustomStringConvertible {
    case exited(Int32)
    /// It crashed, or was killed.
    case signaled(Int32)
    case notStarted(String)

    /// One line.
    var description: String {
      switch self {
      case .exited(let code): "it ended with code \(code)"
      case .signaled(let signal): "it was ended by signal \(signal)"
      case .notStarted(let reason): "it could not be started: \(reason)"
      }
    }
  }

  /// The most lines that wait to be taken by the process. The backend has no more than 64 commands wait.
  private static let mostLines = 256

  private typealias Handle = Execution<CustomWriteInput, SequenceOutput, FileDescriptorOutput>

  private struct State {
    var handle: Handle?
    var isKilled = false
  }

  /// What the process tells, until it has ended.
  let reports: AsyncStream<RecordingReport>
  private let input: AsyncStream<[UInt8]>.Continuation
  private let state = Mutex(State())
  private let task: Mutex<Task<Exit, Never>?> = Mutex(nil)

  /// Starts a process and gives it its order.
  init(_ launch: RecordingLaunch, order: RecordingOrder) {
    let (reports, report) = AsyncStream.makeStream(of: RecordingReport.self, bufferingPolicy: .bufferingNewest(64))
    let (lines, input) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.mostLines))
    self.reports = reports
    self.input = input
    send(.order(order))
    let task = Task { [self] in
      let exit = await run(launch, lines: lines, report: report)
      input.finish()
      report.finish()
      return exit
    }
    self.task.withLock { $0 = task }
  }

  /// Tells the process something. A process that takes nothing while so many lines wait has got stuck: it is ended, and
  /// the one after it begins with what this one has not answered.
  func send(_ message: RecordingInput) {
    guard let line = try? JSONEncoder().encode(message) else { return }
    if case .dropped = input.yield(Array(line) + [10]) { kill() }
  }

  /// Ends the process at once; its file stays as it is, and plays.
  func kill() {
    let handle = state.withLock { state in
      state.isKilled = true
      return state.handle
    }
    try? handle?.send(signal: .kill)
  }

  /// The process's number, while it runs.
  var number: Int32? { state.withLock { $0.handle?.processIdentifier.value } }

  /// Waits for the end.
  func exit() async -> Exit { await task.withLock { $0 }?.value ?? .notStarted("") }

  private func run(
    _ launch: RecordingLaunch, lines: AsyncStream<[UInt8]>, report: AsyncStream<RecordingReport>.Continuation
  ) async -> Exit {
    var options = PlatformOptions()
    // Ctrl-C at the worker's terminal is for the worker, which tells its recordings what to do.
    options.createSession = true
    // A backtrace takes the runtime many seconds, in which nobody records; who wants one says so in the environment.
    let environment = launch.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }.map {
      (Environment.Key(stringLiteral: $0.key), $0.value)
    }
    do {
      let result = try await Subprocess.run(
        .path(.init(launch.executable)),
        arguments: Arguments(executablePathOverride: "recbot", remainingValues: launch.arguments),
        environment: .custom(Dictionary(environment) { $1 }), platformOptions: options, input: .inputWriter,
        output: .sequence, error: .currentStandardError
      ) { execution in
        self.watch(execution)
        defer { self.state.withLock { $0.handle = nil } }
        let writing = Task {
          for await line in lines {
            guard (try? await execution.standardInputWriter.write(line)) != nil else { break }
          }
          try? await execution.standardInputWriter.finish()
        }
        defer { writing.cancel() }
        try await Self.read(execution.standardOutput, into: report)
      }
      switch result.terminationStatus {
      case .exited(let code): return .exited(code)
      case .signaled(let signal): return .signaled(signal)
      }
    } catch {
      return .notStarted("\(error)")
    }
  }

  private func watch(_ handle: Handle) {
    let isKilled = state.withLock { state in
      state.handle = handle
      return state.isKilled
    }
    if isKilled { try? handle.send(signal: .kill) }
  }

  private static func read(
    _ output: SubprocessOutputSequence, into report: AsyncStream<RecordingReport>.Continuation
  ) async throws {
    var buffer: [UInt8] = []
    for try await chunk in output {
      chunk.withUnsafeBytes { buffer.append(contentsOf: $0) }
      while let end = buffer.firstIndex(of: 10) {
        let line = Array(buffer[..<end])
        if let value = try? BoundedJSON.decode(RecordingReport.self, from: line, limits: JSONLimits(bytes: 1 << 20)) {
          report.yield(value)
        }
        buffer.removeFirst(end + 1)
      }
      // No report is so long.
      if buffer.count > 1 << 20 { buffer = [] }
    }
  }
}
