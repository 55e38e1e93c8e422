import Glibc
import LayoutFiles
import Layouts
import MediaCore
import Session

@testable import SessionLog

/// Session logs: the bytes as a file, as they are; and cut into the bodies of records whose checksums are right (two bytes of
/// length before each), so that what is in records is reached. What is read goes through everything that composing does
/// before it decodes.
public func fuzzLog(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first else { return }
  var file: [UInt8] = []
  if first & 1 == 0 {
    file = Array(bytes.dropFirst())
  } else {
    let beginning = LogBeginning(
      settings: SessionCore.Settings(canvas: CanvasSize(width: 64, height: 64), layout: .grid, framesPerSecond: 5),
      program: "fuzz")
    RecordFraming.append((try? WireRecord(beginning, file: 1).serializedBytes()) ?? [], to: &file)
    var rest = bytes.dropFirst()
    while rest.count > 2 {
      let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
      let body = rest.dropFirst(2).prefix(length)
      RecordFraming.append(Array(body), to: &file)
      rest = rest.dropFirst(2 + body.count)
    }
  }
  read(file)
}

/// Keeps one folder for all inputs.
private let folder: String = {
  let path = "/dev/shm/recbot-fuzz-log-\(getpid())"
  mkdir(path, 0o700)
  return path
}()

private func read(_ file: [UInt8]) {
  let path = "\(folder)/000001.rlog"
  let descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
  _ = file.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  close(descriptor)
  do throws(LogError) {
    let reader = try SessionLogReader(path: folder) { name, text throws(LogError) in
      do throws(LayoutError) {
        return try LayoutReader.read(text, file: "log", name: name)
      } catch {
        throw LogError(.notALog, error.description)
      }
    }
    var core = SessionCore(settings: reader.beginning.settings)
    var exclusion = Exclusion([ParticipantIdentity("ann")])
    var redaction = Redaction()
    var contents = LogContents()
    var before = SessionTime.zero
    var entries = 0
    while let entry = try reader.next() {
      entries += 1
      if entries <= 20 { precondition(!entry.json.contains("\n"), "an entry has several lines") }
      contents.take(entry)
      guard case .event(let event) = entry else { continue }
      precondition(event.arrived >= before, "time goes backwards")
      before = event.arrived
      // Each instant of a session is planned, and an input is to take milliseconds.
      guard event.arrived.milliseconds < 1500, reader.beginning.settings.framesPerSecond <= 10 else { break }
      guard let left = exclusion.admit(event), redaction.admits(left) else { continue }
      core.handle(left)
      core.advance(to: left.arrived)
      while core.pollOutput() != nil {}
    }
    core.advance(to: before + .seconds(1))
    while core.pollOutput() != nil {}
  } catch {
    precondition(!error.description.contains("\n"), "an error has several lines")
  }
}
