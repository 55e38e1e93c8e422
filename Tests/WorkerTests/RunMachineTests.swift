import Delivery
import Jobs
import JobsAPI
import Testing

@testable import Worker

/// The transitions of a run's machine, as a table: what happens, and what is done then.
@Suite struct RunMachineTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let name: String
    var job = RunMachineTests.job()
    var settings = RunMachineTests.settings
    /// What happens, and what the machine does each time.
    let steps: [(step: RunScript.Step, actions: [String])]
    var testDescription: String { name }
  }

  static let settings = RunSettings(worker: "w1", parts: "/p", logs: "/l", heartbeatTime: 4)

  static func job(_ request: JobRequest = JobRequest(room: "r"), change: (inout Job) -> Void = { _ in }) -> Job {
    let rules = JobMachine()
    var job = rules.submit(id: "job", owner: "o", request: request, origin: nil, now: RunScript.epoch)
    (job.attempt, job.fence, job.state) = (1, 1, .waiting)
    change(&job)
    return job
  }

  @Test(arguments: claims + processes + ends + losses + finishes + lastWords)
  func whatHappensHasTheseConsequences(row: Row) {
    var script = RunScript(row.job, row.settings)
    for (number, (step, actions)) in row.steps.enumerated() {
      let done = script.play(step)
      #expect(done == actions, "step \(number + 1): \(step)")
    }
  }

  // MARK: Beginnings of rows

  private typealias Steps = [(step: RunScript.Step, actions: [String])]

  private static let claimed: Steps = [
    (.event(.begun), ["journal taken"]),
    (.journaled(.taken), ["start 1-0", "heartbeat held"]),
  ]
  private static let withPart: Steps = claimed + [(.picture, ["journal part", "follow 1-0"])]
  /// A whole part, of which the backend has not heard.
  private static let recorded: Steps =
    withPart + [
      (.said("stopped", nil, mayRetry: false), []),
      (.exited, ["journal recorded"]),
    ]
  private static let delivering: Steps =
    recorded + [
      (.journaled(.recorded), ["heartbeat"]),
      (.answered, ["gather"]),
      (.finish(.gathered([.here])), ["heartbeat"]),
      (.answered, ["deliver 1-0"]),
    ]
  private static let file = JobFile(location: "/r/a.webm", size: 1, duration: 2)
  private static let delivered = RunFinish.Event.delivered(file, path: "/r/a.webm", shortfall: nil)
  private static let backedUp = RunFinish.Event.delivered(
    file, path: "/r/a.webm", shortfall: JobError(name: "deliveryFailed", message: "waits"))
  private static let completing: Steps =
    delivering + [
      (.finish(delivered), ["journal completing"]),
      (.journaled(.completing), ["heartbeat"]),
      (.answered, ["complete"]),
    ]
  private static let failing: Steps =
    claimed + [
      (.event(.notPrepared("full")), ["journal failing"]),
      (.journaled(.failing), ["fail dataFolder, may retry"]),
    ]
  private static let away = BackendError.away("down")

  // MARK: The table

  private static let claims = [
    Row(name: "a job is recorded", steps: claimed),
    Row(
      name: "a job that was recorded before is finished", job: job { $0.isRecorded = true },
      steps: [
        (.event(.begun), ["journal taken"]),
        (.journaled(.taken), ["journal recorded", "heartbeat held"]),
      ]),
    Row(
      name: "what can't be delivered here is told before anything is recorded",
      settings: RunSettings(worker: "w1", parts: "/p", logs: "/l", heartbeatTime: 4, obstacle: "no store"),
      steps: [
        (.event(.begun), ["journal taken"]),
        (.journaled(.taken), ["journal failing", "heartbeat held"]),
        (.journaled(.failing), ["fail notDeliverable"]),
        (.told(nil), ["journal closed", "end"]),
      ]),
    Row(
      name: "a stop that waits ends it before a process is started",
      job: job { $0.commands = [JobCommand(sequence: 1, verb: .stop)] },
      steps: [
        (.event(.begun), ["journal taken"]),
        (.journaled(.taken), ["journal recorded", "heartbeat held"]),
      ]),
    Row(
      name: "looks are there from the first picture on, a mark follows",
      job: job {
        $0.commands = [JobCommand(sequence: 1, verb: .layout, argument: "a"), JobCommand(sequence: 2, verb: .marker)]
      },
      steps: [
        (.event(.begun), ["journal taken"]),
        (.journaled(.taken), ["start 1-0 with layout", "tell marker", "heartbeat held"]),
      ]),
    Row(
      name: "nothing is left of the longest duration", job: job(JobRequest(room: "r", maxDuration: 0)),
      steps: [
        (.event(.begun), ["journal taken"]),
        (.journaled(.taken), ["journal recorded", "heartbeat held"]),
      ]),
    Row(
      name: "the deadline passes before anything is recorded",
      job: job(JobRequest(room: "r", deadline: RunScript.epoch)),
      steps: [
        (.event(.begun), ["journal taken"]),
        (.journaled(.taken), ["journal failing", "heartbeat held"]),
        (.journaled(.failing), ["fail deadlinePassed"]),
      ]),
    Row(name: "the folders can't be made", steps: failing),
  ]

  private static let processes = [
    Row(
      name: "news are told after 250 ms",
      steps: withPart + [(.wait(.milliseconds(249)), []), (.wait(.milliseconds(1)), ["heartbeat"])]),
    Row(
      name: "a command is passed on once",
      steps: claimed + [
        (.heldAnswered([JobCommand(sequence: 1, verb: .pause)]), ["tell pause"]),
        (.wait(.seconds(1)), ["heartbeat held"]),
        (.heldAnswered([JobCommand(sequence: 1, verb: .pause)]), []),
      ]),
    Row(
      name: "a command that was not answered is there for the next process",
      steps: claimed + [
        (.heldAnswered([JobCommand(sequence: 1, verb: .pause)]), ["tell pause"]),
        (.crashed, ["probe 1-0", "start 1-1 with pause"]),
      ]),
    Row(
      name: "after a crash the next process follows at once, then after 250 ms",
      steps: claimed + [
        (.crashed, ["probe 1-0", "start 1-1"]), (.crashed, ["probe 1-1"]), (.wait(.milliseconds(249)), []),
        (.wait(.milliseconds(1)), ["start 1-2"]),
      ]),
    Row(
      name: "a stop does not wait for the pause after a crash",
      steps: claimed + [
        (.crashed, ["probe 1-0", "start 1-1"]), (.crashed, ["probe 1-1"]),
        (.heldAnswered([JobCommand(sequence: 1, verb: .stop)]), []),
        (.probed(0, nil), []), (.probed(1, PartFile(duration: 5)), ["journal part", "journal recorded"]),
      ]),
    Row(
      name: "the sixth crash in a row is the last",
      steps: claimed + [
        (.crashed, ["probe 1-0", "start 1-1"]),
        (.crashed, ["probe 1-1"]), (.wait(.milliseconds(250)), ["start 1-2"]),
        (.crashed, ["probe 1-2"]), (.wait(.milliseconds(500)), ["start 1-3"]),
        (.crashed, ["probe 1-3"]), (.heldAnswered([]), []), (.wait(.seconds(1)), ["heartbeat held", "start 1-4"]),
        (.crashed, ["probe 1-4"]), (.heldAnswered([]), []), (.wait(.seconds(1)), ["heartbeat held"]),
        (.wait(.seconds(1)), ["start 1-5"]), (.crashed, ["probe 1-5"]),
        (.probed(0, nil), []), (.probed(1, nil), []), (.probed(2, nil), []), (.probed(3, nil), []),
        (.probed(4, nil), []), (.probed(5, nil), ["journal failing"]),
        (.journaled(.failing), ["fail recorderCrashed, may retry"]),
      ]),
    Row(
      name: "a process that ran for a minute begins the row anew",
      steps: claimed + [
        (.crashed, ["probe 1-0", "start 1-1"]), (.crashed, ["probe 1-1"]), (.wait(.milliseconds(250)), ["start 1-2"]),
        (.wait(.seconds(25)), []), (.picture, ["journal part", "follow 1-2", "heartbeat"]),
        (.wait(.seconds(25)), []), (.picture, []), (.wait(.seconds(11)), []),
        (.crashed, ["probe 1-2", "start 1-3"]),
      ]),
    Row(
      name: "a process that says nothing for 30 s is killed, and again",
      steps: claimed + [
        (.wait(.milliseconds(29_999)), []), (.wait(.milliseconds(1)), ["kill"]), (.wait(.seconds(29)), []),
        (.wait(.seconds(1)), ["kill"]), (.crashed, ["probe 1-0", "start 1-1"]),
      ]),
    Row(
      name: "a part without a picture is deleted",
      steps: claimed + [
        (.said("roomEnded", nil, mayRetry: false), []), (.exited, ["delete 1-0", "journal recorded"]),
      ]),
    Row(
      name: "a file is uploaded while it grows, and only the first",
      settings: RunSettings(worker: "w1", parts: "/p", logs: "/l", heartbeatTime: 4, isUploadedLive: true),
      steps: claimed + [
        (.picture, ["journal part", "upload 1-0", "follow 1-0"]), (.picture, []),
        (.crashed, ["probe 1-0", "start 1-1"]), (.picture, ["journal part", "follow 1-1"]),
      ]),
  ]

  private static let ends = [
    Row(
      name: "an error after which trying again can't help leaves what there is",
      steps: withPart + [
        (.said("roomDeleted", JobError(name: "roomDeleted", message: "m"), mayRetry: false), []),
        (.exited, ["journal recorded roomDeleted"]),
      ]),
    Row(
      name: "an error after which another attempt can help: the backend hears of the part first",
      steps: withPart + [
        (.said("roomFull", JobError(name: "roomFull", message: "m"), mayRetry: true), []), (.exited, ["heartbeat"]),
        (.answered, ["journal failing"]), (.journaled(.failing), ["fail roomFull, may retry"]),
        (.told(nil), ["journal closed", "share 1-0"]), (.event(.shared), ["end"]),
      ]),
    Row(
      name: "handed over",
      steps: withPart + [
        (.event(.handOver), ["tell stop"]), (.said("stopped", nil, mayRetry: false), []), (.exited, ["heartbeat"]),
        (.answered, ["release"]), (.told(nil), ["journal closed", "share 1-0"]), (.event(.shared), ["end"]),
      ]),
    Row(
      name: "handed over when the process breaks off: its file is looked at first",
      steps: withPart + [
        (.event(.handOver), ["tell stop"]), (.crashed, ["probe 1-0"]),
        (.probed(0, PartFile(duration: 5)), ["journal part", "heartbeat"]), (.answered, ["release"]),
      ]),
    Row(
      name: "handed over while the backend is away",
      steps: withPart + [
        (.wait(.milliseconds(250)), ["heartbeat"]), (.unanswered(away), []), (.event(.handOver), ["tell stop"]),
        (.said("stopped", nil, mayRetry: false), []), (.exited, ["release"]), (.told(away), []),
        (.wait(.seconds(1)), ["release", "heartbeat"]), (.wait(.seconds(8)), []),
        (.told(away), []), (.wait(.milliseconds(500)), ["release"]), (.told(away), ["share 1-0"]),
      ]),
    Row(name: "what is being finished is finished first", steps: recorded + [(.event(.handOver), [])]),
    Row(
      name: "a stop goes before a hand-over",
      steps: withPart + [
        (.event(.handOver), ["tell stop"]),
        (.heldAnswered([JobCommand(sequence: 1, verb: .stop)]), ["tell stop"]),
        (.said("stopped", nil, mayRetry: false), []), (.exited, ["journal recorded"]),
      ]),
    Row(
      name: "what is lacking beside the recording is told, also of one that was stopped",
      steps: withPart + [
        (.heldAnswered([JobCommand(sequence: 1, verb: .stop)]), ["tell stop"]), (.lacked("sinkFailed"), []),
        (.exited, ["journal recorded sinkFailed"]),
      ]),
    Row(
      name: "what is lacking beside the recording keeps nobody from going on with it",
      steps: withPart + [
        (.event(.handOver), ["tell stop"]), (.lacked("sinkFailed"), []), (.exited, ["heartbeat"]),
        (.answered, ["release"]),
      ]),
  ]

  private static let losses = [
    Row(
      name: "lost while it records: killed; the new owner gets the parts",
      steps: withPart + [
        (.heldLost, ["kill"]), (.picture, []), (.crashed, ["journal closed", "look up"]),
        (.event(.lookedUp(needsParts: true)), ["share 1-0"]), (.event(.shared), ["end"]),
      ]),
    Row(
      name: "lost, and over",
      steps: withPart + [
        (.heldLost, ["kill"]), (.crashed, ["journal closed", "look up"]),
        (.event(.lookedUp(needsParts: false)), ["end"]),
      ]),
    Row(
      name: "lost while the backend is to confirm",
      steps: recorded + [(.journaled(.recorded), ["heartbeat"]), (.unanswered(fenced), ["journal closed", "look up"])]),
    Row(
      name: "lost while a file is delivered: the delivery is waited for",
      steps: delivering + [(.heldLost, []), (.finish(delivered), ["journal closed", "look up"])]),
    Row(
      name: "lost while the command runs: it is ended", settings: withAfter,
      steps: delivering + [
        (.finish(delivered), ["after"]), (.heldLost, ["end after"]),
        (.finish(.afterEnded("was ended by signal 9")), ["journal closed", "look up"]),
      ]),
    Row(
      name: "lost while it is told that the job is done: that may be why",
      steps: completing + [
        (.heldLost, []), (.told(nil), ["journal closed", "tidy"]), (.event(.tidied), ["end"]),
      ]),
    Row(
      name: "lost while the last word is on its way, and somebody else has the job",
      steps: completing + [(.heldLost, []), (.told(fenced), ["journal closed", "look up"])]),
    Row(
      name: "the same worker gets the job again while it records",
      steps: withPart + [
        (.renewed(2), ["journal closed", "journal taken", "journal part", "tell ticket"]),
        // What was on its way with the older number says nothing.
        (.heldLost, []), (.wait(.seconds(1)), ["heartbeat", "heartbeat held"]),
        (.crashed, ["probe 1-0", "start 2-1"]),
      ]),
    Row(
      name: "the same worker gets the job again while it is told that it is done",
      steps: completing + [
        (
          .renewed(2),
          ["journal closed", "journal taken", "journal part", "journal recorded", "journal completing"]
        ),
        (.told(fenced), []), (.journaled(.completing), ["heartbeat"]), (.answered, ["complete"]),
        (.told(nil), ["journal closed", "tidy"]),
      ]),
    Row(
      name: "the backend is away: it is looked for each second, and the recording goes on",
      steps: claimed + [
        (.heldUnanswered(away), []), (.wait(.milliseconds(999)), []), (.wait(.milliseconds(1)), ["heartbeat"]),
        (.unanswered(away), []), (.wait(.seconds(1)), ["heartbeat"]), (.answered, ["heartbeat held"]),
      ]),
  ]

  private static let fenced = BackendError.refused(status: 409, APIProblem.Body(code: "fenced", message: ""))
  private static let withAfter = RunSettings(
    worker: "w1", parts: "/p", logs: "/l", heartbeatTime: 4, hasAfterCommand: true)
  private static let fetching = RunSettings(
    worker: "w1", parts: "/p", logs: "/l", heartbeatTime: 4, canFetchParts: true)
  private static let other = JobPart(
    attempt: 1, worker: "w0", location: "/q/a.webm", startedAt: RunScript.epoch - .seconds(9), duration: 8_000_000)

  private static let finishes = [
    Row(
      name: "all is well",
      steps: completing + [(.told(nil), ["journal closed", "tidy"]), (.event(.tidied), ["end"])]),
    Row(
      name: "nothing gets its name before the backend has heard",
      steps: recorded + [
        (.journaled(.recorded), ["heartbeat"]), (.unanswered(away), []),
        (.wait(.seconds(1)), ["heartbeat"]),
        (.answered, ["gather"]),
      ]),
    Row(
      name: "nothing was recorded",
      steps: claimed + [
        (.said("roomEnded", nil, mayRetry: false), []), (.exited, ["delete 1-0", "journal recorded"]),
        (.journaled(.recorded), ["heartbeat"]), (.answered, ["journal completing"]),
      ]),
    Row(
      name: "two parts are joined",
      steps: withPart + [
        (.crashed, ["probe 1-0", "start 1-1"]), (.probed(0, PartFile(duration: 5)), ["journal part"]),
        (.picture, ["journal part", "follow 1-1"]), (.said("stopped", nil, mayRetry: false), []),
        (.exited, ["journal recorded"]), (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]),
        (.finish(.gathered([.here, .here])), ["join 1-joined"]), (.finish(.joined("/p/1-joined.webm")), ["heartbeat"]),
        (.answered, ["deliver 1-joined"]),
      ]),
    Row(
      name: "parts that can't be joined are delivered one by one",
      steps: withPart + [
        (.crashed, ["probe 1-0", "start 1-1"]), (.probed(0, PartFile(duration: 5)), ["journal part"]),
        (.picture, ["journal part", "follow 1-1"]), (.said("stopped", nil, mayRetry: false), []),
        (.exited, ["journal recorded"]), (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]),
        (.finish(.gathered([.here, .here])), ["join 1-joined"]),
        (.finish(.notJoined("codecs")), ["heartbeat partsNotJoined"]),
        (.answered, ["deliver 1-0"]), (.finish(delivered), ["deliver 1-1"]),
        (.finish(delivered), ["journal completing"]),
      ]),
    Row(
      name: "a lone part of an earlier lease is inspected",
      job: job {
        $0.isRecorded = true
        $0.parts = [other]
      },
      steps: [
        (.event(.begun), ["journal taken"]), (.journaled(.taken), ["journal recorded", "heartbeat held"]),
        (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]), (.finish(.gathered([.here])), ["inspect a"]),
        (.finish(.inspected(isWhole: true)), ["heartbeat"]), (.answered, ["deliver a"]),
      ]),
    Row(
      name: "parts of another worker are waited for, 20 s at most", job: job { $0.parts = [other] }, settings: fetching,
      steps: recorded + [
        (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]),
        (.finish(.gathered([.missing, .here])), []), (.wait(.seconds(2)), ["gather"]), (.wait(.seconds(18)), []),
        (.finish(.gathered([.missing, .here])), ["heartbeat partsMissing"]), (.answered, ["deliver 1-0"]),
      ]),
    Row(
      name: "parts that are missing are not hidden by a store that is away, nor by a command that fails",
      job: job { $0.parts = [other] }, settings: withAfter,
      steps: recorded + [
        (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]),
        (.finish(.gathered([.missing, .here])), ["heartbeat partsMissing"]), (.answered, ["deliver 1-0"]),
        (.finish(backedUp), ["after"]), (.finish(.afterEnded("ended with code 1")), ["journal completing"]),
        (.journaled(.completing), ["heartbeat partsMissing"]),
      ]),
    Row(
      name: "nor by parts that can't be joined", job: job { $0.parts = [other] },
      steps: withPart + [
        (.crashed, ["probe 1-0", "start 1-1"]), (.probed(0, PartFile(duration: 5)), ["journal part"]),
        (.picture, ["journal part", "follow 1-1"]), (.said("stopped", nil, mayRetry: false), []),
        (.exited, ["journal recorded"]), (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]),
        (.finish(.gathered([.missing, .here, .here])), ["join 1-joined"]),
        (.finish(.notJoined("codecs")), ["heartbeat partsMissing"]),
      ]),
    Row(
      name: "no part is reached: another worker may have them",
      job: job {
        $0.isRecorded = true
        $0.parts = [other]
      },
      steps: [
        (.event(.begun), ["journal taken"]), (.journaled(.taken), ["journal recorded", "heartbeat held"]),
        (.journaled(.recorded), ["heartbeat"]), (.answered, ["gather"]),
        (.finish(.gathered([.missing])), ["journal failing"]),
        (.journaled(.failing), ["fail partsMissing, may retry"]),
      ]),
    Row(
      name: "the store is away",
      steps: delivering + [
        (.finish(.failed(.delivery(DeliveryError(.unreachable, "away")))), ["journal failing"]),
        (.journaled(.failing), ["fail deliveryFailed, may retry"]),
      ]),
    Row(
      name: "what the settings don't allow no other attempt gets round",
      steps: delivering + [
        (.finish(.failed(.settings("no store"))), ["journal failing"]),
        (.journaled(.failing), ["fail notDeliverable"]), (.told(nil), ["journal closed", "end"]),
      ]),
    Row(
      name: "the command fails: the job is done all the same", settings: withAfter,
      steps: delivering + [
        (.finish(delivered), ["after"]), (.finish(.afterEnded("ended with code 1")), ["journal completing"]),
        (.journaled(.completing), ["heartbeat afterFailed"]), (.unanswered(away), ["complete"]),
      ]),
  ]

  private static let lastWords = [
    Row(
      name: "the last word is said until it is heard",
      steps: failing
        + [
          (.told(away), []), (.wait(.milliseconds(250)), ["fail dataFolder, may retry"]), (.told(away), []),
          (.wait(.milliseconds(499)), []), (.wait(.milliseconds(1)), ["fail dataFolder, may retry"]),
          (.told(nil), ["journal closed", "share "]), (.event(.shared), ["end"]),
        ]),
    Row(
      name: "what the backend does not take stays in the journal",
      steps: completing + [
        (.told(.refused(status: 401, APIProblem.Body(code: "unauthorized", message: ""))), ["share 1-0"]),
        (.event(.shared), ["end"]),
      ]),
  ]

  @Test func whatOnlyKeptAnEarlierAttemptFromFinishingIsNoLack() {
    for (name, isLack) in [("roomDeleted", true), ("deliveryFailed", false), ("afterFailed", false)] {
      let job = Self.job {
        ($0.isRecorded, $0.error) = (true, JobError(name: name, message: "m"))
      }
      var script = RunScript(job, Self.settings)
      _ = script.play(.event(.begun))
      _ = script.play(.journaled(.taken))
      #expect(script.heartbeats.last?.report.error?.name == (isLack ? name : nil))
      #expect(script.heartbeats.last?.report.isRecorded == true && script.heartbeats.last?.report.state == .finishing)
    }
  }

  @Test func refusalsAreToldUntilTheyAreHeard() {
    var script = RunScript(Self.job { $0.commands = [JobCommand(sequence: 1, verb: .layout)] }, Self.settings)
    for step in [RunScript.Step.event(.begun), .journaled(.taken)] { _ = script.play(step) }
    var report = RecordingReport(state: .running, confirmed: 1)
    report.refusals = [CommandRefusal(sequence: 1, message: "no such layout")]
    _ = script.play(.event(.reported(report, hasLog: false)))
    for isHeard in [false, true] {
      #expect(script.play(.wait(.seconds(1))) == ["heartbeat"])
      #expect(script.heartbeats.last?.report.refusals == report.refusals)
      #expect(script.heartbeats.last?.report.confirmed == 1)
      _ = script.play(isHeard ? .answered : .unanswered(Self.away))
    }
    _ = script.play(.picture)
    _ = script.play(.wait(.seconds(1)))
    #expect(script.heartbeats.last?.report.refusals == nil)
  }
}
