import HTTPGuard
import MediaCore
import TestKit
import Testing

/// A reference to an admission, since expectations can't call mutating methods.
private final class Admission {
  private var value: ConnectionAdmission<Int>
  var waitingCount: Int { value.waitingCount }
  var enteredCount: Int { value.enteredCount }
  var refusedCount: UInt64 { value.refusedCount }
  init(_ limits: AdmissionLimits) { value = ConnectionAdmission(limits) }
  func arrive(_ id: Int, from address: ClientAddress, now: Instant) -> ConnectionAdmission<Int>.Decision {
    value.arrive(id, from: address, now: now)
  }
  func enter(_ id: Int) -> Bool { value.enter(id) }
  func leave(_ id: Int, now: Instant) -> Int? { value.leave(id, now: now) }
  func gone(_ id: Int) { value.gone(id) }
}

/// Whose connections are held, in manual time.
@Suite struct AdmissionTests {
  private static let attacker = ClientAddress.v4(0x7f00_0001)
  private static let guest = ClientAddress.v4(0x7f00_0002)

  private static func limits(perAddress: Int = 64, waiting: Int = 1024, entered: Int = 1024) -> AdmissionLimits {
    var limits = AdmissionLimits()
    (limits.perAddress, limits.waiting, limits.entered) = (perAddress, waiting, entered)
    return limits
  }

  @Test func halfOpenConnectionsOfOneAddressTakeNobodyElsesPlace() {
    let admission = Admission(Self.limits())
    for id in 0..<5000 { _ = admission.arrive(id, from: Self.attacker, now: .nanoseconds(Int64(id) * 1000)) }
    #expect(admission.waitingCount == 64)
    #expect(admission.refusedCount == 5000 - 64)
    #expect(admission.arrive(9000, from: Self.guest, now: .seconds(1)) == .admitted)
    #expect(admission.enter(9000))
    // Nothing that the others do afterwards takes it away.
    for id in 10_000..<20_000 {
      _ = admission.arrive(id, from: Self.attacker, now: .seconds(2) + .nanoseconds(id * 1000))
    }
    #expect(admission.enteredCount == 1 && admission.waitingCount == 64)
    #expect(admission.enter(9000))
  }

  @Test func anAddressThatHoldsAllItsPlacesLosesTheOldestWhenThatHadItsTime() {
    let admission = Admission(Self.limits(perAddress: 2))
    #expect(admission.arrive(1, from: Self.guest, now: .zero) == .admitted)
    #expect(admission.arrive(2, from: Self.guest, now: .nanoseconds(10)) == .admitted)
    #expect(admission.arrive(3, from: Self.guest, now: .nanoseconds(249_999_999)) == .refused)
    #expect(admission.arrive(4, from: Self.guest, now: .milliseconds(250)) == .admittedInPlaceOf(1))
    #expect(!admission.enter(1) && admission.enter(2))
    // Who has entered needs no place among those that wait.
    #expect(admission.arrive(5, from: Self.guest, now: .nanoseconds(250_000_001)) == .admitted)
  }

  @Test func manyAddressesDoNotLockOutOneMore() {
    let admission = Admission(Self.limits(perAddress: 8, waiting: 80))
    var id = 0
    for address in 0..<10 {
      for _ in 0..<8 {
        #expect(admission.arrive(id, from: .v4(UInt32(address)), now: .nanoseconds(Int64(id))) == .admitted)
        id += 1
      }
    }
    // At once, without waiting: the oldest of those that have the most gives way.
    #expect(admission.arrive(1000, from: Self.guest, now: .nanoseconds(100)) == .admittedInPlaceOf(0))
    #expect(admission.arrive(1001, from: Self.guest, now: .nanoseconds(100)) == .admittedInPlaceOf(8))
    #expect(admission.waitingCount == 80)
  }

  @Test func asManyAddressesAsPlacesGiveWayInTheirOrder() {
    let admission = Admission(Self.limits(perAddress: 8, waiting: 100))
    for id in 0..<100 {
      #expect(admission.arrive(id, from: .v6(UInt64(id)), now: .nanoseconds(Int64(id))) == .admitted)
    }
    #expect(admission.arrive(500, from: Self.guest, now: .nanoseconds(1000)) == .refused)
    #expect(admission.arrive(501, from: Self.guest, now: .seconds(1)) == .admittedInPlaceOf(0))
  }

  @Test func onlySoManyEnterAndWhoLeavesWaitsAgain() {
    let admission = Admission(Self.limits(perAddress: 2, entered: 2))
    for id in 1...2 { _ = admission.arrive(id, from: Self.guest, now: .zero) }
    #expect(admission.enter(1) && admission.enter(2))
    #expect(admission.arrive(3, from: Self.guest, now: .nanoseconds(1)) == .admitted)
    #expect(!admission.enter(3))
    #expect(admission.leave(1, now: .nanoseconds(2)) == nil)
    #expect(admission.enter(3) && !admission.enter(1))
    #expect(admission.arrive(4, from: Self.guest, now: .nanoseconds(3)) == .admitted)
    // One more than the address may have: its oldest goes, however young it is.
    #expect(admission.leave(3, now: .nanoseconds(4)) == 1)
    #expect((admission.waitingCount, admission.enteredCount) == (2, 1))
    // Neither is there.
    #expect(admission.leave(77, now: .nanoseconds(5)) == nil && !admission.enter(77))
    admission.gone(77)
  }

  @Test func addressesAreCountedByWhoCanHaveThem() {
    let network: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 7]
    let one = ClientAddress(v6: network + [0, 0, 0, 0, 0, 0, 0, 1])
    #expect(one == ClientAddress(v6: network + [9, 9, 9, 9, 9, 9, 9, 9]))
    #expect(one != ClientAddress(v6: [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 8] + [UInt8](repeating: 0, count: 8)))
    #expect(ClientAddress(v6: [UInt8](repeating: 0, count: 10) + [255, 255, 127, 0, 0, 1]) == Self.attacker)
    #expect(ClientAddress(v6: [1, 2, 3]) == .unknown)
  }

  @Test func aSmallProcessKeepsHalfOfItsDescriptorsFree() {
    let limits = AdmissionLimits().fitting(descriptors: 256)
    #expect((limits.waiting, limits.entered, limits.perAddress) == (64, 64, 64))
    #expect(AdmissionLimits().fitting(descriptors: 65_536) == AdmissionLimits())
    #expect(AdmissionLimits().fitting(descriptors: 0).waiting == 1)
  }

  /// Thousands of random events; the counts and limits hold after each, and nothing is held that was closed.
  @Test(arguments: 0..<20) func countsHoldWhateverHappens(seed: UInt64) {
    var state = seed &* 0x9e37_79b9_7f4a_7c15 &+ 1
    func random(_ limit: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(limit))
    }
    let admission = Admission(Self.limits(perAddress: 4, waiting: 20, entered: 10))
    var open: [Int: (address: Int, hasEntered: Bool)] = [:]
    var now = Instant.zero
    for step in 0..<5000 {
      now += .nanoseconds(random(100_000_000))
      let id = random(60)
      switch random(4) {
      case 0, 1:
        guard open[step + 100] == nil else { continue }
        let address = random(9)
        switch admission.arrive(step + 100, from: .v4(UInt32(address)), now: now) {
        case .refused: break
        case .admitted: open[step + 100] = (address, false)
        case .admittedInPlaceOf(let other):
          #expect(open[other]?.hasEntered == false, "seed \(seed), step \(step)")
          open[other] = nil
          open[step + 100] = (address, false)
        }
      case 2:
        guard let key = open.keys.sorted().dropFirst(id % max(1, open.count)).first else { continue }
        let full = open.values.filter(\.hasEntered).count == 10
        let entered = admission.enter(key)
        #expect(entered == (open[key]?.hasEntered == true || !full), "seed \(seed), step \(step)")
        if entered { open[key]?.hasEntered = true }
      default:
        guard let key = open.keys.sorted().dropFirst(id % max(1, open.count)).first else { continue }
        if random(2) == 0 {
          admission.gone(key)
          open[key] = nil
        } else if let evicted = admission.leave(key, now: now) {
          open[key]?.hasEntered = false
          open[evicted] = nil
        } else {
          open[key]?.hasEntered = false
        }
      }
      let waiting = open.values.filter { !$0.hasEntered }
      #expect(admission.waitingCount == waiting.count, "seed \(seed), step \(step)")
      #expect(admission.enteredCount == open.count - waiting.count, "seed \(seed), step \(step)")
      #expect(waiting.count <= 20 && admission.enteredCount <= 10, "seed \(seed), step \(step)")
      for address in 0..<9 {
        #expect(waiting.count { $0.address == address } <= 4, "seed \(seed), step \(step)")
      }
    }
  }
}
