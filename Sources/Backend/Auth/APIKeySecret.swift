import Digests
import Foundation
import Jobs
import JobsAPI

/// Makes API keys: `rbk_<id>_<secret>`. Only the hash is kept; the text is shown once.
public enum APIKeySecret {
  /// A new key: its record, its hash, and the text that is given to the caller.
  public static func make(
    name: String, grants: Set<Grant>, rooms: String? = nil, expiresAt: Timestamp? = nil, now: Timestamp = .now
  ) -> (key: APIKey, hash: String, text: String) {
    let id = letters(8)
    let text = "\(APIKey.prefix)\(id)_\(letters(52))"
    let key = APIKey(
      id: id, name: name, grants: grants.map(\.rawValue).sorted(), rooms: rooms, expiresAt: expiresAt, createdAt: now)
    return (key, hash(text), text)
  }

  /// SHA-256 of the whole text, in hexadecimal. The secret has 260 random bits: a slow hash would add nothing.
  public static func hash(_ text: String) -> String {
    Hexadecimal.text(Digest.sha256(Array(text.utf8)))
  }

  /// Random letters and digits of 5 bits each, from the system's generator.
  static func letters(_ count: Int) -> String {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    var generator = SystemRandomNumberGenerator()
    return String((0..<count).map { _ in alphabet[Int(generator.next() & 31)] })
  }
}
