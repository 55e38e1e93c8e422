import MediaCore
import Testing

@testable import Delivery

@Suite struct UploadPlanTests {
  @Test func partsCoverTheFileExactly() {
    var random = SeededRandom(seed: 3)
    for _ in 0..<300 {
      let size = Int64(random.next() % (1 << UInt64(20 + random.next() % 22)))
      let plan = UploadPlan(size: size, wished: Int64(random.next() % (64 << 20)))
      #expect(plan.partSize >= UploadPlan.smallestPart && plan.partSize <= UploadPlan.largestPart, "seed 3")
      #expect(plan.count <= 10_000, "seed 3, size \(size)")
      #expect(plan.range(1).lowerBound == 0 && plan.range(plan.count).upperBound == size, "seed 3, size \(size)")
      for number in [1, plan.count / 2, plan.count - 1] where number >= 1 && number < plan.count {
        #expect(plan.range(number).upperBound == plan.range(number + 1).lowerBound)
        #expect(plan.range(number).count == Int(plan.partSize))
      }
    }
  }

  @Test func smallFilesAreOneRequest() {
    #expect(UploadPlan(size: 0, wished: 8 << 20).isSingle)
    #expect(UploadPlan(size: 0, wished: 8 << 20).count == 1)
    #expect(UploadPlan(size: 8 << 20, wished: 8 << 20).isSingle)
    #expect(UploadPlan(size: 8 << 20 + 1, wished: 8 << 20).count >= 1)
    #expect(UploadPlan(size: (8 << 20) + 1, wished: 8 << 20).count == 2)
  }

  @Test func longFilesHaveLargerParts() {
    let plan = UploadPlan(size: 200 << 30, wished: 8 << 20)
    #expect(plan.partSize == 21 << 20)
    #expect(plan.count <= 10_000)
  }
}
