import Glibc
import WebM

/// Repairs a file of arbitrary bytes: nothing in them may trap, hang or claim memory; what has been repaired needs
/// nothing more, and what has been refused was not touched.
public func fuzzRepair(_ bytes: UnsafeRawBufferPointer) {
  let examined = try? WebMRepair.examine(bytes, name: "fuzz")
  let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
  let path = "\(folder)/recbot-fuzz-\(getpid()).webm"
  unlink(path)
  defer { unlink(path) }
  let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { return }
  let written = write(descriptor, bytes.baseAddress, bytes.count)
  close(descriptor)
  guard written == bytes.count else { return }
  // Such a time that the file is old.
  guard let report = try? WebMRepair.repair(path, now: .max) else { return }
  precondition(examined?.parts == report.parts && examined?.holes == report.holes, "memory and file differ")
  precondition(report.needsRepair == (report.repaired != nil), "what needs repair was not repaired")
  guard let again = try? WebMRepair.examine(path) else { preconditionFailure("a repaired file is refused") }
  precondition(!again.needsRepair, "a repaired file needs repair")
  precondition(again.frames == report.frames, "a repaired file has other frames")
}
