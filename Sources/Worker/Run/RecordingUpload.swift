import Delivery
import JobsAPI
import Logging

/// A recording that is uploaded while it grows. Any thread.
struct RecordingUpload: Sendable {
  private static let interval = Duration.seconds(5)

  private let upload: LiveUpload
  private let task: Task<Void, Never>
  private let delivery: FileDelivery

  /// Begins to upload a file to a job's first place; nil when that is not possible. `time`: when the recording began.
  init?(_ path: String, of job: Job, attempt: Int, time: Timestamp, delivery: FileDelivery, logger: Logger) {
    let output = job.request.outputs.first ?? JobOutput()
    guard let target = try? delivery.target(isStore: output.destination.map { $0 == .s3 }),
      let name = try? delivery.name(
        template: output.template, room: job.request.room, job: job.id, time: time.microseconds, attempt: attempt),
      let upload = delivery.live(path, to: target, name: name)
    else { return nil }
    self.upload = upload
    self.delivery = delivery
    task = Task {
      var isTold = false
      while !Task.isCancelled {
        do throws(DeliveryError) {
          try await upload.advance()
        } catch {
          if !isTold { logger.notice("uploading lags behind", metadata: ["reason": "\(error)"]) }
          isTold = true
        }
        try? await Task.sleep(for: Self.interval)
      }
    }
  }

  /// Completes it; nil when the file must be delivered as a whole instead.
  func finish() async -> Delivered? {
    await stop()
    return await delivery.finish(upload)
  }

  /// Takes it back: it is of no use.
  func cancel() async {
    await stop()
    await upload.cancel()
  }

  private func stop() async {
    task.cancel()
    await task.value
  }
}
