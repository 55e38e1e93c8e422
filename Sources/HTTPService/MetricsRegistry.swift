public import CoreMetrics
import Synchronization

/// Keeps what the `Counter`s, `Timer`s and `Recorder`s of swift-metrics are told, and writes it as Prometheus reads it:
/// a timer as a histogram of seconds, a recorder as a gauge. Any thread.
///
/// Each service has its own, handed to what it counts with (`factory:`), so that two in one process are not mixed up.
public final class MetricsRegistry: MetricsFactory {
  private struct Family {
    var name: String
    var kind: MetricsText.Kind
    var help: String
    /// By their labels, as the text has them.
    var cells: [String: any Cell] = [:]
  }

  /// In the order in which they are written.
  private let families = Mutex<[Family]>([])

  /// Nothing is counted yet.
  public init() {}

  /// Says what a name stands for. Names are written in the order in which they are described.
  public func describe(_ name: String, _ kind: MetricsText.Kind, _ help: String) {
    families.withLock { $0.append(Family(name: name, kind: kind, help: help)) }
  }

  /// What is counted, as text.
  public var text: String {
    let families = families.withLock { $0 }
    var text = MetricsText()
    for family in families {
      text.family(family.name, family.kind, family.help)
      for (labels, cell) in family.cells.sorted(by: { $0.key < $1.key }) { cell.write(family.name, labels, to: &text) }
    }
    return text.text
  }

  /// The counter of a name and labels.
  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    cell(label, dimensions, .counter, CounterCell.init)
  }

  /// The histogram of a name and labels, of times in seconds.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    cell(label, dimensions, .histogram, HistogramCell.init)
  }

  /// The gauge of a name and labels. Values are never summed up here.
  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    cell(label, dimensions, .gauge, GaugeCell.init)
  }

  /// What was counted stays.
  public func destroyCounter(_ handler: any CounterHandler) {}
  /// What was counted stays.
  public func destroyTimer(_ handler: any TimerHandler) {}
  /// What was counted stays.
  public func destroyRecorder(_ handler: any RecorderHandler) {}

  private func cell<C: Cell>(
    _ name: String, _ dimensions: [(String, String)], _ kind: MetricsText.Kind, _ make: () -> C
  ) -> C {
    let labels = MetricsText.labels(dimensions)
    return families.withLock { families in
      let known = families.firstIndex { $0.name == name }
      if known == nil { families.append(Family(name: name, kind: kind, help: "")) }
      let index = known ?? families.count - 1
      if let cell = families[index].cells[labels] as? C { return cell }
      let cell = make()
      families[index].cells[labels] = cell
      return cell
    }
  }
}

/// What one name with its labels has come to.
private protocol Cell: AnyObject, Sendable {
  func write(_ name: String, _ labels: String, to text: inout MetricsText)
}

private final class CounterCell: Cell, CounterHandler {
  private let value = Atomic<Int64>(0)

  func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }
  func reset() { value.store(0, ordering: .relaxed) }
  func write(_ name: String, _ labels: String, to text: inout MetricsText) {
    text.line(name, labels, "\(value.load(ordering: .relaxed))")
  }
}

private final class GaugeCell: Cell, RecorderHandler {
  private let value = Mutex("0")

  func record(_ value: Int64) { self.value.withLock { $0 = "\(value)" } }
  func record(_ value: Double) { self.value.withLock { $0 = "\(value)" } }
  func write(_ name: String, _ labels: String, to text: inout MetricsText) {
    text.line(name, labels, value.withLock { $0 })
  }
}

private final class HistogramCell: Cell, TimerHandler {
  /// The upper ends of the buckets, seconds.
  private static let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

  private struct Values {
    var counts = [UInt64](repeating: 0, count: HistogramCell.buckets.count)
    var count: UInt64 = 0
    var sum = 0.0
  }

  private let values = Mutex(Values())

  func recordNanoseconds(_ duration: Int64) {
    let seconds = Double(duration) / 1e9
    values.withLock { values in
      if let index = Self.buckets.firstIndex(where: { seconds <= $0 }) { values.counts[index] &+= 1 }
      values.count &+= 1
      values.sum += seconds
    }
  }

  func write(_ name: String, _ labels: String, to text: inout MetricsText) {
    let values = values.withLock { $0 }
    let before = labels.isEmpty ? "" : labels + ","
    var below: UInt64 = 0
    for (end, count) in zip(Self.buckets, values.counts) {
      below &+= count
      text.line(name + "_bucket", "\(before)le=\"\(end)\"", "\(below)")
    }
    text.line(name + "_bucket", "\(before)le=\"+Inf\"", "\(values.count)")
    text.line(name + "_sum", labels, "\(values.sum)")
    text.line(name + "_count", labels, "\(values.count)")
  }
}
