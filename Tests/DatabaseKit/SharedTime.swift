import Glibc
import Synchronization

/// A time that goes forward only when somebody says so, for several processes at once: eight bytes in a file that each of
/// them has in its memory. It outlives every one of them. Any thread.
package final class SharedTime: Sendable {
  /// Only ever reached through atomic operations; mapped until the end of the process.
  private nonisolated(unsafe) let microseconds: UnsafeMutablePointer<Atomic<Int64>>

  /// Opens the file, or makes one that says `start`; nil when that can't be done.
  package init?(path: String, start: Int64? = nil) {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let size = MemoryLayout<Atomic<Int64>>.stride
    guard ftruncate(file, off_t(size)) == 0,
      let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), memory != MAP_FAILED
    else { return nil }
    microseconds = memory.bindMemory(to: Atomic<Int64>.self, capacity: 1)
    if let start { microseconds.pointee.store(start, ordering: .sequentiallyConsistent) }
  }

  /// Microseconds since 1970.
  package var now: Int64 { microseconds.pointee.load(ordering: .sequentiallyConsistent) }

  /// Moves it forward.
  package func advance(microseconds span: Int64) {
    microseconds.pointee.wrappingAdd(span, ordering: .sequentiallyConsistent)
  }
}
