import JobsAPI
import MediaCore
import Synchronization

/// Makes the names of jobs, events and schedules. Any thread.
final class IdentifierGenerator: Sendable {
  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
  private let random: Mutex<SeededRandom>

  /// `seed` must differ from process to process.
  init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }

  /// A new name: a prefix, and 26 letters and digits that sort by time (as ULIDs do).
  func next(_ prefix: String, at now: Timestamp) -> String {
    var letters: [Character] = []
    var time = UInt64(clamping: now.microseconds / 1000)
    for _ in 0..<10 {
      letters.append(Self.alphabet[Int(time & 31)])
      time >>= 5
    }
    letters.reverse()
    random.withLock { random in
      for _ in 0..<16 { letters.append(Self.alphabet[Int(random.next() & 31)]) }
    }
    return prefix + String(letters)
  }
}
