/// The WHERE of a statement, made of what is asked for and nothing else: an index is of use only for conditions that
/// stand in the statement itself. The texts are this program's own; what others say goes into the values.
struct SQLConditions: Sendable {
  private var conditions: [String] = []
  /// The values of the parameters.
  private(set) var values: [SQLValue] = []

  /// `WHERE …`, or nothing.
  var text: String { conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ") }

  /// Takes a value in; gives the parameter that stands for it.
  mutating func parameter(_ value: SQLValue) -> String {
    values.append(value)
    return "?\(values.count)"
  }

  /// A condition without a value.
  mutating func add(_ condition: String) { conditions.append(condition) }

  /// A condition with one value, between these texts.
  mutating func add(_ before: String, _ value: SQLValue, _ after: String = "") {
    conditions.append(before + parameter(value) + after)
  }
}
