import Digests
import Foundation
import NIOCore
import NIOHTTP1

/// The checksums of a run of bytes, as stores speak of them.
struct ContentHash: Hashable, Sendable {
  var size: Int64
  var sha256: [UInt8]
  var md5: [UInt8]

  /// As in the header `x-amz-checksum-sha256`.
  var checksum: String { Data(sha256).base64EncodedString() }
  /// As in the header `x-amz-content-sha256`.
  var payloadHash: String { Hexadecimal.text(sha256) }
  /// As in an ETag of stores that make it so.
  var etag: String { Hexadecimal.text(md5) }

  /// What a store says of an object that was put together from parts (Amazon S3: composite checksums).
  static func composite(_ parts: [ContentHash]) -> (checksum: String, etag: String) {
    let sha = Digest.sha256(parts.flatMap(\.sha256))
    let md5 = Digest.of(parts.flatMap(\.md5), .md5)
    return ("\(Data(sha).base64EncodedString())-\(parts.count)", "\(Hexadecimal.text(md5))-\(parts.count)")
  }
}

/// An object as `HEAD` shows it.
struct S3Object: Hashable, Sendable {
  var size: Int64
  /// Without quotes.
  var etag: String
  /// False when the ETag is known to be no MD5 (the store encrypts with keys of its own service, or the client's).
  var isETagDigest: Bool
  /// Base64, with `-parts` behind it when it is a checksum of the parts' checksums; nil when the store keeps none.
  var checksum: String?
}

/// A part that a store has.
struct StoredPart: Hashable, Sendable {
  var number: Int
  var size: Int64
  /// Without quotes.
  var etag: String
  /// Base64; nil when the store keeps none.
  var checksum: String?
  /// True when it is known to hold these bytes.
  func holds(_ content: ContentHash) -> Bool {
    size == content.size && (checksum.map { $0 == content.checksum } ?? (etag == content.etag))
  }
}

extension S3Client {
  /// What is known of an object.
  enum Presence: Sendable {
    case present(S3Object)
    case absent
    /// The credentials may not look.
    case unknown
  }

  /// Looks at an object (HeadObject).
  func head(_ key: String) async throws(DeliveryError) -> Presence {
    var request = Request(method: .HEAD, key: key)
    request.headers = [("x-amz-checksum-mode", "ENABLED")]
    let answer = try await send(request)
    switch answer.status {
    case 200:
      guard let size = answer.headers.first(name: "content-length").flatMap({ Int64($0) }) else {
        throw failure(answer, location(of: key))
      }
      let isKeyed =
        answer.headers.first(name: "x-amz-server-side-encryption")?.hasPrefix("aws:kms") ?? false
        || answer.headers.contains(name: "x-amz-server-side-encryption-customer-algorithm")
      return .present(
        S3Object(
          size: size, etag: Self.unquoted(answer.headers.first(name: "etag")), isETagDigest: !isKeyed,
          checksum: answer.headers.first(name: "x-amz-checksum-sha256")))
    case 404: return .absent
    // Without the right to list, a missing object is forbidden, too.
    case 403: return .unknown
    default: throw failure(answer, location(of: key))
    }
  }

  /// The media type of an object, by its name: a recording, or what is delivered beside it.
  static func mediaType(of key: String) -> String {
    let types = [".json": "application/json", ".vtt": "text/vtt", ".png": "image/png"]
    return types.first { key.hasSuffix($0.key) }?.value ?? "video/webm"
  }

  /// Sends an object in one request (PutObject). False: there is one of that name.
  func put(_ key: String, _ body: ByteBuffer, _ content: ContentHash, extras: Bool) async throws(DeliveryError) -> Bool
  {
    var request = Request(method: .PUT, key: key)
    request.headers = [("content-type", Self.mediaType(of: key))]
    if extras { request.headers += [("x-amz-checksum-sha256", content.checksum), ("if-none-match", "*")] }
    request.body = body
    request.payloadHash = content.payloadHash
    let answer = try await send(request)
    if answer.isSuccess { return true }
    if answer.status == 412 { return false }
    if extras, Self.lacksExtras(answer) { return try await put(key, body, content, extras: false) }
    throw failure(answer, location(of: key))
  }

  /// Begins a multipart upload (CreateMultipartUpload); gives its name.
  func createUpload(_ key: String, extras: Bool = true) async throws(DeliveryError) -> String {
    var request = Request(method: .POST, key: key)
    request.query = [("uploads", "")]
    request.headers = [("content-type", Self.mediaType(of: key))]
    if extras { request.headers.append(("x-amz-checksum-algorithm", "SHA256")) }
    let answer = try await send(request)
    if answer.isSuccess, let id = XMLText(answer.body).value("UploadId"), !id.isEmpty { return id }
    if extras, Self.lacksExtras(answer) { return try await createUpload(key, extras: false) }
    throw failure(answer, location(of: key))
  }

  /// Sends a part (UploadPart). Nil: the store does not know the upload.
  func uploadPart(
    _ key: String, upload: String, number: Int, _ body: ByteBuffer, _ content: ContentHash, extras: Bool = true
  ) async throws(DeliveryError) -> StoredPart? {
    var request = Request(method: .PUT, key: key)
    request.query = [("partNumber", "\(number)"), ("uploadId", upload)]
    if extras { request.headers = [("x-amz-checksum-sha256", content.checksum)] }
    request.body = body
    request.payloadHash = content.payloadHash
    let answer = try await send(request)
    if answer.isSuccess {
      return StoredPart(
        number: number, size: content.size, etag: Self.unquoted(answer.headers.first(name: "etag")),
        checksum: answer.headers.first(name: "x-amz-checksum-sha256") ?? content.checksum)
    }
    if answer.status == 404, answer.code == "NoSuchUpload" { return nil }
    if extras, Self.lacksExtras(answer) {
      return try await uploadPart(key, upload: upload, number: number, body, content, extras: false)
    }
    throw failure(answer, location(of: key))
  }

  /// The parts that the store has (ListParts). Nil: it does not know the upload.
  func listParts(_ key: String, upload: String) async throws(DeliveryError) -> [Int: StoredPart]? {
    var parts: [Int: StoredPart] = [:]
    var marker = ""
    while true {
      var request = Request(method: .GET, key: key)
      request.query = [("uploadId", upload), ("max-parts", "1000")]
      if !marker.isEmpty { request.query.append(("part-number-marker", marker)) }
      let answer = try await send(request)
      if answer.status == 404, answer.code != "NoSuchBucket" { return nil }
      guard answer.isSuccess else { throw failure(answer, location(of: key)) }
      let list = XMLText(answer.body)
      for part in list.elements("Part") {
        guard let number = part.value("PartNumber").flatMap({ Int($0) }),
          let size = part.value("Size").flatMap({ Int64($0) })
        else { continue }
        parts[number] = StoredPart(
          number: number, size: size, etag: Self.unquoted(part.value("ETag")), checksum: part.value("ChecksumSHA256"))
      }
      guard list.value("IsTruncated") == "true", let next = list.value("NextPartNumberMarker"), next != marker else {
        return parts
      }
      marker = next
    }
  }

  /// How completing an upload ended.
  enum Completion: Sendable {
    case done
    /// The store does not know the upload: it was completed before, or taken back.
    case noUpload
    /// There is an object of that name.
    case exists
    /// The store has other parts than were named.
    case partsDiffer(DeliveryError)
  }

  /// Puts the parts together (CompleteMultipartUpload).
  func completeUpload(
    _ key: String, upload: String, _ parts: [StoredPart], extras: Bool = true
  ) async throws(DeliveryError) -> Completion {
    var xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    for part in parts {
      xml += "<Part><PartNumber>\(part.number)</PartNumber><ETag>\"\(XMLText.escaped(part.etag))\"</ETag>"
      if extras, let checksum = part.checksum {
        xml += "<ChecksumSHA256>\(XMLText.escaped(checksum))</ChecksumSHA256>"
      }
      xml += "</Part>"
    }
    xml += "</CompleteMultipartUpload>"
    var request = Request(method: .POST, key: key)
    request.query = [("uploadId", upload)]
    request.headers = [("content-type", "application/xml")]
    if extras { request.headers.append(("if-none-match", "*")) }
    request.body = ByteBuffer(string: xml)
    request.payloadHash = Hexadecimal.text(Digest.sha256(Array(xml.utf8)))
    let answer = try await send(request)
    switch (answer.status, answer.code) {
    case (200..<300, ""): return .done
    case (404, "NoSuchUpload"), (200..<300, "NoSuchUpload"): return .noUpload
    case (412, _), (200..<300, "PreconditionFailed"): return .exists
    case (_, "InvalidPart"), (_, "InvalidPartOrder"), (_, "EntityTooSmall"):
      return .partsDiffer(failure(answer, location(of: key)))
    default: break
    }
    if extras, Self.lacksExtras(answer) { return try await completeUpload(key, upload: upload, parts, extras: false) }
    throw failure(answer, location(of: key))
  }

  /// Takes an upload back (AbortMultipartUpload), until the store knows nothing of it.
  func abortUpload(_ key: String, upload: String) async throws(DeliveryError) {
    // A part that was under way may still arrive behind the first call.
    for _ in 0..<3 {
      var request = Request(method: .DELETE, key: key)
      request.query = [("uploadId", upload)]
      let answer = try await send(request)
      if answer.status == 404 { return }
      guard answer.isSuccess else { throw failure(answer, location(of: key)) }
      if try await listParts(key, upload: upload) == nil { return }
    }
  }

  /// The SHA-256 of an object as it comes back from the store.
  func readBack(_ key: String, size: Int64) async throws(DeliveryError) -> [UInt8] {
    let hash = WholeHash()
    try await read(key, size: size) { bytes, _ throws(DeliveryError) in bytes.withUnsafeBytes { hash.update($0) } }
    return hash.value
  }

  /// Gives an object's content to `body`, in order (GetObject, in ranges).
  func read(
    _ key: String, size: Int64, _ body: ([UInt8], Int64) async throws(DeliveryError) -> Void
  ) async throws(DeliveryError) {
    let step: Int64 = 8 << 20
    var position: Int64 = 0
    while position < size {
      let end = min(size, position + step)
      var request = Request(method: .GET, key: key)
      request.headers = [("range", "bytes=\(position)-\(end - 1)")]
      let answer = try await send(request)
      guard answer.status == 206 || answer.status == 200 && end - position == size,
        answer.body.count == Int(end - position)
      else { throw failure(answer, location(of: key)) }
      try await body(answer.body, position)
      position = end
    }
  }

  /// Removes an object (DeleteObject).
  func delete(_ key: String) async throws(DeliveryError) {
    let answer = try await send(Request(method: .DELETE, key: key))
    guard answer.isSuccess || answer.status == 404 else { throw failure(answer, location(of: key)) }
  }

  /// Stores that know neither checksums nor conditions say so in one of these ways.
  private static func lacksExtras(_ answer: Answer) -> Bool {
    answer.status == 501
      || answer.status == 400 && ["NotImplemented", "InvalidArgument", "InvalidRequest"].contains(answer.code)
  }

  private static func unquoted(_ text: String?) -> String {
    (text ?? "").trimmingCharacters(in: CharacterSet(charactersIn: "\" "))
  }
}
