import Foundation
import RecbotKit
import Synchronization

/// Writes a WAV for each person's sound, and has a program write down what they say.
func scribe(_ room: Room, into folder: String, command: String?) async throws {
  let folder = URL(filePath: folder)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  await withDiscardingTaskGroup { group in
    for await event in room.events {
      guard case .trackPublished(.audio(let track)) = event else { continue }
      group.addTask {
        do {
          try await scribe(track, of: room, into: folder, command: command)
        } catch {
          say("\(track.participant): \(error)")
        }
      }
    }
  }
}

private func scribe(_ track: RemoteAudioTrack, of room: Room, into folder: URL, command: String?) async throws {
  let name = room.remoteParticipant(track.participant)?.name ?? "\(track.participant)"
  // A name of a stranger is no path.
  let plain = "\(track.participant)-\(track.id)".map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "-" }
  let file = folder.appending(path: "\(String(plain.prefix(80))).wav")
  let wav = try WAV(file)
  let writer = try command.map { command in
    try Program(command) { line in
      Task { try? await room.localParticipant.send(chat: "\(name): \(line)") }
    }
  }
  var written = 0
  let start = ContinuousClock.now
  for await block in track.blocks() {
    // 16 kHz, mono: of each three instants of 48 kHz the mean.
    let step = 3 * block.channels
    let samples = stride(from: 0, to: block.samples.count - step + 1, by: step).map { start in
      Int16(max(-1, min(1, block.samples[start..<(start + step)].reduce(0, +) / Float(step))) * 32_767)
    }
    // What was silent and not sent is silence in the file, too: never more than time has passed, whatever a stranger's clock says.
    let passed = Int((ContinuousClock.now - start) / .milliseconds(1)) * 16 + 16_000
    let due = min(passed, block.time.map { Int($0 / .milliseconds(1)) * 16 } ?? written) - written
    let pause = [Int16](repeating: 0, count: due > 320 ? due : 0)
    let bytes = (pause + samples).withUnsafeBytes { Data($0) }
    written += pause.count + samples.count
    try wav.append(bytes)
    writer?.write(bytes)
  }
  writer?.end()
  try wav.end()
  say("wrote \(file.lastPathComponent): \(written / 16) ms of \(name)")
}

/// A file of 16 kHz, mono, 16 bits.
private final class WAV {
  private let file: FileHandle
  private var count: UInt32 = 0

  init(_ url: URL) throws {
    try Self.head(0).write(to: url)
    file = try FileHandle(forWritingTo: url)
    try file.seekToEnd()
  }

  func append(_ data: Data) throws {
    // A WAV has 4 GiB at most: 37 hours.
    guard data.count < UInt32.max - 36 - count else { return }
    try file.write(contentsOf: data)
    count += UInt32(data.count)
  }

  func end() throws {
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Self.head(count))
    try file.close()
  }

  private static func head(_ count: UInt32) -> Data {
    func bytes(_ value: some FixedWidthInteger) -> Data { withUnsafeBytes(of: value.littleEndian) { Data($0) } }
    let format =
      bytes(UInt16(1)) + bytes(UInt16(1)) + bytes(UInt32(16_000)) + bytes(UInt32(32_000)) + bytes(UInt32(0x10_0002))
    return Data("RIFF".utf8) + bytes(count + 36) + Data("WAVEfmt ".utf8) + bytes(UInt32(16)) + format
      + Data("data".utf8) + bytes(count)
  }
}

/// A program that reads sound and prints lines.
private final class Program: Sendable {
  private let input = Pipe()
  private let queue = DispatchQueue(label: "program")

  init(_ command: String, _ line: @escaping @Sendable (String) -> Void) throws {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    Thread.detachNewThread {
      var rest = ""
      while let data = try? output.fileHandleForReading.read(upToCount: 4096), !data.isEmpty {
        rest += String(decoding: data, as: UTF8.self)
        let lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
        for text in lines.dropLast() where !text.isEmpty { line(String(text)) }
        rest = String(lines.last ?? "")
      }
    }
  }

  /// In its own time: a program that reads slowly holds nobody up.
  func write(_ data: Data) { queue.async { [input] in try? input.fileHandleForWriting.write(contentsOf: data) } }

  func end() { queue.async { [input] in try? input.fileHandleForWriting.close() } }
}
