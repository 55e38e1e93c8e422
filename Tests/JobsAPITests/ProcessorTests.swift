import Foundation
import JobsAPI
import MediaCore
import Testing

/// Whom a job hides: what is refused, and what becomes of the rest.
@Suite struct ProcessorTests {
  private func problems(_ processors: [String]) -> [String] {
    JobRequest(room: "r", processors: processors).problems(now: Timestamp(seconds: 0))
  }

  @Test func rulesAreTakenAsTheyAreWritten() throws {
    let rules = ["Ann Lee=pixelate,voice-mask", "*=none", "attribute:consent=no=mask", "a=b=blur", "é = silence"]
    #expect(problems(rules).isEmpty)
    let request = JobRequest(room: "r", processors: rules)
    #expect(try JSONDecoder().decode(JobRequest.self, from: JSONEncoder().encode(request)) == request)
    #expect(problems(Array(repeating: "a=blur", count: 256)).isEmpty && JobRequest(room: "r").processors == nil)
  }

  @Test(arguments: [
    ("Ann", "'Ann' is not PERSON=PROCESSOR"), ("Ann=", "there is no processor ''"), ("=blur", "means nobody"),
    ("Ann=pixelat", "there is no processor 'pixelat'; did you mean 'pixelate'?"),
    ("Ann=blur,pixelate", "'blur' and 'pixelate' cannot be together"),
    ("Ann=none,blur", "'none' stands beside another"),
    ("attribute:=blur", "means nobody"), ("A\u{1b}[2J=blur", "no control characters"),
    (String(repeating: "é", count: 256) + "=blur", "at most 512 bytes"),
  ])
  func whatIsNoRuleIsRefused(text: String, says: String) {
    let told = problems(["bob=mask", text])
    #expect(told.count == 1 && told[0].hasPrefix("processors[1]: ") && told[0].contains(says), "\(told)")
    let command = CommandRequest(verb: .processor, argument: text)
    #expect(command.problem?.hasPrefix("argument: ") == true && command.problem?.contains(says) == true)
  }

  @Test func moreThanARecordingTakesAreRefused() {
    #expect(problems(Array(repeating: "a=blur", count: 257)) == ["processors: at most 256"])
  }
}
