import CNice
import Glibc

/// Feeds messages to libnice's STUN as a socket's reader does, and lets it answer the requests. The first byte chooses
/// what it looks at: with 1 also the fingerprint, with 2 also the integrity.
func fuzzSTUN(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first, bytes.count > 1 else { return }
  var message = Array(bytes.dropFirst())
  var flags = STUN_AGENT_USAGE_SHORT_TERM_CREDENTIALS.rawValue
  if choice & 1 != 0 { flags |= STUN_AGENT_USAGE_USE_FINGERPRINT.rawValue }
  if choice & 2 == 0 { flags |= STUN_AGENT_USAGE_IGNORE_CREDENTIALS.rawValue }
  var agent = StunAgent()
  stun_agent_init(&agent, knownAttributes, STUN_COMPATIBILITY_RFC5389, StunAgentUsageFlags(rawValue: flags))
  let count = message.count
  _ = stun_message_validate_buffer_length(&message, count, true)
  message.withUnsafeBufferPointer { buffer in
    guard let base = buffer.baseAddress else { return }
    var request = StunMessage()
    let status = stun_agent_validate(
      &agent, &request, base, count,
      { _, _, _, _, password, length, _ in
        password?.pointee = fuzzPassword
        length?.pointee = 4
        return true
      }, nil)
    guard status == STUN_VALIDATION_SUCCESS else { return }
    _ = stun_usage_ice_conncheck_use_candidate(&request)
    _ = stun_usage_ice_conncheck_priority(&request)
    guard stun_message_get_class(&request) == STUN_REQUEST else { return }
    var source = sockaddr_storage()
    source.ss_family = sa_family_t(AF_INET)
    var answer = StunMessage()
    var storage = [UInt8](repeating: 0, count: 1300)
    var length = storage.count
    var isControlling = choice & 4 != 0
    _ = stun_usage_ice_conncheck_create_reply(
      &agent, &request, &answer, &storage, &length, &source, socklen_t(MemoryLayout<sockaddr_storage>.size),
      &isControlling, 7, STUN_USAGE_ICE_COMPATIBILITY_RFC5245)
  }
}

// Both live as long as the process, for the library keeps the pointers; neither ever changes.
nonisolated(unsafe) private let fuzzPassword: UnsafeMutablePointer<UInt8> = {
  let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 4)
  bytes.initialize(repeating: 97, count: 4)
  return bytes
}()
/// PRIORITY, USE-CANDIDATE, USERNAME, MESSAGE-INTEGRITY, ICE-CONTROLLED, ICE-CONTROLLING, ERROR-CODE, FINGERPRINT,
/// XOR-MAPPED-ADDRESS.
nonisolated(unsafe) private let knownAttributes: UnsafeMutablePointer<UInt16> = {
  let known: [UInt16] = [0x0024, 0x0025, 0x0006, 0x0008, 0x8029, 0x802a, 0x0009, 0x8028, 0x0020, 0]
  let list = UnsafeMutablePointer<UInt16>.allocate(capacity: known.count)
  list.initialize(from: known, count: known.count)
  return list
}()
