import MediaCore
import Testing

@testable import WebClient

/// When a WebSocket is dialled again, and what is said of it, in manual time.
@Suite struct RelayMachineTests {
  private typealias Action = RelayMachine.Action

  private var machine = RelayMachine()
  private var now = Instant(nanoseconds: 0)

  private mutating func after(_ time: Duration, _ event: RelayMachine.Event) -> [Action] {
    now = now + time
    return machine.handle(event, at: now)
  }

  @Test mutating func whoIsThereIsReadForAndNothingIsSaid() {
    #expect(RelayMachine.beginning == .dial(after: .zero))
    #expect(after(.milliseconds(5), .opened) == [.carry])
    #expect(after(.seconds(60), .ended) == [.end])
    #expect(after(.seconds(1), .closed("late")) == [] && after(.zero, .opened) == [] && after(.zero, .ended) == [])
    #expect(machine.isOver)
  }

  @Test mutating func whoIsNotThereIsDialledMoreAndMoreSeldomAndToldOfOnce() {
    #expect(after(.zero, .closed("refused")) == [.tell(.lost("refused")), .dial(after: .seconds(1))])
    for delay in [2, 4, 8, 16, 30, 30] {
      #expect(after(.seconds(delay), .closed("refused")) == [.dial(after: .seconds(delay))])
    }
    #expect(after(.seconds(30), .opened) == [.carry, .tell(.connected)])
    // It has not worked for long: no hurry.
    #expect(after(.seconds(9), .closed("gone")) == [.tell(.lost("gone")), .dial(after: .seconds(30))])
    #expect(after(.seconds(30), .opened) == [.carry, .tell(.connected)])
    #expect(after(.seconds(10), .closed("gone")) == [.tell(.lost("gone")), .dial(after: .seconds(1))])
  }
}
