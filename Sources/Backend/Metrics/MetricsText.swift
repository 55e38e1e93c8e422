/// Prometheus' text format 0.0.4, line by line.
struct MetricsText {
  private(set) var text = ""

  /// What a name stands for.
  mutating func family(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  /// One value.
  mutating func sample(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: String) {
    let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    text += pairs.isEmpty ? "\(name) \(value)\n" : "\(name){\(pairs)} \(value)\n"
  }

  /// A histogram: cumulative buckets, sum and count.
  mutating func histogram(
    _ name: String, _ labels: KeyValuePairs<String, String>, _ histogram: MetricsRegistry.Histogram
  ) {
    let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"," }.joined()
    let plain = pairs.isEmpty ? "" : "{\(pairs.dropLast())}"
    var below: UInt64 = 0
    for (end, count) in zip(MetricsRegistry.buckets, histogram.counts) {
      below &+= count
      text += "\(name)_bucket{\(pairs)le=\"\(end)\"} \(below)\n"
    }
    text += "\(name)_bucket{\(pairs)le=\"+Inf\"} \(histogram.count)\n"
    text += "\(name)_sum\(plain) \(histogram.sum)\n\(name)_count\(plain) \(histogram.count)\n"
  }

  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
