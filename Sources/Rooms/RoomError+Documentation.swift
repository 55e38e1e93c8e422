extension RoomError {
  /// The table of errors as Markdown, a row each in the order of exit codes; the documentation's page holds it.
  public static var documentation: String {
    let rows = Kind.allCases.map { ($0, $0.row) }.sorted { $0.1.exitCode < $1.1.exitCode }
    let lines = rows.map { kind, row in
      "| \(row.exitCode) | `\(kind.rawValue)` | \(row.phase.rawValue) | \(row.cause) | \(row.remedy) |"
    }
    return (["| code | name | phase | what happened | what to do |", "| --- | --- | --- | --- | --- |"] + lines)
      .joined(separator: "\n")
  }
}
