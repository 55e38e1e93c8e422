import Foundation
import NIOCore

/// A growing file in a store, as a row of objects: `KEY/000000` is its first page, which may be replaced, and those
/// after it are what follows, in order and without a gap. So there is at every moment a file that plays, which no
/// multipart upload is before it is completed.
struct PartObjects: Sendable {
  /// Most bytes of an object.
  static let largest: Int64 = 8 << 20
  /// Objects that are fetched or removed at once.
  private static let parallel = 8
  private static let endHeader = "x-amz-meta-end"

  let client: S3Client
  /// What stands before the objects' numbers.
  let key: String

  /// The key of an object.
  func name(_ number: Int) -> String {
    let digits = String(number)
    return "\(key)/" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
  }

  /// Sends an object that ends at this offset of the file; one of that number is replaced.
  func put(_ number: Int, _ body: ByteBuffer, _ content: ContentHash, end: Int64) async throws(DeliveryError) {
    var request = S3Client.Request(method: .PUT, key: name(number))
    request.headers = [("content-type", "video/webm"), (Self.endHeader, "\(end)")]
    request.body = body
    request.payloadHash = content.payloadHash
    let answer = try await client.send(request)
    guard answer.isSuccess else { throw client.failure(answer, client.location(of: name(number))) }
  }

  /// Where in the file an object ends; nil when there is none (or none that may be looked at).
  func end(_ number: Int) async throws(DeliveryError) -> Int64? {
    let answer = try await client.send(S3Client.Request(method: .HEAD, key: name(number)))
    switch answer.status {
    case 200: return answer.headers.first(name: Self.endHeader).flatMap { Int64($0) } ?? 0
    case 403, 404: return nil
    default: throw client.failure(answer, client.location(of: name(number)))
    }
  }

  /// How many objects there are, and where the last one ends: found in few steps, because no number is missing.
  func state() async throws(DeliveryError) -> (count: Int, end: Int64) {
    guard var last = try await end(0) else { return (0, 0) }
    var (known, absent) = (0, 1)
    while let end = try await end(absent) {
      (known, last) = (absent, end)
      absent *= 2
    }
    while absent - known > 1 {
      let middle = (known + absent) / 2
      if let end = try await end(middle) { (known, last) = (middle, end) } else { absent = middle }
    }
    return (known + 1, last)
  }

  /// Gives all objects' content to `body`, in order; false when there is none.
  func read(_ body: ([UInt8]) async throws(DeliveryError) -> Void) async throws(DeliveryError) -> Bool {
    let count = try await state().count
    var next = 0
    while next < count {
      let numbers = next..<min(next + Self.parallel, count)
      for bytes in try await each(numbers, { number throws(DeliveryError) in try await get(number) }) {
        try await body(bytes)
      }
      next = numbers.upperBound
    }
    return count > 0
  }

  /// Removes all objects, the last first: what is left of an attempt that broke off is found again.
  func remove() async throws(DeliveryError) {
    var end = try await state().count
    while end > 0 {
      let numbers = max(0, end - Self.parallel)..<end
      _ = try await each(numbers) { number throws(DeliveryError) in try await client.delete(name(number)) }
      end = numbers.lowerBound
    }
  }

  private func get(_ number: Int) async throws(DeliveryError) -> [UInt8] {
    var request = S3Client.Request(method: .GET, key: name(number))
    request.headers = [("range", "bytes=0-")]
    let answer = try await client.send(request)
    guard answer.status == 206 || answer.status == 200 else {
      throw client.failure(answer, client.location(of: name(number)))
    }
    return answer.body
  }

  /// Does something for several numbers at once; the results are in their order.
  private func each<Value: Sendable>(
    _ numbers: Range<Int>, _ work: @escaping @Sendable (Int) async throws(DeliveryError) -> Value
  ) async throws(DeliveryError) -> [Value] {
    do {
      return try await withThrowingTaskGroup(of: (Int, Value).self) { group in
        for number in numbers { group.addTask { (number, try await work(number)) } }
        var found: [(Int, Value)] = []
        for try await result in group { found.append(result) }
        return found.sorted { $0.0 < $1.0 }.map(\.1)
      }
    } catch let error as DeliveryError {
      throw error
    } catch {
      throw S3Client.cancelled
    }
  }
}
