import Foundation
import Glibc
import JobsAPI
import MediaCore
import Platform

/// The pictures that are drawn from a finished recording: a poster, and a storyboard with its WebVTT. Any thread.
struct DrawnFiles: Sendable {
  /// Which of them are wanted.
  let kinds: [JobSideFile.Kind]
  /// How recbot is called.
  let launch: RecordingLaunch

  /// Those of a job.
  init(of job: Job, _ launch: RecordingLaunch) {
    kinds = job.request.sideFiles.filter(\.isDrawn)
    self.launch = launch
  }

  /// Draws beside `recording` what is not there yet. Gives one line for each kind that could not be drawn.
  func draw(beside recording: String) async -> [String] {
    var faults: [String] = []
    if kinds.contains(.poster), let fault = await run("poster", recording, [.poster], .poster) { faults.append(fault) }
    if kinds.contains(.storyboard),
      let fault = await run("storyboard", recording, [.storyboardImage, .storyboard], .storyboard)
    {
      faults.append(fault)
    }
    return faults
  }

  /// Runs a command that makes `kinds`; `output` is the one whose name it takes.
  private func run(
    _ command: String, _ recording: String, _ kinds: [JobSideFile.Kind], _ output: JobSideFile.Kind
  ) async -> String? {
    let paths = kinds.map { $0.path(beside: recording) }
    // Another output of the job, or an attempt before a crash, has drawn them; one of two is what a kill left.
    if paths.allSatisfy({ access($0, R_OK) == 0 }) { return nil }
    for path in paths { unlink(path) }
    let result = await HelperProcess.run(
      launch.executable, [command, recording, "--output", output.path(beside: recording)],
      environment: launch.environment)
    return result.isSuccess ? nil : "\(command): \(result.text)"
  }

  /// Has the storyboard's WebVTT at `path` name the image as it is called where it was delivered.
  static func name(_ image: String, in path: String) async throws(WorkerError) {
    let isWritten = await BlockingWork.run {
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return false }
      let named = Self.text(text, naming: image)
      return named == text || (try? named.write(toFile: path, atomically: true, encoding: .utf8)) != nil
    }
    guard isWritten else { throw WorkerError("\(path) can't be written") }
  }

  /// The text of a storyboard with another image in its cues (`IMAGE#xywh=…`).
  static func text(_ text: String, naming image: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.range(of: "#xywh=").map { PercentCoding.encode(image) + line[$0.lowerBound...] } ?? String(line)
    }
    return lines.joined(separator: "\n")
  }
}
