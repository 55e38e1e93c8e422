import Foundation
import JobsAPI
import MediaCore

/// When meetings of a day begin, and how long they take: an assumption, not a measurement. Three parts of the world have their office
/// hours; four in ten meetings begin at the full hour, a quarter at the half, a tenth at the quarters, each some seconds late; the
/// lengths are spread like a logarithmic normal distribution, half of them under 28 minutes, one in six over 56.
struct Meetings {
  struct Meeting {
    var begin: Timestamp
    var end: Timestamp
  }

  /// How busy the hours of an office's day are, from midnight.
  private static let hours: [Double] = [
    2, 1, 1, 1, 2, 4, 10, 30, 70, 100, 100, 90, 55, 75, 100, 95, 80, 50, 25, 18, 15, 10, 6, 3,
  ]
  /// The parts of the world: what share of the meetings, and how many hours before UTC.
  private static let zones: [(share: Double, offset: Int)] = [(0.40, -6), (0.35, 1), (0.25, 8)]

  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// So many, in no order.
  mutating func make(_ count: Int) -> [Meeting] {
    var sums: [Double] = []
    for hour in 0..<24 {
      let weight = Self.zones.reduce(0) { $0 + $1.share * Self.hours[(hour + $1.offset + 24) % 24] }
      sums.append((sums.last ?? 0) + weight)
    }
    return (0..<count).map { _ in
      let place = uniform() * sums[23]
      let hour = sums.firstIndex { place < $0 } ?? 23
      let begin = Double(hour) * 3600 + second()
      let length = min(max(28 * 60 * exp(0.7 * normal()), 60), 4 * 3600)
      return Meeting(begin: Self.time(begin), end: Self.time(begin + length))
    }
  }

  private mutating func second() -> Double {
    let kind = uniform()
    let late = 30 * exponential()
    return switch kind {
    case ..<0.40: late
    case ..<0.65: 1800 + late
    case ..<0.70: 900 + late
    case ..<0.75: 2700 + late
    default: uniform() * 3600
    }
  }

  /// 0 up to 1, without it.
  private mutating func uniform() -> Double { Double.random(in: 0..<1, using: &random) }

  /// 1 on average, as the time until something that may happen at any moment.
  mutating func exponential() -> Double { -log(1 - uniform()) }

  private mutating func normal() -> Double { sqrt(-2 * log(1 - uniform())) * cos(2 * .pi * uniform()) }

  private static func time(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1_000_000)) }
}
