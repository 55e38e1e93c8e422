import MediaCore
import Testing

@testable import Delivery

@Suite struct S3TextTests {
  private func xml(_ text: String) -> XMLText { XMLText(Array(text.utf8)) }

  @Test func elementsAreFoundByName() {
    let list = xml(
      """
      <?xml version="1.0"?><ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>
      <Part><PartNumber>1</PartNumber><ETag>&quot;abc&quot;</ETag></Part><Part><PartNumber>2</PartNumber><ETag/></Part>
      </ListPartsResult>
      """)
    #expect(list.value("IsTruncated") == "true")
    #expect(list.elements("Part").map { $0.value("PartNumber") } == ["1", "2"])
    #expect(list.elements("Part").map { $0.value("ETag") } == ["\"abc\"", ""])
    #expect(list.value("Code") == nil)
  }

  @Test func entitiesAreRead() {
    #expect(xml("<A>&lt;&#65;&#x42;&amp;&unknown;&</A>").value("A") == "<AB&&unknown;&")
    #expect(XMLText.escaped("<a&\"b\">") == "&lt;a&amp;&quot;b&quot;&gt;")
  }

  @Test func itIsTotalOnAnyInput() {
    var random = SeededRandom(seed: 5)
    let pieces = ["<Part", ">", "</Part>", "/", "&", ";", "#", "x41", "<", "Part", " ", "é", "\u{0}"]
    for _ in 0..<2000 {
      let text = (0..<Int(random.next() % 20)).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
      for element in xml(text).elements("Part") { _ = element.value("Part") }
      _ = xml(text).value("Part")
    }
  }

  @Test func httpDates() {
    #expect(S3Time.seconds(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(S3Time.seconds(httpDate: "Sat, 29 Feb 2020 00:00:00 GMT") == 1_582_934_400)
    for wrong in ["", "now", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 99 Nov 1994 08:49:37 GMT", "a b c d e GMT"] {
      #expect(S3Time.seconds(httpDate: wrong) == nil)
    }
  }

  @Test func retryAfter() {
    #expect(S3Time.pause(retryAfter: "7", now: 0) == 7000)
    #expect(S3Time.pause(retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT", now: 784_111_767) == 10_000)
    #expect(S3Time.pause(retryAfter: "86400", now: 0) == 300_000)
    #expect(S3Time.pause(retryAfter: "-5", now: 0) == nil)
    #expect(S3Time.pause(retryAfter: "soon", now: 0) == nil)
  }

  @Test func credentialsFiles() throws {
    let text = """
      # comment
      [default]
      aws_access_key_id = ONE
      aws_secret_access_key=a=b/c+
      [profile other]
      AWS_ACCESS_KEY_ID = TWO
      aws_secret_access_key = two
      aws_session_token = token
      [half]
      aws_access_key_id = x
      """
    let one = try S3Credentials.read(text, profile: "default", path: "f")
    #expect(one == S3Credentials(accessKeyID: "ONE", secretAccessKey: "a=b/c+"))
    let two = try S3Credentials.read(text, profile: "other", path: "f")
    #expect(two == S3Credentials(accessKeyID: "TWO", secretAccessKey: "two", sessionToken: "token"))
    for profile in ["half", "none"] {
      let error = #expect(throws: DeliveryError.self) { try S3Credentials.read(text, profile: profile, path: "f") }
      #expect(error?.code == .credentials)
    }
  }

  /// Amazon S3 User Guide: a composite checksum is the checksum of the parts' checksums, with their number behind it.
  @Test func compositeChecksums() {
    let part = ContentHash(size: 0, sha256: Array(repeating: 0, count: 32), md5: Array(repeating: 0, count: 16))
    let (checksum, etag) = ContentHash.composite([part, part])
    // SHA-256 of 64 and MD5 of 32 zero bytes.
    #expect(checksum == "9aX9QtFqIDAnmO9u0wmXm0MAPSMg2fDo6pgxqSdZ+0s=-2")
    #expect(etag == "70bc8f4b72a86921468bf8e8441dce51-2")
  }
}
