import Backend
import Testing

@Suite struct BackendStartErrorTests {
  @Test func itIsItsOwnDescription() {
    #expect("\(BackendStartError("no room: give one"))" == "no room: give one")
  }
}
