import Delivery
import Testing

@Suite struct DeliveryErrorTests {
  @Test func itIsItsOwnDescription() {
    #expect("\(DeliveryError(.exists, "talk.webm: there already"))" == "talk.webm: there already")
  }

  @Test func onlyWhatMayGoAwayByItselfIsTriedAgain() {
    #expect(DeliveryError(.unreachable, "").isPassing && DeliveryError(.checksum, "").isPassing)
    #expect(!DeliveryError(.exists, "").isPassing && !DeliveryError(.refusedAddress, "").isPassing)
  }

  @Test func credentialsDoNotShowTheirSecrets() {
    let credentials = S3Credentials(accessKeyID: "AKID", secretAccessKey: "geheim", sessionToken: "auch")
    #expect("\(credentials)" == "S3Credentials(AKID)")
  }
}
