import Backend
import Testing

@Suite struct BackendErrorTests {
  @Test func itIsItsOwnDescription() {
    #expect("\(BackendError("no room: give one"))" == "no room: give one")
  }
}
