import Delivery
import Testing

@Suite struct HiddenCredentialsTests {
  @Test func credentialsAreNotShown() {
    let credentials = S3Credentials(
      accessKeyID: "AKID", secretAccessKey: "planted-value-1", sessionToken: "planted-value-2")
    let target = S3Target(bucket: "b", credentials: .fixed(credentials))
    for value in [credentials, S3Credentials.Source.fixed(credentials), target, DeliveryTarget.s3(target)] as [Any] {
      var dumped = ""
      dump(value, to: &dumped)
      for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("planted"), "\(text)") }
    }
    #expect(credentials.secretAccessKey == "planted-value-1" && credentials.sessionToken == "planted-value-2")
  }
}
