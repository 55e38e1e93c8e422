import MediaCore
import SwiftProtobuf
import Testing

@testable import Signaling

@Suite struct MessageTests {
  @Test func fieldNumbersAreTheProtocols() throws {
    // `ping_req` is field 16 of SignalRequest: tag 0x82 0x01; `timestamp` is field 1, `rtt` field 2.
    let ping = Livekit_SignalRequest.with { $0.pingReq = .with { ($0.timestamp, $0.rtt) = (1, 2) } }
    #expect(try ping.serializedBytes() as [UInt8] == [0x82, 0x01, 0x04, 0x08, 0x01, 0x10, 0x02])
    // `refresh_token` is field 16 of SignalResponse.
    let response = try Livekit_SignalResponse(serializedBytes: [0x82, 0x01, 0x01, 0x41] as [UInt8])
    #expect(response.refreshToken == "A")
  }

  @Test func unknownMessagesAndFieldsAreKeptAndIgnored() throws {
    // Field 200 of SignalResponse, a text.
    let response = try Livekit_SignalResponse(serializedBytes: [0xc2, 0x0c, 0x01, 0x41] as [UInt8])
    #expect(response.message == nil)
  }

  @Test func jsonTextHasTheNamesOfTheWire() throws {
    let request = Livekit_SignalRequest.with {
      $0.trickle = .with {
        $0.candidateInit = "{}"
        $0.target = .subscriber
      }
    }
    #expect(
      try request.jsonString() == #"{"trickle":{"candidateInit":"{}","target":"SUBSCRIBER"}}"#)
  }

  @Test func candidatesAreWrittenCompletely() {
    let candidate = TrickleCandidate(candidate: "candidate:1 1 udp 1 127.0.0.1 9 typ host")
    #expect(
      candidate.json
        == #"{"candidate":"candidate:1 1 udp 1 127.0.0.1 9 typ host","sdpMLineIndex":0,"sdpMid":"0"}"#
    )
    #expect(TrickleCandidate(json: candidate.json) == candidate)
  }

  @Test func candidatesAreReadTolerantly() {
    let text =
      #"{"candidate":"candidate:x","sdpMid":"","sdpMLineIndex":0,"usernameFragment":null,"more":[1]}"#
    #expect(TrickleCandidate(json: text)?.candidate == "candidate:x")
    #expect(
      TrickleCandidate(json: #"{"candidate":"c","sdpMid":null,"sdpMLineIndex":null}"#)?.sdpMid == ""
    )
    for bad in [
      "", "null", "[]", "{}", #"{"candidate":1}"#, #"{"candidate":"c","sdpMLineIndex":"0"}"#, "{",
    ] {
      #expect(TrickleCandidate(json: bad) == nil)
    }
  }

  @Test func base64URLKnowsTheVectorsOfRFC4648() {
    for (plain, text) in [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ] {
      #expect(Base64URL.encode(Array(plain.utf8), padding: true) == Array(text.utf8))
      #expect(Base64URL.decode(text.utf8) == Array(plain.utf8))
    }
    #expect(Base64URL.decode("Z".utf8) == nil)
    #expect(Base64URL.decode("Zg==Zg".utf8) == nil)
    #expect(Base64URL.decode("Z g".utf8) == nil)
  }
}
