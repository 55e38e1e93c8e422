import Platform
import Testing

@Suite struct ProcessorsTests {
  @Test func allowedProcessorsAreCounted() {
    func status(_ list: String) -> String { "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t\(list)\nMems:\t0\n" }
    #expect(Processors.allowed(status("0-3")) == 4)
    #expect(Processors.allowed(status("0,2,8-11")) == 6)
    #expect(Processors.allowed(status("7")) == 1)
    for bad in ["", "3-1", "a-b", "-1", "0-99999999999999999999"] {
      #expect(Processors.allowed(status(bad)) == nil, "\(bad)")
    }
    #expect(Processors.allowed("Name:\tx\n") == nil)
  }

  @Test func thereIsAtLeastOne() { #expect(Processors.count >= 1) }
}
