import CoreMetrics
import HTTPService
import Testing

/// What swift-metrics' types are told comes out as Prometheus reads it (text format 0.0.4).
@Suite struct MetricsRegistryTests {
  @Test func eachKindIsWrittenAsPrometheusReadsIt() {
    let registry = MetricsRegistry()
    registry.describe("sent_total", .counter, "What was sent.")
    registry.describe("wait_seconds", .histogram, "How long it took.")
    registry.describe("level", .gauge, "How high it stands.")
    for (way, count) in [("b", 1), ("a\"\\\n", 1), ("b", 41)] {
      Counter(label: "sent_total", dimensions: [("way", way)], factory: registry).increment(by: count)
    }
    let wait = Timer(label: "wait_seconds", factory: registry)
    for milliseconds in [0, 1, 2, 400_000] { wait.recordMilliseconds(milliseconds) }
    let level = Recorder(label: "level", dimensions: [], aggregate: false, factory: registry)
    level.record(7)
    level.record(2.5)
    let lines = registry.text.split(separator: "\n").map(String.init)
    #expect(
      lines.prefix(7) == [
        "# HELP sent_total What was sent.", "# TYPE sent_total counter", #"sent_total{way="a\"\\\n"} 1"#,
        #"sent_total{way="b"} 42"#, "# HELP wait_seconds How long it took.", "# TYPE wait_seconds histogram",
        #"wait_seconds_bucket{le="0.001"} 2"#,
      ])
    // What is longer than the longest bucket is in none but the last.
    #expect(lines.contains(#"wait_seconds_bucket{le="300.0"} 3"#))
    #expect(lines.contains(#"wait_seconds_bucket{le="+Inf"} 4"#))
    #expect(lines.suffix(5).first == "wait_seconds_sum 400.003" && lines.contains("wait_seconds_count 4"))
    #expect(lines.suffix(3) == ["# HELP level How high it stands.", "# TYPE level gauge", "level 2.5"])
  }

  @Test func twoServicesCountForThemselves() {
    let (first, second) = (MetricsRegistry(), MetricsRegistry())
    Counter(label: "one", factory: first).increment()
    #expect(first.text.contains("one 1") && second.text.isEmpty)
  }

  @Test func whatIsCountedAtOnceIsCounted() async {
    let registry = MetricsRegistry()
    await withTaskGroup { group in
      for way in 0..<8 {
        group.addTask {
          for _ in 0..<1000 {
            Counter(label: "all", dimensions: [("way", "\(way % 2)")], factory: registry).increment()
          }
        }
      }
    }
    #expect(registry.text.contains(#"all{way="0"} 4000"#) && registry.text.contains(#"all{way="1"} 4000"#))
  }
}
