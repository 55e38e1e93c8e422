import Glibc
import Logging
import Recording
import RecbotKit
import Session
import Synchronization
import Transport
import UnixSignals
import WebClient

/// One recording of one room, from the join to the finished file: what `join`, `record` and `demo` have in common.
struct RecordingJob {
  /// What is recorded, and how.
  let plan: RecordingPlan
  let logger: Logger
  /// Is given the recording as soon as it can be watched and told things.
  var onStart: (@Sendable (RunningJob) -> Void)?

  /// What came of a job.
  struct Result {
    /// The recording.
    var summary: RecordingSummary
    /// Why it is not all that was wanted; nil when it is.
    var error: RoomError?
    /// What sinks lack, a line each.
    var sinkFaults: [String] = []
  }

  /// Joins, records until something ends it, and finishes the file. SIGINT and SIGTERM end it; a second one gives up.
  func run() async throws -> Result {
    let relay = EventRelay()
    let (logger, mode, settings) = (logger, plan.progress, plan.recording)
    let news = EventBuffer()
    let recording = RoomRecording(settings: settings, logger: logger) { event in
      relay.tell(event)
      if mode == .json { news.put(event) }
    }
    let board = StatusBoard()
    let receiver: RoomReceiver
    do {
      receiver = try RoomReceiver(
        plan.connection, sink: recording.sequencer, logger: logger, onStatus: { board.put($0) },
        onEnd: { board.finish($0) })
    } catch {
      throw Failure(error)
    }
    let stoppedAt = Mutex<ContinuousClock.Instant?>(nil)
    // Once the end is asked for, or the room has ended, there is nothing more to ask for.
    let refusal: @Sendable () -> RoomError? = {
      if board.isOver { return RoomError(.leftAlready) }
      return stoppedAt.withLock { $0 } == nil ? nil : RoomError(.leavingAlready)
    }
    let stop: @Sendable () -> Void = {
      if let error = refusal() {
        // The room has ended by itself, but what is left to write may be much: that is not waited for.
        if board.isOver { recording.sequencer.put(.room(.ended(.stopped))) }
        return board.tell(error)
      }
      stoppedAt.withLock { $0 = $0 ?? .now }
      // The end goes into the stream first, so that nothing of the leaving is recorded.
      if recording.progress.phase != .waiting { recording.sequencer.put(.room(.ended(.stopped))) }
      receiver.leave()
    }
    let control = JobControl(
      recording: recording, room: plan.room, output: settings.output, commands: plan.commands, stop: stop,
      refusal: refusal)
    onStart?(
      RunningJob(
        recording: recording, board: board, control: control, stop: stop, roomMayHaveBegun: receiver.roomMayHaveBegun))
    let server = try plan.commands.address?.open(logger: logger) { control.answer($0, job: $1) }
    relay.server = server
    defer { server?.close() }
    let signals = Task {
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        let first = stoppedAt.withLock { $0 }
        if let first {
          // Wrappers such as timeout(1) send one signal twice; a person needs longer.
          guard ContinuousClock.now - first < .milliseconds(500) else {
            Console.error("\nrecbot: stopped by a second signal; what was recorded so far is kept and plays")
            exit(ExitCode.forced.rawValue)
          }
        }
        stop()
      }
    }
    defer { signals.cancel() }
    let (room, isChatOnly, others) = (plan.room, settings.isChatOnly, plan.occupiedRooms)
    let emptiness = Mutex(EmptyRoomWatch())
    let reporting = Task {
      var reporter = ProgressReporter(mode: mode, room: room, isChatOnly: isChatOnly)
      while !Task.isCancelled {
        for event in news.drain() { reporter.tell(event: event) }
        let progress = recording.progress
        reporter.report(progress, board)
        if emptiness.withLock({ $0.isNews(progress) }) {
          reporter.tellEmpty(progress, await others?.names(but: room) ?? [], logger)
        }
        try? await Task.sleep(for: reporter.interval)
      }
      return reporter
    }
    defer { reporting.cancel() }
    do {
      try recording.start(control: receiver.control)
    } catch {
      await receiver.close(within: .zero)
      throw Failure(error)
    }
    let relays = plan.relays.sorted { $0.key < $1.key }.map { dial($0.key, to: $0.value, of: recording) }
    do {
      try await receiver.join()
    } catch {
      recording.cancel()
      await finish(relays)
      reporting.cancel()
      var reporter = await reporting.value
      reporter.report(recording.progress, board)
      if stoppedAt.withLock({ $0 != nil }) {
        throw Failure(.forced, "stopped before the recording began; no file was written")
      }
      throw Failure(error)
    }
    let result: Swift.Result<RecordingSummary, RecordingError>
    do {
      result = .success(try await recording.wait())
    } catch {
      result = .failure(error)
    }
    let troubles = zip(plan.relays.keys.sorted(), relays).compactMap { number, relay in
      relay.trouble.map { "\(RoomText.oneLine(settings.sinks[number].text, limit: 120)): \($0)" }
    }
    await finish(relays)
    reporting.cancel()
    var reporter = await reporting.value
    let wasLost = board.latest.state.isAway
    // The server learns that the bot left, instead of waiting for it.
    await receiver.close(within: .seconds(2))
    // Before the last word, so that it has all that was answered.
    server?.close()
    switch result {
    case .success(let summary):
      for event in news.drain() { reporter.tell(event: event) }
      if emptiness.withLock({ $0.isNews(atEnd: summary.end) }) {
        reporter.tellEmpty(summary.progress, await others?.names(but: room) ?? [], logger)
      }
      reporter.finish(summary, board)
      return Result(
        summary: summary, error: error(of: summary, board.error, wasLost: wasLost),
        sinkFaults: plan.sinkFaults + troubles + summary.progress.sinks.compactMap(ProgressReporter.fault))
    case .failure(let error): throw Failure(error)
    }
  }

  /// Gives what a sink has on over a WebSocket.
  private func dial(_ number: Int, to address: WebSocketAddress, of recording: RoomRecording) -> SinkRelay {
    let (logger, sink) = (logger, plan.recording.sinks[number])
    return SinkRelay(
      to: address, form: .init(bytesPerCount: sink.bytesPerCount, hasHeads: sink.isTimed),
      authorities: plan.connection.tlsCAFile, give: { recording.give(sink: number, to: $0) },
      tell: { news in
        switch news {
        case .connected: logger.notice("a sink's WebSocket is connected", metadata: ["sink": "\(sink.text)"])
        case .lost(let reason):
          logger.warning(
            "a sink's WebSocket is not connected, and is dialled again; the recording goes on",
            metadata: ["sink": "\(sink.text)", "reason": "\(reason)"])
        }
      })
  }

  /// Lets what is on its way arrive, for a moment, all at the same time.
  private func finish(_ relays: [SinkRelay]) async {
    await withDiscardingTaskGroup { group in
      for relay in relays { group.addTask { await relay.finish(within: .milliseconds(500)) } }
    }
  }

  /// What keeps a finished recording from being complete.
  private func error(of summary: RecordingSummary, _ error: RoomError?, wasLost: Bool) -> RoomError? {
    switch summary.end {
    case .stopped, .roomEnded, .empty: nil
    case .maxDuration: wasLost ? RoomError(.connectionLost, "until the longest duration was reached") : nil
    case .evicted: error ?? RoomError(.evicted)
    case .removed: error ?? RoomError(.removed)
    case .connectionLost(let why): error ?? RoomError(.connectionLost, why)
    }
  }
}

/// A recording that runs, as others see it. May be used on any thread.
struct RunningJob: Sendable {
  /// The recording.
  let recording: RoomRecording
  /// How the connection stands.
  let board: StatusBoard
  /// Takes commands.
  let control: JobControl
  /// Ends the recording; once is enough.
  let stop: @Sendable () -> Void
  /// The room may have begun: when it is waited for, it is tried at once.
  let roomMayHaveBegun: @Sendable () -> Void
}
