/// Prometheus' text format 0.0.4, line by line.
public struct MetricsText: Sendable {
  /// What the values of a name are.
  public enum Kind: String, Sendable {
    /// A number that only grows.
    case counter
    /// A number that comes and goes.
    case gauge
    /// How many values fell below each of some bounds, their sum and their number.
    case histogram
  }

  /// The lines so far.
  public private(set) var text = ""

  /// No line.
  public init() {}

  /// What a name stands for.
  public mutating func family(_ name: String, _ kind: Kind, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// One value.
  public mutating func sample(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: String) {
    line(name, Self.labels(labels.map { ($0.key, $0.value) }), value)
  }

  /// A name whose only value has no labels.
  public mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: String) {
    family(name, kind, help)
    sample(name, [:], value)
  }

  /// Which version of the program this is.
  public mutating func build(version: String) {
    family("recbot_build_info", .gauge, "1; the label says which version this is.")
    sample("recbot_build_info", ["version": version], "1")
  }

  /// One value; `labels` as `labels(_:)` makes them.
  mutating func line(_ name: String, _ labels: String, _ value: String) {
    text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
  }

  /// `route="GET /healthz",status="200"`.
  static func labels(_ pairs: [(String, String)]) -> String {
    pairs.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
  }

  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
