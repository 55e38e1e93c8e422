import MediaCore
import Testing

@testable import Delivery

/// The examples of Amazon's documentation: "Signature Calculations for the Authorization Header: Transferring Payload in
/// a Single Chunk (AWS Signature Version 4)", Amazon S3 API Reference.
@Suite struct S3SignerTests {
  let signer = S3Signer(
    credentials: S3Credentials(
      accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    region: "us-east-1")
  let time = "20130524T000000Z"
  let scope = "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"

  private func sign(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], payload: String = S3Signer.emptyHash
  ) -> String {
    let common = [
      (name: "host", value: "examplebucket.s3.amazonaws.com"), (name: "x-amz-content-sha256", value: payload),
      (name: "x-amz-date", value: time),
    ]
    return signer.authorization(
      S3Signer.Request(method: method, path: path, query: query, headers: headers + common, payloadHash: payload),
      time: time)
  }

  @Test func getObject() {
    #expect(
      sign("GET", "/test.txt", headers: [("range", "bytes=0-9")])
        == "AWS4-HMAC-SHA256 \(scope), SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  }

  @Test func putObject() {
    let payload = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
    let path = "/" + PercentCoding.encode("test$file.text", keepsSlashes: true)
    #expect(path == "/test%24file.text")
    #expect(
      sign(
        "PUT", path,
        headers: [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
        payload: payload)
        == "AWS4-HMAC-SHA256 \(scope), "
        + "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
        + "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
  }

  @Test func aParameterWithoutValue() {
    #expect(
      sign("GET", "/", query: [("lifecycle", "")]).hasSuffix(
        "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
  }

  @Test func parametersInOrder() {
    #expect(
      sign("GET", "/", query: [("prefix", "J"), ("max-keys", "2")]).hasSuffix(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
  }

  /// "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)", the same reference.
  @Test func anAddressForAWhile() {
    let request = S3Signer.Request(
      method: "GET", path: "/test.txt", headers: [("host", "examplebucket.s3.amazonaws.com")], payloadHash: "")
    #expect(
      signer.query(request, time: time, seconds: 86_400)
        == "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }
}
