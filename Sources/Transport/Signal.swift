import Glibc

// Sendable: a POSIX semaphore may be used from any thread.
/// One thread tells another that something is done.
final class Signal: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    semaphore = .allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
  }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  func wait() {
    while sem_wait(semaphore) != 0, errno == EINTR {}
  }
}

// Sendable: the result is written before the signal is given and read after it has come.
/// The result of work that another thread does.
final class Outcome<T: Sendable, E: Error>: @unchecked Sendable {
  private let done = Signal()
  private var result: Result<T, E>?

  func finish(_ result: Result<T, E>) {
    self.result = result
    done.signal()
  }

  func wait() -> Result<T, E>? {
    done.wait()
    return result
  }
}
