import Foundation
import MediaCore
import Session
import Settings
import Testing

@testable import recbot

/// What is done to whose pictures and sound, as `--processor` and `recording.processors` say it.
@Suite struct ProcessorTextTests {
  @Test(arguments: [
    ("ann=pixelate", "ann=pixelate"), ("Ann Lee = voice-mask , blur", "Ann Lee=blur,voice-mask"),
    ("attribute:consent=no=mask,silence", "attribute:consent=no=mask,silence"), ("*=grayscale", "*=grayscale"),
    ("a=b=none", "a=b=none"), ("a; ;*=mask", "a|*=mask"), (" bob=blur ;*=none; ", "bob=blur|*=none"),
  ])
  func rulesAreRead(_ text: String, _ rules: String) throws {
    guard text != "a; ;*=mask" else {
      #expect(throws: ValueError.self) { try ProcessorText.rules(text) }
      return
    }
    #expect(try ProcessorText.rules(text).map(\.description).joined(separator: "|") == rules)
  }

  @Test(arguments: [
    ("ann", "'ann' is not PERSON=PROCESSOR, such as 'Ann Lee=pixelate,voice-mask'"),
    (
      "ann=",
      "there is no processor ''; known: pixelate, blur, grayscale, mask, voice-mask, silence, loudness, denoise, none"
    ),
    ("ann=pixelat", "there is no processor 'pixelat'; did you mean 'pixelate'?"),
    ("=blur", "'' means nobody: an identity, a name, attribute:KEY=VALUE or *"),
    ("attribute:x=blur", "'attribute:x' means nobody: an identity, a name, attribute:KEY=VALUE or *"),
    ("ann=blur,mask", "'blur' and 'mask' cannot be together: one for pictures, one for sound"),
    (
      "ann=blur,none",
      "a processor is missing, or 'none' stands beside another: known are pixelate, blur, grayscale, mask, voice-mask, silence, loudness, denoise, none"
    ),
  ])
  func mistakesAreToldInALine(_ text: String, _ said: String) {
    let error = #expect(throws: ValueError.self) { try ProcessorText.rules(text) }
    #expect(error?.description == said)
  }

  @Test func thereAreNotTooMany() {
    let text = (0...ProcessorRule.most).map { "p\($0)=blur" }.joined(separator: ";")
    #expect(throws: ValueError.self) { try ProcessorText.rules(text) }
  }

  @Test func flagsComeAfterEachOtherAndInThePlaceOfTheSetting() throws {
    func rules(_ flags: [String], _ environment: [String: String] = [:]) throws -> [String] {
      let command = try JoinCommand.parse(
        ["room", "--token", "x", "--url", "ws://host", "--output", "/tmp/recbot-processors-\(UUID()).webm"] + flags)
      let configuration = Configuration.inspect(path: "/dev/null", environment: environment).configuration
      return try command.plan(configuration).recording.session.processors.map(\.description)
    }
    #expect(try rules([]) == [])
    #expect(
      try rules(["--processor", "*=blur", "--processor", "attribute:consent=yes=none"])
        == ["*=blur", "attribute:consent=yes=none"])
    let environment = ["RECBOT_PROCESSORS": "bob=mask; ann=silence"]
    #expect(try rules([], environment) == ["bob=mask", "ann=silence"])
    #expect(try rules(["--processor", "cleo=mask"], environment) == ["cleo=mask"])
  }
}
