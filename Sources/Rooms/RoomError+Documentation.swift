extension RoomError {
  /// The table of errors as Markdown, a row each in the order of exit codes; the documentation's page holds it.
  public static var documentation: String {
    let rows = Kind.allCases.map { ($0, $0.row) }.sorted { ($0.1.exitCode ?? 99) < ($1.1.exitCode ?? 99) }
    let lines = rows.map { kind, row in
      let cells = [
        row.exitCode.map { "\($0)" } ?? "-", "`\(kind.rawValue)`", row.phase.rawValue, row.codes.text,
        row.joining.rawValue, row.joined.rawValue, row.cause, row.remedy,
      ]
      return "| " + cells.joined(separator: " | ") + " |"
    }
    let head = [
      "| code | name | phase | elsewhere | when joining | later | what happened | what to do |",
      "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    return (head + lines).joined(separator: "\n")
  }
}

extension RoomError.Codes {
  /// For the documentation: `Twilio 53000, EnableX 5086`.
  fileprivate var text: String {
    var parts: [String] = []
    if let twilio { parts.append("Twilio \(twilio)") }
    if let enablex { parts.append("EnableX \(enablex)") }
    if let livekit { parts.append("LiveKit \(livekit)") }
    if !http.isEmpty { parts.append("HTTP " + http.map { "\($0)" }.joined(separator: "/")) }
    return parts.isEmpty ? "-" : parts.joined(separator: ", ")
  }
}
