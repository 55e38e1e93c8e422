import SDP

/// Fuzz body: reads any bytes as a session description and as a candidate; what could be read must survive being
/// written and read again.
public func fuzzSDP(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  _ = CandidateAttribute(text)
  guard let first = try? SessionDescription(parsing: text) else { return }
  guard let second = try? SessionDescription(parsing: first.serialized()) else {
    preconditionFailure("a description that was read cannot be read back")
  }
  precondition(second.media.count == first.media.count, "sections were lost")
  guard let third = try? SessionDescription(parsing: second.serialized()) else {
    preconditionFailure("a description that was read twice cannot be read back")
  }
  precondition(third == second, "writing and reading is not stable")
}
